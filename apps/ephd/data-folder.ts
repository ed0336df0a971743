import { chmodSync, lstatSync, mkdirSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { EphError, type Log } from '@eph/contract';

/** Folders of which each entry is a folder of its own. */
const collections = ['projects', 'providers'];

/**
 * Makes the data folder and closes it to other users: folders 0700, files 0600. What lies deeper cannot be reached through
 * them, so a large mirror is not walked. Links are the operator's and stay as they are.
 */
export const prepareDataFolder = (folder: string, log: Log): void => {
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  try {
    for (const path of [folder, ...entriesOf(folder), ...collections.flatMap((name) => entriesOf(join(folder, name)))])
      close(path, log);
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    throw new EphError('config.invalid', `data folder ${folder} cannot be used: ${why}`, { cause: error });
  }
};

const entriesOf = (folder: string): readonly string[] =>
  lstatSync(folder, { throwIfNoEntry: false })?.isDirectory() === true
    ? readdirSync(folder).map((name) => join(folder, name))
    : [];

const close = (path: string, log: Log): void => {
  const stat = lstatSync(path, { throwIfNoEntry: false });
  if (stat === undefined || !(stat.isDirectory() || stat.isFile())) return;
  const mode = stat.isDirectory() ? 0o700 : 0o600;
  if ((stat.mode & 0o777) === mode) return;
  try {
    chmodSync(path, mode);
    log.info({ path }, 'closed to other users');
  } catch (error) {
    // A volume may belong to another user and be open to the group of ephd.
    log.warn({ path, err: error }, 'other users may be able to read this; change its mode');
  }
};
