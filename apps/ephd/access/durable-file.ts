import { constants } from 'node:fs';
import { mkdir, open, readFile, rename } from 'node:fs/promises';
import { dirname } from 'node:path';
import { parseJson } from '@eph/contract';

/** What a file of JSON holds; undefined where there is no file, and null where it is not JSON. */
export const readJson = async (path: string): Promise<unknown> => {
  try {
    return parseJson(await readFile(path, 'utf8')) ?? null;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
};

/**
 * Replaces a file, so that after a crash or a power failure either the old or the new content is there. Resolves when the
 * new content is on the disk. Only the user of ephd can read it.
 */
export const writeDurably = async (path: string, content: unknown): Promise<void> => {
  const folder = dirname(path);
  await mkdir(folder, { recursive: true, mode: 0o700 });
  const fresh = `${path}.new`;
  // One that was left by a kill is written again. Neither `open` nor `rename` follows a link.
  const flags = constants.O_WRONLY | constants.O_CREAT | constants.O_TRUNC | constants.O_NOFOLLOW;
  await using file = await open(fresh, flags, 0o600);
  await file.writeFile(`${JSON.stringify(content, null, 2)}\n`);
  await file.sync();
  await rename(fresh, path);
  // The new name is an entry of the folder.
  await using entries = await open(folder, constants.O_RDONLY | constants.O_DIRECTORY);
  await entries.sync();
};
