import { lstat, readdir, readFile, realpath } from 'node:fs/promises';
import { join, relative, sep } from 'node:path';
import { type Manifest, manifestLimits, refuse } from './manifest.ts';
import { parseManifests, tooMany } from './parse-manifests.ts';

/** The checkout of a commit. */
export interface Tree {
  /** Its real path, with no link in it. */
  readonly root: string;
}

/** The real path of something in the tree, or why it is not to be read. */
export const findInTree = async ({ root }: Tree, path: string): Promise<string> => {
  const found = await realpath(join(root, path)).catch(nothingIfAbsent);
  if (found === undefined) throw refuse(path, 'is not in the repository at this commit');
  if (!isInside(root, found)) throw refuse(path, 'leads out of the repository');
  return found;
};

/** A path that leads nowhere is a fault of the file. Any other failure says nothing about the repository, and is not hidden. */
export const nothingIfAbsent = (error: unknown): undefined => {
  if (error instanceof Error && 'code' in error && ['ENOENT', 'ENOTDIR', 'ELOOP'].includes(String(error.code))) return undefined;
  throw error;
};

export const isInside = (root: string, path: string): boolean => path === root || path.startsWith(`${root}${sep}`);

/** The manifests of a file, or of all files of a folder and those below it, by name. */
export const readManifests = async (tree: Tree, path: string, signal: AbortSignal): Promise<readonly Manifest[]> => {
  const start = await findInTree(tree, path);
  const files = (await lstat(start)).isDirectory() ? await listFiles(tree, start) : [start];
  if (files.length === 0) throw refuse(path, 'holds no file that ends in .yaml, .yml or .json');
  const manifests: Manifest[] = [];
  let bytes = 0;
  for (const file of files) {
    signal.throwIfAborted();
    const name = relative(tree.root, file);
    const { size } = await lstat(file);
    bytes += size;
    if (size > manifestLimits.fileBytes) throw refuse(name, `has ${size} bytes; at most ${manifestLimits.fileBytes} are read`);
    if (bytes > manifestLimits.bytes) throw refuse(path, `holds more than ${manifestLimits.bytes} bytes of manifests`);
    manifests.push(...parseManifests(decode(await readFile(file), name), name));
    if (manifests.length > manifestLimits.objects) throw tooMany(path);
  }
  return manifests;
};

/** Links to folders are not followed: two could hold each other. */
const listFiles = async (tree: Tree, folder: string): Promise<readonly string[]> => {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  const files = entries.filter((entry) => !entry.isDirectory() && /\.(ya?ml|json)$/.test(entry.name));
  const paths = await Promise.all(
    files.map(async (entry) => {
      const path = join(entry.parentPath, entry.name);
      if (!entry.isSymbolicLink()) return path;
      const target = await findInTree(tree, relative(tree.root, path));
      return (await lstat(target)).isFile() ? target : undefined;
    }),
  );
  return paths.filter((path) => path !== undefined).toSorted();
};

const decode = (bytes: Uint8Array, file: string): string => {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch {
    // The decoder's only way to say that the bytes are not UTF-8.
    throw refuse(file, 'is not valid UTF-8; save it as UTF-8');
  }
};
