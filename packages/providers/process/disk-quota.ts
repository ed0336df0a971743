import { statfsSync } from 'node:fs';
import type { EnvironmentId, ProjectId } from '@eph/contract';
import type { EnvironmentBudget } from './context.ts';
import { measure } from './folder-size.ts';

/** What is measured, and stopped. */
export interface DiskUser {
  readonly identity: { readonly id: EnvironmentId; readonly project: ProjectId };
  readonly folder: string;
  /** The package cache that it uses at the moment. */
  readonly cache?: string | undefined;
  stop(why: string): Promise<void>;
}

/** Measuring takes time, so it waits until this much has been written, by whoever it is. */
const stepBytes = 64 * 1024 * 1024;

/**
 * Ends environments that fill the disk. Not a limit of the file system, which ordinary users cannot set: what is written between two
 * measurements is written.
 */
export class DiskQuota {
  readonly #budget: EnvironmentBudget;
  readonly #freeBytes: () => number;
  #free = Number.NEGATIVE_INFINITY;

  constructor(budget: EnvironmentBudget, freeBytes: () => number) {
    this.#budget = budget;
    this.#freeBytes = freeBytes;
  }

  async check(users: () => readonly DiskUser[]): Promise<void> {
    const free = this.#freeBytes();
    if (free > this.#free - stepBytes) {
      this.#free = Math.max(free, this.#free);
      return;
    }
    const all = users();
    const used = new Map<DiskUser, number>();
    for (const user of all) used.set(user, await measure(user.folder));
    this.#free = this.#freeBytes();
    const { diskBytes, projectDiskBytes, cacheBytes } = this.#budget;
    for (const user of all.filter((one) => one.cache !== undefined)) {
      const bytes = await measure(user.cache ?? '');
      if (bytes > cacheBytes)
        await user.stop(
          `The package cache of ${user.identity.project} uses ${print(bytes)} of the disk, and may use ${print(cacheBytes)}.`,
        );
    }
    for (const [user, bytes] of used)
      if (bytes > diskBytes) {
        used.delete(user);
        await user.stop(`Its environment uses ${print(bytes)} of the disk, and may use ${print(diskBytes)}.`);
      }
    for (const [project, own] of Map.groupBy(used, ([{ identity }]) => identity.project)) {
      const sum = own.reduce((total, [, bytes]) => total + bytes, 0);
      const [largest] = own.toSorted(([, a], [, b]) => b - a);
      if (sum > projectDiskBytes && largest !== undefined)
        await largest[0].stop(
          `The environments of ${project} use ${print(sum)} of the disk, and may use ${print(projectDiskBytes)}; this one is the largest.`,
        );
    }
  }
}

export const freeOn = (folder: string): number => {
  const { bavail, bsize } = statfsSync(folder);
  return bavail * bsize;
};

const print = (bytes: number): string =>
  Number.isFinite(bytes) ? `${Number((bytes / 2 ** 30).toPrecision(2))} GiB` : 'too much to measure';
