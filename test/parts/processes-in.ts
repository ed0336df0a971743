import { readdirSync, readlinkSync } from 'node:fs';

/** Every process whose working directory is in this folder. */
export const processesIn = (folder: string): string[] =>
  readdirSync('/proc')
    .filter((entry) => /^\d+$/.test(entry))
    .filter((pid) => {
      try {
        return readlinkSync(`/proc/${pid}/cwd`).startsWith(folder);
      } catch {
        return false; // It ended meanwhile.
      }
    });
