import { type FileHandle, lstat, mkdir, open, rename, rm, symlink } from 'node:fs/promises';
import { dirname } from 'node:path';
import { type CommitSha, EphError, type ErrorCode, isEphError } from '@eph/contract';
import { printable } from './git-errors.ts';
import type { ObjectReader } from './object-reader.ts';
import { findLeavingLink, fold } from './symbolic-links.ts';
import { damaged, readRootTree, readTree, type TreeEntry } from './trees.ts';

export interface TreeSource {
  readonly objects: ObjectReader;
  writeBlob(id: string, file: number, signal: AbortSignal): Promise<void>;
}

export interface ExportLimits {
  readonly entries: number;
  readonly totalBytes: number;
}

export const exportLimits: ExportLimits = { entries: 200_000, totalBytes: 512 * 1024 ** 2 };

/** Larger blobs get their own process, so that they do not fill the memory or delay other reads. */
const bufferedBlobBytes = 1024 * 1024;
/** What is kept of the first reading, so that a small tree is read once. */
const keptBytes = 8 * 1024 * 1024;
const parallelism = 16;
const linkLimitBytes = 4096;

interface Export {
  readonly source: TreeSource;
  readonly limits: ExportLimits;
  readonly signal: AbortSignal;
  readonly root: Buffer;
  /** Paths and targets are latin1 bytes: names need not be valid UTF-8. Folders come before what is in them. */
  readonly folders: string[];
  readonly files: FileEntry[];
  readonly links: Map<string, string>;
  /** By id: a tree may name one blob many times. */
  readonly blobs: Map<string, Promise<Blob>>;
  readonly tasks: (() => Promise<void>)[];
  entries: number;
  bytes: number;
  kept: number;
}

interface FileEntry {
  readonly path: string;
  readonly id: string;
  readonly mode: number;
}

/** The content where it is small and there was room to keep it. */
interface Blob {
  readonly size: number;
  readonly content: Buffer | undefined;
}

/**
 * As `Forge.exportTree`. Files are not written by Git, so no filter, hook or attribute applies. The whole tree is counted
 * and checked before anything is written: a few kilobytes of objects can stand for gigabytes. Links come last and every
 * file and folder is new, so nothing is ever written through a link.
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
  const nothing = { folders: [], files: [], links: new Map(), blobs: new Map(), tasks: [], entries: 0, bytes: 0, kept: 0 };
  const run: Export = { source, limits, signal, root: Buffer.from(partial), ...nothing };
  try {
    await Promise.all([collectTree(run, tree), makeRoom(folder, partial)]);
    await writeTree(run);
    signal.throwIfAborted();
    await rename(partial, folder);
  } catch (error) {
    await rm(partial, { recursive: true, force: true }).catch(() => {
      // The first error matters more, and the next export removes the folder.
    });
    throw signal.aborted ? signal.reason : exportError(error, folder);
  }
};

const makeRoom = async (folder: string, partial: string): Promise<void> => {
  const found = await lstat(folder).catch((error: unknown) => {
    if (errorCode(error) === 'ENOENT') return undefined;
    throw error;
  });
  if (found !== undefined)
    throw new EphError('checkout.failed', `${folder} exists already; a tree is only written to a new folder.`);
  await mkdir(dirname(folder), { recursive: true });
  await rm(partial, { recursive: true, force: true });
};

const collectTree = async (run: Export, tree: string): Promise<void> => {
  run.tasks.push(() => collectFolder(run, tree, ''));
  await runTasks(run);
  const leaving = findLeavingLink(run.links);
  if (leaving !== undefined) throw refusal(leaving, 'is a symbolic link that leaves the tree');
};

const writeTree = async (run: Export): Promise<void> => {
  for (const path of run.folders) await mkdir(absolute(run, path));
  for (const file of run.files) run.tasks.push(() => writeFile(run, file));
  await runTasks(run);
  for (const [path, target] of run.links) await symlink(Buffer.from(target, 'latin1'), absolute(run, path));
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

const collectFolder = async (run: Export, tree: string, path: string): Promise<void> => {
  const entries = await readTree(run.source.objects, tree, run.signal);
  run.entries += entries.length;
  if (run.entries > run.limits.entries)
    throw new EphError('checkout.refused', `The tree has more than ${run.limits.entries} entries.`);
  run.folders.push(path);
  const names = new Set<string>();
  for (const entry of entries) {
    const name = entry.name.toString('latin1');
    const entryPath = path === '' ? name : `${path}/${name}`;
    if (isForbiddenName(name)) throw refusal(entryPath, 'has a name that is not allowed in a checkout');
    if (names.has(name)) throw refusal(entryPath, 'appears twice in its folder');
    names.add(name);
    run.tasks.push(() => collectEntry(run, entry, entryPath));
  }
};

const collectEntry = async (run: Export, { kind, id }: TreeEntry, path: string): Promise<void> => {
  switch (kind) {
    case 'folder':
      return await collectFolder(run, id, path);
    case 'submodule':
      return void run.folders.push(path);
    case 'file':
    case 'executable':
      run.files.push({ path, id, mode: kind === 'file' ? 0o644 : 0o755 });
      return await countBlob(run, id, path);
    case 'link':
      return await readLink(run, id, path);
    case 'unknown':
      throw refusal(path, 'is neither a file, a folder, a link nor a submodule');
  }
};

const countBlob = async (run: Export, id: string, path: string): Promise<void> => {
  const room = run.kept < keptBytes ? bufferedBlobBytes : 0;
  const reading = run.blobs.get(id) ?? readBlob(run, id, path, room);
  if (!run.blobs.has(id)) {
    run.blobs.set(id, reading);
    run.kept += (await reading).content?.length ?? 0;
  }
  count(run, (await reading).size);
};

const count = (run: Export, size: number): void => {
  run.bytes += size;
  if (run.bytes <= run.limits.totalBytes) return;
  const limit = `${run.limits.totalBytes / 1024 ** 2} MiB`;
  throw new EphError('checkout.refused', `The tree has more than ${limit}, the limit of a checkout; nothing was written.`);
};

const writeFile = async (run: Export, { path, id, mode }: FileEntry): Promise<void> => {
  const known = await run.blobs.get(id);
  const blob = known?.content === undefined ? await readBlob(run, id, path, bufferedBlobBytes) : known;
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
  const { content, size } = await readBlob(run, id, path, linkLimitBytes);
  count(run, size);
  if (content === undefined || content.length === 0 || content.includes(0))
    throw refusal(path, 'is a symbolic link with an impossible target');
  run.links.set(path, content.toString('latin1'));
};

const readBlob = async (run: Export, id: string, path: string, limitBytes: number): Promise<Blob> => {
  const blob = await run.source.objects.read(id, limitBytes, run.signal);
  if (blob === undefined) throw damaged(`The content of "${printPath(path)}" is missing; the repository is incomplete.`);
  if (blob.type !== 'blob')
    throw damaged(`"${printPath(path)}" is a ${blob.type} where content belongs; the repository is damaged.`);
  return blob;
};

const absolute = (run: Export, path: string): Buffer =>
  path === '' ? run.root : Buffer.concat([run.root, Buffer.from(`/${path}`, 'latin1')]);

/** Every Git command in the checkout would use a `.git` folder, with its configuration and hooks. */
const isForbiddenName = (name: string): boolean => ['', '.', '..', '.git', 'git~1'].includes(fold(name)) || name.includes('/');

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
