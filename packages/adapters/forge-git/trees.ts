import { type CommitSha, EphError } from '@eph/contract';
import type { GitObject } from './cat-file-output.ts';
import type { ObjectReader } from './object-reader.ts';

export type EntryKind = 'file' | 'executable' | 'link' | 'folder' | 'submodule' | 'unknown';

export interface TreeEntry {
  /** Git names are bytes, not text. */
  readonly name: Buffer;
  readonly kind: EntryKind;
  readonly id: string;
}

const kinds: Readonly<Record<string, EntryKind>> = {
  '40000': 'folder',
  '100644': 'file',
  // Written by very old versions of Git.
  '100664': 'file',
  '100755': 'executable',
  '120000': 'link',
  '160000': 'submodule',
};

const commitLimitBytes = 4 * 1024 * 1024;
const treeLimitBytes = 32 * 1024 * 1024;

/** The object of a source is not a commit, which Git allows for tags. */
export class NotACommit extends EphError {
  constructor(commit: CommitSha, type: string) {
    super('source.commit_missing', `${commit} is a ${type}, not a commit.`);
  }
}

/** The commit is there, and what it consists of is not. */
export class Damaged extends EphError {
  constructor(message: string) {
    super('source.commit_missing', message);
  }
}

export const damaged = (message: string): EphError => new Damaged(message);

/** The content of a commit; throws `source.commit_missing` if there is no such commit. */
const readCommit = async (objects: ObjectReader, commit: CommitSha, signal: AbortSignal): Promise<Buffer> => {
  const object = await objects.read(commit, commitLimitBytes, signal);
  if (object === undefined) throw new EphError('source.commit_missing', `The repository has no commit ${commit} (yet).`);
  if (object.type !== 'commit') throw new NotACommit(commit, object.type);
  if (object.content === undefined)
    throw damaged(`Commit ${commit} is larger than ${commitLimitBytes} bytes; the repository is damaged.`);
  return object.content;
};

/** The id of the root tree. Throws as `readCommit`. */
export const readRootTree = async (objects: ObjectReader, commit: CommitSha, signal: AbortSignal): Promise<string> => {
  const content = await readCommit(objects, commit, signal);
  const tree = /^tree ([0-9a-f]+)\n/.exec(content.toString('latin1', 0, 80))?.[1];
  if (tree === undefined) throw damaged(`Commit ${commit} names no tree; the repository is damaged.`);
  return tree;
};

/** As `Forge.committedAt`. */
export const readCommittedAt = async (objects: ObjectReader, commit: CommitSha, signal: AbortSignal): Promise<string> => {
  const content = await readCommit(objects, commit, signal);
  const [header = ''] = content.toString('latin1').split('\n\n', 1);
  const ms = 1000 * Number(/^committer [^\n]*> (\d+) [+-]\d+$/m.exec(header)?.[1] ?? 0);
  return new Date(ms <= latestMs ? ms : 0).toISOString();
};

/** The last time that a `Date` can hold. */
const latestMs = 8.64e15;

export const readTree = async (
  objects: ObjectReader,
  id: string,
  signal: AbortSignal,
  limitBytes: number = treeLimitBytes,
): Promise<readonly TreeEntry[]> => {
  const object = await objects.read(id, limitBytes, signal);
  if (object === undefined) throw damaged(`Tree ${id} is missing; the repository is incomplete.`);
  return parseTree(object, limitBytes);
};

const parseTree = ({ id, type, content }: GitObject, limitBytes: number): readonly TreeEntry[] => {
  if (type !== 'tree') throw damaged(`${id} is a ${type} where a tree belongs; the repository is damaged.`);
  if (content === undefined) throw new EphError('checkout.refused', `Tree ${id} is larger than ${limitBytes} bytes.`);
  const entries: TreeEntry[] = [];
  const idBytes = id.length / 2;
  for (let at = 0; at < content.length; ) {
    const space = content.indexOf(0x20, at);
    const end = content.indexOf(0, space);
    if (space === -1 || end === -1 || end + 1 + idBytes > content.length) {
      throw damaged(`Tree ${id} cannot be parsed; the repository is damaged.`);
    }
    const mode = content.toString('latin1', at, space);
    at = end + 1 + idBytes;
    entries.push({
      name: content.subarray(space + 1, end),
      kind: kinds[mode] ?? 'unknown',
      id: content.toString('hex', end + 1, at),
    });
  }
  return entries;
};

const findEntry = async (
  objects: ObjectReader,
  commit: CommitSha,
  path: string,
  signal: AbortSignal,
): Promise<TreeEntry | undefined> => {
  let tree: string | undefined = await readRootTree(objects, commit, signal);
  let entry: TreeEntry | undefined;
  for (const segment of path.split('/')) {
    if (tree === undefined || segment === '') return undefined;
    const name = Buffer.from(segment);
    entry = (await readTree(objects, tree, signal)).find((candidate) => candidate.name.equals(name));
    tree = entry?.kind === 'folder' ? entry.id : undefined;
  }
  return entry;
};

/** As `Forge.readFile`. */
export const readFileAt = async (
  objects: ObjectReader,
  commit: CommitSha,
  path: string,
  limitBytes: number,
  signal: AbortSignal,
): Promise<Uint8Array | undefined> => {
  const entry = await findEntry(objects, commit, path, signal);
  if (entry === undefined) return undefined;
  if (entry.kind !== 'file' && entry.kind !== 'executable') {
    throw new EphError('spec.invalid', `"${path}" at commit ${commit} is not a regular file but ${named[entry.kind]}.`);
  }
  const blob = await objects.read(entry.id, limitBytes, signal);
  if (blob === undefined) throw damaged(`The content of "${path}" at commit ${commit} is missing; the repository is incomplete.`);
  if (blob.type !== 'blob') throw damaged(`"${path}" at commit ${commit} is a ${blob.type}; the repository is damaged.`);
  if (blob.content === undefined) {
    throw new EphError(
      'spec.invalid',
      `"${path}" at commit ${commit} has ${blob.size} bytes; at most ${limitBytes} are allowed.`,
    );
  }
  // Copied, because the content is part of a larger buffer.
  return Uint8Array.from(blob.content);
};

const named: Readonly<Record<Exclude<EntryKind, 'file' | 'executable'>, string>> = {
  link: 'a symbolic link',
  folder: 'a folder',
  submodule: 'a submodule',
  unknown: 'an unknown kind of entry',
};
