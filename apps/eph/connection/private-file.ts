import { constants } from 'node:fs';
import { chmod, mkdir, open, rename } from 'node:fs/promises';
import { dirname } from 'node:path';
import { CommandFailure } from '../command-failure.ts';

/** What a file holds that only this user can read or write; undefined where there is none. */
export const readPrivateFile = async (path: string): Promise<string | undefined> => {
  try {
    // `O_NONBLOCK`, because a pipe would never open.
    await using file = await open(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
    const { mode, uid } = await file.stat();
    if ((mode & constants.S_IFMT) !== constants.S_IFREG) throw refuse(path, 'it is not a file.');
    if (uid !== process.getuid?.()) throw refuse(path, 'it belongs to another user.');
    if ((mode & 0o077) !== 0) throw refuse(path, `other users may use it. Run \`chmod 600 ${path}\`.`);
    return await file.readFile('utf8');
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    if (error instanceof CommandFailure) throw error;
    if (code === 'ENOENT' || code === 'ENOTDIR') return undefined;
    throw refuse(path, code === 'ELOOP' ? 'it is a link.' : `${message}.`);
  }
};

/** Replaces it at once: a reader, or a crash, finds the old or the new content. */
export const writePrivateFile = async (path: string, content: string): Promise<void> => {
  const folder = dirname(path);
  await mkdir(folder, { recursive: true, mode: 0o700 });
  await chmod(folder, 0o700);
  const fresh = `${path}.${process.pid}.new`;
  {
    const flags = constants.O_WRONLY | constants.O_CREAT | constants.O_TRUNC | constants.O_NOFOLLOW;
    await using file = await open(fresh, flags, 0o600);
    await file.writeFile(content);
    await file.sync();
  }
  await rename(fresh, path);
};

const refuse = (path: string, why: string): CommandFailure =>
  new CommandFailure('cli.unsafe_file', `eph does not read ${path}: ${why}`);
