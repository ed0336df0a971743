import { mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import type { Identity, Log } from '@eph/contract';
import { sentence } from './faults.ts';
import { measure } from './folder-size.ts';
import type { Layout } from './layout.ts';
import type { Scratch } from './scratch.ts';

/** What tells package managers where to keep what they have fetched and built. */
export const cacheVariables = (folder: string): Readonly<Record<string, string>> => ({
  npm_config_cache: `${folder}/npm`,
  YARN_CACHE_FOLDER: `${folder}/yarn`,
  YARN_GLOBAL_FOLDER: `${folder}/yarn-berry`,
  npm_config_store_dir: `${folder}/pnpm`,
  pnpm_config_store_dir: `${folder}/pnpm`,
  PIP_CACHE_DIR: `${folder}/pip`,
  GOMODCACHE: `${folder}/go/modules`,
  GOCACHE: `${folder}/go/build`,
  CARGO_HOME: `${folder}/cargo`,
});

/** Open while a checkout is prepared. */
export interface PackageCache extends Disposable {
  readonly folder: string;
  /** Nothing was in it at the start. */
  readonly isCold: boolean;
  /** Somebody has taken it away meanwhile, so what used it may have failed for no other reason. */
  isGone(): boolean;
  /** Notes how long a preparation took. Returns how many seconds the cache has saved, as far as that is known. */
  note(seconds: number): number | undefined;
}

/**
 * One for each project. What comes from a fork has one of its own, which goes with its environment: what others can write to is code in
 * the next build of everybody who uses it.
 */
export class PackageCaches {
  readonly #layout: Layout;
  readonly #scratch: Scratch;
  readonly #limitBytes: number;
  readonly #log: Log;
  readonly #open = new Map<string, number>();

  constructor(layout: Layout, scratch: Scratch, limitBytes: number, log: Log) {
    this.#layout = layout;
    this.#scratch = scratch;
    this.#limitBytes = limitBytes;
    this.#log = log;
  }

  open({ id, project }: Identity, fromFork: boolean): PackageCache {
    const folder = fromFork ? this.#layout.ownCache(id) : this.#layout.cache(project);
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    const { ino } = statSync(folder);
    const isCold = readdirSync(folder).length === 0;
    const durations = fromFork ? undefined : this.#layout.cacheDurations(project);
    this.#open.set(folder, (this.#open.get(folder) ?? 0) + 1);
    return {
      folder,
      isCold,
      isGone: () => statSync(folder, { throwIfNoEntry: false })?.ino !== ino,
      note: (seconds) => {
        if (durations === undefined) return undefined;
        if (isCold) writeFileSync(durations, `${JSON.stringify({ cold: seconds })}\n`, { mode: 0o600 });
        const cold = isCold ? undefined : readCold(durations);
        return cold !== undefined && cold > seconds ? cold - seconds : undefined;
      },
      // Nobody waits for this: measuring takes a while, and services are to start.
      [Symbol.dispose]: () => void this.#close(folder),
    };
  }

  /** The last one who uses it throws it away if it has grown too large: which of it is still needed only package managers know. */
  async #close(folder: string): Promise<void> {
    const left = (this.#open.get(folder) ?? 1) - 1;
    if (left > 0) return void this.#open.set(folder, left);
    try {
      if ((await measure(folder)) > this.#limitBytes && this.#open.get(folder) === 1) await this.#scratch.discard(folder);
    } catch (error) {
      this.#log.warn({ folder, error: sentence(error) }, 'a package cache could not be measured');
    } finally {
      this.#open.set(folder, (this.#open.get(folder) ?? 1) - 1);
    }
  }
}

const readCold = (path: string): number | undefined => {
  try {
    const { cold } = JSON.parse(readFileSync(path, 'utf8')) as { cold?: unknown };
    return typeof cold === 'number' ? cold : undefined;
  } catch {
    return undefined;
  }
};
