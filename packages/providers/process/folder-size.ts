import { lstat, opendir } from 'node:fs/promises';
import { join } from 'node:path';
import { isAbsent, sentence } from './faults.ts';

/** Also empty files use up a disk. */
const mostFiles = 500_000;

/** The bytes that a folder takes on disk. Infinite where it cannot be measured: a service may have made folders with names too long for that. */
export const measure = async (folder: string): Promise<number> => {
  let bytes = 0;
  let files = 0;
  const left = [folder];
  for (let path = left.pop(); path !== undefined; path = left.pop()) {
    try {
      for await (const entry of await opendir(path)) {
        const child = join(path, entry.name);
        files += 1;
        if (files > mostFiles) return Number.POSITIVE_INFINITY;
        if (entry.isDirectory()) left.push(child);
        bytes += (await lstat(child)).blocks * 512;
      }
    } catch (error) {
      // Somebody removes files meanwhile, or has closed a folder to itself.
      if (!isAbsent(error) && !sentence(error).includes('EACCES')) return Number.POSITIVE_INFINITY;
    }
  }
  return bytes;
};
