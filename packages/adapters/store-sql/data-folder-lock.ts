import { chmodSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { EphError } from '@eph/contract';

/** For the message of a second ephd. Never read to decide anything. */
interface LockOwner {
  readonly pid: number;
  readonly holder: string;
  readonly since: string;
}

const busy = 5;

/**
 * Locks a data folder for this process, or throws `lease.held` with the current owner.
 *
 * The lock is SQLite's exclusive lock on an otherwise empty file: a record lock of the operating system. It ends with
 * the process, is not inherited by the services ephd starts, and needs no check whether a pid is alive. Record locks end
 * when the process closes *any* descriptor of the file, so nothing else may open it; that is why the owner is written to
 * another file.
 */
export const lockDataFolder = (folder: string, holder: string, now: () => number = Date.now): Disposable => {
  const ownerPath = join(folder, 'ephd.json');
  const file = openExclusively(folder, ownerPath);
  const owner: LockOwner = { pid: process.pid, holder, since: new Date(now()).toISOString() };
  try {
    writeFileSync(`${ownerPath}.new`, `${JSON.stringify(owner)}\n`, { mode: 0o600 });
    renameSync(`${ownerPath}.new`, ownerPath);
  } catch (error) {
    // A full disk must not stop ephd from managing what runs. Without the file the message just names no owner.
    if (isFull(error)) rmSync(ownerPath, { force: true });
    else {
      file.close();
      throw unusable(folder, error);
    }
  }
  return {
    [Symbol.dispose]: () => {
      if (!file.isOpen) return;
      rmSync(ownerPath, { force: true });
      file.close();
    },
  };
};

const openExclusively = (folder: string, ownerPath: string): DatabaseSync => {
  let file: DatabaseSync | undefined;
  try {
    file = new DatabaseSync(join(folder, 'ephd.lock'));
    file.exec('begin exclusive');
    chmodSync(join(folder, 'ephd.lock'), 0o600);
    return file;
  } catch (error) {
    file?.close();
    if (error instanceof Error && 'errcode' in error && error.errcode === busy) throw held(folder, ownerPath);
    throw unusable(folder, error);
  }
};

const isFull = (error: unknown): boolean => error instanceof Error && 'code' in error && error.code === 'ENOSPC';

const held = (folder: string, ownerPath: string): EphError => {
  const owner = readOwner(ownerPath);
  const who = owner ? `ephd ${owner.holder} (pid ${owner.pid}) since ${owner.since}` : 'another ephd that is starting';
  return new EphError('lease.held', `data folder ${folder} is in use by ${who}; stop it or choose another --data`);
};

/** Missing or incomplete if the other process has just taken the lock. */
const readOwner = (path: string): LockOwner | undefined => {
  try {
    return JSON.parse(readFileSync(path, 'utf8')) as LockOwner;
  } catch {
    return undefined; // The message just names no owner.
  }
};

const unusable = (folder: string, error: unknown): EphError => {
  const why = error instanceof Error ? error.message : String(error);
  return new EphError('config.invalid', `data folder ${folder} cannot be used: ${why}`, { cause: error });
};
