import { readdirSync, readlinkSync } from 'node:fs';

/** Every process that works in a folder: the server and all its children. */
export const processesIn = (folder: string): string[] =>
  readdirSync('/proc')
    .filter((entry) => /^\d+$/.test(entry))
    .filter((pid) => {
      try {
        return readlinkSync(`/proc/${pid}/cwd`).startsWith(folder);
      } catch {
        return false; // It ended while we looked.
      }
    });
