import { existsSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { toDnsLabel } from '@eph/contract';

export interface Repository {
  readonly root: string | undefined;
  /** A DNS label, from the address of `origin` or from the folder. */
  readonly name: string;
}

/** @param folder an absolute path */
export const readRepository = async (folder: string): Promise<Repository> => {
  const root = findRoot(folder);
  const remote = root === undefined ? undefined : await readRemote(join(root, '.git', 'config'));
  const name = [remote, basename(root ?? folder)].find((text) => text !== undefined && /[\p{L}\p{N}]/u.test(text));
  return { root, name: toDnsLabel(name ?? 'app') };
};

const findRoot = (folder: string): string | undefined => {
  if (existsSync(join(folder, '.git'))) return folder;
  const above = dirname(folder);
  return above === folder ? undefined : findRoot(above);
};

const mostBytes = 64 * 1024;

/** `shop` for `git@git.example.com:team/shop.git`. */
const readRemote = async (path: string): Promise<string | undefined> => {
  try {
    await using handle = await open(path);
    const { buffer, bytesRead } = await handle.read(Buffer.alloc(mostBytes), 0, mostBytes, 0);
    return parseRemote(buffer.toString('utf8', 0, bytesRead));
  } catch {
    // A linked worktree has its configuration elsewhere; the folder's name will do.
    return undefined;
  }
};

const parseRemote = (config: string): string | undefined => {
  const section = config.split(/^\s*\[/m).find((one) => one.startsWith('remote "origin"]'));
  const url = section?.match(/^\s*url\s*=\s*(\S+)\s*$/m)?.[1];
  return url
    ?.replace(/\/+$/, '')
    .replace(/\.git$/, '')
    .split(/[/:]/)
    .at(-1);
};
