import { randomBytes } from 'node:crypto';
import { mkdirSync, readdirSync, renameSync } from 'node:fs';
import { chmod, readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { isAbsent, isPermission } from './faults.ts';

/** Holds folders before they are complete and after they are discarded. After a crash, all of them are removed. */
export class Scratch {
  readonly #folder: string;
  /** Discarded but not removed yet. */
  readonly #left = new Set<string>();

  constructor(folder: string) {
    this.#folder = folder;
  }

  /** Must be called first: everything found here is discarded. */
  open(): void {
    mkdirSync(this.#folder, { recursive: true, mode: 0o700 });
    for (const name of readdirSync(this.#folder)) this.#left.add(join(this.#folder, name));
  }

  newPath(): string {
    return join(this.#folder, randomBytes(8).toString('hex'));
  }

  /** Moves the folder away at once, and returns when its contents are removed. */
  async discard(path: string): Promise<void> {
    await this.remove(this.take(path));
  }

  /** Moves a folder away. The caller must remove the returned path. */
  take(path: string): string {
    const moved = this.newPath();
    try {
      renameSync(path, moved);
    } catch (error) {
      if (!isAbsent(error)) throw error;
    }
    return moved;
  }

  async remove(path: string): Promise<void> {
    this.#left.add(path);
    await removeFolder(path);
    this.#left.delete(path);
  }

  async sweep(): Promise<void> {
    for (const path of this.#left) await this.remove(path);
  }
}

/** Services may leave read-only folders, such as a Go module cache. */
const removeFolder = async (path: string): Promise<void> => {
  try {
    await rm(path, removal);
  } catch (error) {
    if (!isPermission(error)) throw error;
    await makeWritable(path);
    await rm(path, removal);
  }
};

const removal = { recursive: true, force: true, maxRetries: 3 } as const;

const makeWritable = async (folder: string): Promise<void> => {
  try {
    await chmod(folder, 0o700);
    for (const entry of await readdir(folder, { withFileTypes: true })) {
      if (entry.isDirectory()) await makeWritable(join(folder, entry.name));
    }
  } catch (error) {
    // It may have been removed by the first attempt.
    if (!isAbsent(error)) throw error;
  }
};
