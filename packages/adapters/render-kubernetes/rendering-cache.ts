import { randomUUID } from 'node:crypto';
import { mkdir, readdir, readFile, rename, rm, stat, utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Rendering } from '@eph/engine/render/renderer';
import { LRUCache } from 'lru-cache';

export interface CacheOptions {
  readonly folder: string;
  readonly limitBytes: number;
  /** Of what this process holds, as text. */
  readonly memoryBytes: number;
}

/** What was rendered, by a digest of what it was rendered from. It survives a restart; what was used longest ago goes first. */
export class RenderingCache {
  readonly #options: CacheOptions;
  readonly #memory: LRUCache<string, Rendering>;

  constructor(options: CacheOptions) {
    this.#options = options;
    this.#memory = new LRUCache({ maxSize: options.memoryBytes });
  }

  async get(key: string): Promise<Rendering | undefined> {
    const known = this.#memory.get(key);
    if (known !== undefined) return known;
    const path = this.#pathOf(key);
    // Whatever cannot be read is rendered again.
    const text = await readFile(path, 'utf8').catch(() => undefined);
    const kept = text === undefined ? undefined : parse(text);
    if (text === undefined || kept === undefined) return undefined;
    const now = new Date();
    // Only its place in the queue depends on it.
    await utimes(path, now, now).catch(() => undefined);
    // Another call may have read it meanwhile, and all are given the same object.
    const first = this.#memory.get(key) ?? kept;
    this.#memory.set(key, first, { size: text.length });
    return first;
  }

  /** Whoever cannot write, for want of room, renders again. */
  async put(key: string, rendering: Rendering): Promise<void> {
    const { folder } = this.#options;
    const text = JSON.stringify(rendering);
    this.#memory.set(key, rendering, { size: text.length });
    const path = this.#pathOf(key);
    const partial = `${path}.${randomUUID()}`;
    try {
      await mkdir(folder, { recursive: true, mode: 0o700 });
      await writeFile(partial, text, { mode: 0o600 });
      await rename(partial, path);
      await this.#shrink();
    } catch {
      await rm(partial, { force: true }).catch(() => undefined);
    }
  }

  #pathOf(key: string): string {
    return join(this.#options.folder, `${key}.json`);
  }

  async #shrink(): Promise<void> {
    const { folder, limitBytes } = this.#options;
    const files = await Promise.all(
      (await readdir(folder)).map(async (name) => {
        const path = join(folder, name);
        const stats = await stat(path).catch(() => undefined);
        return { path, size: stats?.size ?? 0, usedAt: stats?.mtimeMs ?? 0 };
      }),
    );
    let bytes = files.reduce((sum, { size }) => sum + size, 0);
    for (const { path, size } of files.toSorted((a, b) => a.usedAt - b.usedAt)) {
      if (bytes <= limitBytes) return;
      await rm(path, { force: true });
      bytes -= size;
    }
  }
}

/** Only this class writes there; a file that was damaged is as good as none. */
const parse = (text: string): Rendering | undefined => {
  try {
    const value: unknown = JSON.parse(text);
    const { state } = value as { readonly state?: unknown };
    return state === 'rendered' || state === 'refused' ? (value as Rendering) : undefined;
  } catch {
    return undefined;
  }
};
