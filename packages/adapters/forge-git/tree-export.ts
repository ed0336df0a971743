import { type FileHandle, lstat, mkdir, open, rename, rm, symlink } from 'node:fs/promises';
import { dirname } from 'node:path';
import { type CommitSha, EphError, type ErrorCode, isEphError } from '@eph/contract';
import { printable } from './git-errors.ts';
import type { ObjectReader } from './object-reader.ts';
import { findLeavingLink } from './symbolic-links.ts';
import { damaged, readRootTree, readTree, type TreeEntry } from './trees.ts';

export interface TreeSource {
  readonly objects: ObjectReader;
  writeBlob(id: string, file: number, signal: AbortSignal): Promise<void>;
}

export interface ExportLimits {
  readonly entries: number;
  readonly totalBytes: number;
}

export const exportLimits: ExportLimits = { entries: 200_000, totalBytes: 4 * 1024 ** 3 };

/** Larger blobs get their own process, so that they do not fill the memory or delay other reads. */
const bufferedBlobBytes = 1024 * 1024;
const parallelism = 16;
const linkLimitBytes = 4096;

interface Export {
  readonly source: TreeSource;
  readonly limits: ExportLimits;
  readonly signal: AbortSignal;
  readonly root: Buffer;
  /** Path and target as latin1 bytes: names need not be valid UTF-8. */
  readonly links: Map<string, string>;
  readonly tasks: (() => Promise<void>)[];
  entries: number;
  bytes: number;
}

/**
 * As `Forge.exportTree`. Files are not written by Git, so no filter, hook or attribute applies. Links come last and
 * every file and folder is new, so nothing is ever written through a link.
 */
export const exportTree = async (
  source: TreeSource,
  commit: CommitSha,
  folder: string,
  limits: ExportLimits,
  signal: AbortSignal,
): Promise<void> => {
  const tree = await readRootTree(source.objects, commit, signal);
  const partial = `${folder}.partial`;
  try {
    await refuseExisting(folder);
    await mkdir(dirname(folder), { recursive: true });
    await rm(partial, { recursive: true, force: true });
    await writeTree(
      { source, limits, signal, root: Buffer.from(partial), links: new Map(), tasks: [], entries: 0, bytes: 0 },
      tree,
    );
    signal.throwIfAborted();
    await rename(partial, folder);
  } catch (error) {
    await rm(partial, { recursive: true, force: true }).catch(() => {
      // The first error matters more, and the next export removes the folder.
    });
    throw signal.aborted ? signal.reason : exportError(error, folder);
  }
};

const refuseExisting = async (folder: string): Promise<void> => {
  const found = await lstat(folder).catch((error: unknown) => {
    if (errorCode(error) === 'ENOENT') return undefined;
    throw error;
  });
  if (found !== undefined)
    throw new EphError('checkout.failed', `${folder} exists already; a tree is only written to a new folder.`);
};

const writeTree = async (run: Export, tree: string): Promise<void> => {
  run.tasks.push(() => writeFolder(run, tree, ''));
  await runTasks(run);
  await writeLinks(run);
};

/** Runs tasks concurrently, including those that tasks add. Last in, first out keeps the list short. */
const runTasks = async (run: Export): Promise<void> => {
  let failed = false;
  let active = 0;
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const fill = () => {
    while (!failed && active < parallelism) {
      const task = run.tasks.pop();
      if (task === undefined) break;
      active += 1;
      void step(task);
    }
    if (active === 0 && !failed) resolve();
  };
  const step = async (task: () => Promise<void>) => {
    try {
      run.signal.throwIfAborted();
      await task();
      active -= 1;
      fill();
    } catch (error) {
      active -= 1;
      failures.push(error);
      failed = true;
    }
    // Running tasks still write into the folder that will be removed.
    if (failed && active === 0) reject(failures[0]);
  };
  const failures: unknown[] = [];
  fill();
  await promise;
};

const writeFolder = async (run: Export, tree: string, path: string): Promise<void> => {
  const entries = await readTree(run.source.objects, tree, run.signal);
  run.entries += entries.length;
  if (run.entries > run.limits.entries)
    throw new EphError('checkout.refused', `The tree has more than ${run.limits.entries} entries.`);
  await mkdir(absolute(run, path));
  const names = new Set<string>();
  for (const entry of entries) {
    const name = entry.name.toString('latin1');
    const entryPath = path === '' ? name : `${path}/${name}`;
    if (isForbiddenName(entry.name)) throw refusal(entryPath, 'has a name that is not allowed in a checkout');
    if (names.has(name)) throw refusal(entryPath, 'appears twice in its folder');
    names.add(name);
    run.tasks.push(() => writeEntry(run, entry, entryPath));
  }
};

const writeEntry = async (run: Export, entry: TreeEntry, path: string): Promise<void> => {
  switch (entry.kind) {
    case 'folder':
      return await writeFolder(run, entry.id, path);
    case 'submodule':
      return await mkdir(absolute(run, path));
    case 'file':
      return await writeFile(run, entry.id, path, 0o644);
    case 'executable':
      return await writeFile(run, entry.id, path, 0o755);
    case 'link':
      return await readLink(run, entry.id, path);
    case 'unknown':
      throw refusal(path, 'is neither a file, a folder, a link nor a submodule');
  }
};

const writeFile = async (run: Export, id: string, path: string, mode: number): Promise<void> => {
  const blob = await readBlob(run, id, path, bufferedBlobBytes);
  const file = await open(absolute(run, path), 'wx', mode);
  try {
    if (blob.content !== undefined) await file.writeFile(blob.content);
    else await writeLargeBlob(run, id, blob.size, file);
  } finally {
    await file.close();
  }
};

const writeLargeBlob = async (run: Export, id: string, size: number, file: FileHandle): Promise<void> => {
  try {
    await run.source.writeBlob(id, file.fd, run.signal);
  } catch (error) {
    run.signal.throwIfAborted();
    // Git does not say why it could not write. On a full disk, this write fails with the reason.
    await file.write(Buffer.alloc(bufferedBlobBytes));
    throw error;
  }
  if ((await file.stat()).size !== size) throw damaged(`Blob ${id} ends early; the repository is damaged.`);
};

const readLink = async (run: Export, id: string, path: string): Promise<void> => {
  const { content } = await readBlob(run, id, path, linkLimitBytes);
  if (content === undefined || content.length === 0 || content.includes(0))
    throw refusal(path, 'is a symbolic link with an impossible target');
  run.links.set(path, content.toString('latin1'));
};

const readBlob = async (run: Export, id: string, path: string, limitBytes: number) => {
  const blob = await run.source.objects.read(id, limitBytes, run.signal);
  if (blob === undefined) throw damaged(`The content of "${printPath(path)}" is missing; the repository is incomplete.`);
  if (blob.type !== 'blob')
    throw damaged(`"${printPath(path)}" is a ${blob.type} where content belongs; the repository is damaged.`);
  run.bytes += blob.size;
  if (run.bytes > run.limits.totalBytes)
    throw new EphError('checkout.refused', `The tree has more than ${run.limits.totalBytes} bytes.`);
  return blob;
};

const writeLinks = async (run: Export): Promise<void> => {
  const leaving = findLeavingLink(run.links);
  if (leaving !== undefined) throw refusal(leaving, 'is a symbolic link that leaves the tree');
  for (const [path, target] of run.links) await symlink(Buffer.from(target, 'latin1'), absolute(run, path));
};

const absolute = (run: Export, path: string): Buffer =>
  path === '' ? run.root : Buffer.concat([run.root, Buffer.from(`/${path}`, 'latin1')]);

/** Characters that some file systems ignore, so that the name would still mean `.git`. */
const ignorable = /[\u200c-\u200f\u202a-\u202e\u206a-\u206f\ufeff]/g;

/** Every Git command in the checkout would use a `.git` folder, with its configuration and hooks. */
const isForbiddenName = (name: Buffer): boolean => {
  const text = name.toString('utf8').replace(ignorable, '').toLowerCase();
  return text === '' || text === '.' || text === '..' || text.includes('/') || text === '.git' || text === 'git~1';
};

const printPath = (path: string): string => printable(Buffer.from(path, 'latin1').toString('utf8'));

const refusal = (path: string, why: string): EphError =>
  new EphError('checkout.refused', `"${printPath(path)}" ${why}; nothing was checked out.`);

const errorCode = (error: unknown): string | undefined => (error as NodeJS.ErrnoException | undefined)?.code;

const exportError = (error: unknown, folder: string): EphError => {
  if (isEphError(error)) return error;
  const toError = (code: ErrorCode, message: string) => new EphError(code, message, { cause: error });
  switch (errorCode(error)) {
    case 'ENOSPC':
    case 'EDQUOT':
      return toError('disk.full', `The disk is full: ${folder} could not be written; free some space.`);
    case 'EEXIST':
      return toError('checkout.refused', 'Two entries of the tree have the same name on this file system.');
    case 'ENAMETOOLONG':
      return toError('checkout.refused', 'A path in the tree is longer than this file system allows.');
    default:
      return toError(
        'checkout.failed',
        `${folder} could not be written: ${error instanceof Error ? error.message : String(error)}`,
      );
  }
};
