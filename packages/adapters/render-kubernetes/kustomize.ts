import { lstat, mkdir, readFile, writeFile } from 'node:fs/promises';
import { join, relative, resolve } from 'node:path';
import { asList, asMap, type JsonValue, parseYaml } from '@eph/contract';
import { LineCounter } from 'yaml';
import { refuse } from './manifest.ts';
import { findInTree, isInside, nothingIfAbsent, type Tree } from './manifest-files.ts';

const names = ['kustomization.yaml', 'kustomization.yml', 'Kustomization'];
/** Each may name a file, another kustomization, or something elsewhere. */
const sources = ['resources', 'bases', 'components', 'generators', 'transformers', 'validators', 'crds', 'configurations'];
const mostKustomizations = 200;
const fileLimitBytes = 1024 ** 2;

/**
 * Refuses a kustomization that leaves the repository, with the command that brings what it needs into it. Kustomize keeps files within
 * their folder by itself, but takes folders and addresses from anywhere.
 */
export const checkKustomization = async (tree: Tree, path: string): Promise<void> => {
  const seen = new Set<string>();
  const left = [await findInTree(tree, path)];
  for (let folder = left.pop(); folder !== undefined; folder = left.pop()) {
    if (seen.has(folder)) continue;
    seen.add(folder);
    if (seen.size > mostKustomizations) throw refuse(path, `uses more than ${mostKustomizations} kustomizations`);
    left.push(...(await readFolders(tree, folder, path)));
  }
};

const readFolders = async (tree: Tree, folder: string, asked: string): Promise<readonly string[]> => {
  const shown = relative(tree.root, folder) || '.';
  const found = await readKustomization(folder);
  if (found === undefined) throw refuse(shown, `has no ${names[0]}`);
  const { file, value } = found;
  const where = join(shown, file);
  const refuseRemote = (entry: string): never => {
    throw refuse(
      where,
      `names ${entry}, which is fetched; Eph fetches nothing: put it into the repository with \`kustomize localize ${asked} ${asked}-local\``,
    );
  };
  for (const address of findAddresses(value)) refuseRemote(address);
  const folders: string[] = [];
  for (const key of sources)
    for (const entry of asList(asMap(value)[key])) {
      // Some may be written in place, as text with lines.
      if (typeof entry !== 'string' || entry.includes('\n')) continue;
      const target = resolve(folder, entry);
      const isHere = !entry.startsWith('/') && isInside(tree.root, target);
      const kind = isHere ? await kindOf(tree, target) : undefined;
      if (kind === 'folder') folders.push(target);
      if (kind !== undefined) continue;
      if (isRemote(entry)) refuseRemote(entry);
      if (!isHere) throw refuse(where, `${key} names ${entry}, which is outside of the repository`);
      throw refuse(where, `${key} names ${entry}, which is not in the repository at this commit`);
    }
  return folders;
};

const readKustomization = async (folder: string): Promise<{ readonly file: string; readonly value: JsonValue } | undefined> => {
  for (const file of names) {
    const path = join(folder, file);
    const stats = await lstat(path).catch(nothingIfAbsent);
    if (stats?.isFile() !== true) continue;
    if (stats.size > fileLimitBytes) throw refuse(file, `has ${stats.size} bytes; at most ${fileLimitBytes} are read`);
    const { document, flaws } = parseYaml(await readFile(path, 'utf8'), new LineCounter());
    const [flaw] = flaws;
    if (document === undefined || flaw !== undefined) throw refuse(file, flaw?.message ?? 'is no YAML');
    return { file, value: document.toJS({ maxAliasCount: 100 }) as JsonValue };
  }
  return undefined;
};

/** Text of any kind, and not the name of something to read. */
const texts = new Set(['literals', 'commonAnnotations', 'commonLabels', 'annotations', 'labels', 'patch', 'images', 'metadata']);

/** Kustomize takes files of generators and patches from addresses, too. Loopback has no proxy that could lead nowhere. */
const findAddresses = (value: JsonValue): readonly string[] => {
  if (typeof value === 'string')
    return /^([^\n=]*=)?\s*[a-z][a-z0-9+.-]*:\/\//i.test(value) && !value.includes('\n') ? [value] : [];
  if (typeof value !== 'object' || value === null) return [];
  const entries: readonly (readonly [string, JsonValue])[] = Object.entries(value);
  return entries.flatMap(([key, inner]) => (texts.has(key) ? [] : findAddresses(inner)));
};

const kindOf = async (tree: Tree, path: string): Promise<'file' | 'folder' | undefined> => {
  const stats = await lstat(path).catch(nothingIfAbsent);
  if (stats === undefined) return undefined;
  const real = await lstat(await findInTree(tree, relative(tree.root, path)));
  return real.isDirectory() ? 'folder' : 'file';
};

const isRemote = (entry: string): boolean =>
  /^[a-z][a-z0-9+.-]*:|^[\w.-]+@[\w.-]+:|\?(ref|version|timeout|submodules)=|^(github\.com|bitbucket\.org|gitlab\.com)[/:]|\.git(\/\/|$|\?)/i.test(
    entry,
  );

export interface Patch {
  readonly target: { readonly kind: string; readonly name?: string | undefined };
  readonly patch: string;
}

/** A folder to build: the kustomization itself, or one over it with the patches of `eph.yaml`. Relative to the folder of the work. */
export const writeOverlay = async (work: string, path: string, index: number, patches: readonly Patch[]): Promise<string> => {
  if (patches.length === 0) return join('tree', path);
  const folder = `overlay-${index}`;
  await mkdir(join(work, folder));
  const overlay = { resources: [join('..', 'tree', path)], patches };
  await writeFile(join(work, folder, 'kustomization.yaml'), JSON.stringify(overlay));
  return folder;
};
