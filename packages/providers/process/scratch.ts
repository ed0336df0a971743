import { randomBytes } from 'node:crypto';
import { mkdirSync, readdirSync, renameSync } from 'node:fs';
import { chmod, readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { isAbsent, isPermission } from './faults.ts';

/** Where folders are before they are whole and after they are given up. Whatever is found here after a crash is rubbish. */
export class Scratch {
  readonly #folder: string;
  /** Given up, and not removed yet because that failed. */
  readonly #left = new Set<string>();

  constructor(folder: string) {
    this.#folder = folder;
  }

  /** Nothing that is being made yet: call before anything else is. */
  open(): void {
    mkdirSync(this.#folder, { recursive: true, mode: 0o700 });
    for (const name of readdirSync(this.#folder)) this.#left.add(join(this.#folder, name));
  }

  newPath(): string {
    return join(this.#folder, randomBytes(8).toString('hex'));
  }

  /** The folder is gone from its place at once; returns when its contents are gone, too. */
  async discard(path: string): Promise<void> {
    await this.remove(this.take(path));
  }

  /** Moves a folder out of its place. What it returns is to be removed. */
  take(path: string): string {
    const given = this.newPath();
    try {
      renameSync(path, given);
    } catch (error) {
      if (!isAbsent(error)) throw error;
    }
    return given;
  }

  async remove(path: string): Promise<void> {
    this.#left.add(path);
    await removeFolder(path);
    this.#left.delete(path);
  }

  /** Tries again to remove what earlier could not be. */
  async sweep(): Promise<void> {
    for (const path of this.#left) await this.remove(path);
  }
}

/** Services may leave folders that even their owner may not change; a Go module cache is full of them. */
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
    // A removal that failed in one folder still goes on in others.
    if (!isAbsent(error)) throw error;
  }
};
