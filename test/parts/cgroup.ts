import { readdirSync, rmdirSync } from 'node:fs';
import { join } from 'node:path';

/** With the groups within it. */
export const removeGroup = (folder: string): void => {
  try {
    for (const entry of readdirSync(folder, { withFileTypes: true }))
      if (entry.isDirectory()) removeGroup(join(folder, entry.name));
    rmdirSync(folder);
  } catch {
    // Something still runs there; an empty group costs nothing.
  }
};
