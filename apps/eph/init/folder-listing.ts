import { constants } from 'node:fs';
import { open, opendir } from 'node:fs/promises';
import { join } from 'node:path';

export interface FolderListing {
  /** Paths of regular files, separated by `/`, those near the root first. */
  readonly files: readonly string[];
  /** Not everything was listed. */
  readonly cut: boolean;
  /** The beginning of a file; empty when it cannot be read. */
  read(file: string): Promise<string>;
}

const deepest = 4;
const mostEntries = 5_000;
/** Lock files are larger, but only their names are used. */
const mostBytes = 64 * 1024;

const skipped = new Set(['node_modules', 'vendor', 'dist', 'build', 'target', 'venv', '__pycache__', 'testdata', 'fixtures']);

/** Other characters have a meaning in a shell, in YAML or on a terminal, and are rare in folders of services. */
const usualName = /^[\p{L}\p{N}._@+][\p{L}\p{M}\p{N} ._@+-]{0,99}$/u;

/** Does not follow links and has limits, in case it runs in a home folder or on a file server. */
export const listFolder = async (root: string): Promise<FolderListing> => {
  const files: string[] = [];
  let left = mostEntries;
  let cut = false;
  let level = [''];
  for (let depth = 1; depth <= deepest; depth += 1) {
    const folders: string[] = [];
    for (const folder of level) {
      const entries = await readEntries(join(root, folder), left);
      left -= entries.length;
      for (const { name, kind } of entries) {
        const path = folder === '' ? name : `${folder}/${name}`;
        if (kind === 'file') files.push(path);
        if (kind === 'folder' && !name.startsWith('.') && !skipped.has(name)) folders.push(path);
      }
    }
    cut ||= left <= 0;
    level = folders;
  }
  return { files, cut: cut || level.length > 0, read: (file) => readBeginning(join(root, file)) };
};

interface Entry {
  readonly name: string;
  readonly kind: 'file' | 'folder' | 'other';
}

const readEntries = async (folder: string, most: number): Promise<readonly Entry[]> => {
  const entries: Entry[] = [];
  if (most <= 0) return entries;
  try {
    for await (const entry of await opendir(folder)) {
      const isUsual = usualName.test(entry.name);
      const kind = isUsual && entry.isFile() ? 'file' : isUsual && entry.isDirectory() ? 'folder' : 'other';
      entries.push({ name: entry.name, kind });
      if (entries.length >= most) break;
    }
  } catch {
    // A folder that cannot be read, or is gone, counts as empty.
  }
  return entries.toSorted((a, b) => (a.name < b.name ? -1 : 1));
};

const readBeginning = async (path: string): Promise<string> => {
  try {
    // The file may have become a pipe, and opening one blocks until somebody writes.
    await using handle = await open(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
    const { buffer, bytesRead } = await handle.read(Buffer.alloc(mostBytes), 0, mostBytes, 0);
    return buffer.toString('utf8', 0, bytesRead);
  } catch {
    // Counts as empty, like a folder.
    return '';
  }
};
