import type { GitNetwork } from './git-network.ts';

export interface ReadSignature {
  readonly name: string;
  readonly email: string;
  readonly atMs: number;
}

export interface ReadCommit {
  readonly sha: string;
  readonly tree: string;
  readonly parents: readonly string[];
  readonly author: ReadSignature;
  readonly committer: ReadSignature;
  readonly message: string;
}

export interface ReadTag {
  readonly sha: string;
  readonly name: string;
  readonly object: string;
  readonly tagger: ReadSignature;
  readonly message: string;
}

export interface ReadTreeEntry {
  /** From the tree that was read, so several segments where folders were entered. */
  readonly path: string;
  readonly mode: string;
  readonly type: 'blob' | 'tree' | 'commit';
  readonly sha: string;
  readonly size: number | undefined;
}

export const readCommit = async (network: GitNetwork, sha: string): Promise<ReadCommit | undefined> => {
  const object = await network.read(sha);
  if (object?.kind !== 'commit') return undefined;
  const { fields, message } = parseHeaders(object.content);
  return {
    sha,
    tree: one(fields, 'tree'),
    parents: fields.filter(([name]) => name === 'parent').map(([, value]) => value),
    author: parseSignature(one(fields, 'author')),
    committer: parseSignature(one(fields, 'committer')),
    message,
  };
};

export const readTag = async (network: GitNetwork, sha: string): Promise<ReadTag | undefined> => {
  const object = await network.read(sha);
  if (object?.kind !== 'tag') return undefined;
  const { fields, message } = parseHeaders(object.content);
  return {
    sha,
    name: one(fields, 'tag'),
    object: one(fields, 'object'),
    tagger: parseSignature(one(fields, 'tagger')),
    message,
  };
};

/** The entries of a tree, or of the tree of a commit; `undefined` if the object is neither. */
export const readTree = async (
  network: GitNetwork,
  sha: string,
  recursive: boolean,
): Promise<readonly ReadTreeEntry[] | undefined> => {
  const object = await network.read(sha);
  if (object?.kind !== 'tree' && object?.kind !== 'commit') return undefined;
  const lines = await network.run('ls-tree', '-z', '--long', '--full-tree', ...(recursive ? ['-r', '-t'] : []), sha);
  return lines
    .toString()
    .split('\0')
    .filter((line) => line !== '')
    .map(parseTreeLine);
};

/** What lies at a path of a commit; `undefined` if nothing does. The empty path is the root. */
export const findPath = async (network: GitNetwork, commit: string, path: string): Promise<ReadTreeEntry | undefined> => {
  const root = (await readCommit(network, commit))?.tree;
  if (root === undefined) return undefined;
  let found: ReadTreeEntry = { path: '', mode: '040000', type: 'tree', sha: root, size: undefined };
  for (const segment of path.split('/').filter((part) => part !== '')) {
    if (found.type !== 'tree') return undefined;
    const entry = parseTree((await network.read(found.sha))?.content).find(({ name }) => name === segment);
    if (entry === undefined) return undefined;
    const inner = found.path === '' ? segment : `${found.path}/${segment}`;
    found = { path: inner, mode: entry.mode, type: typeOf(entry.mode), sha: entry.sha, size: undefined };
  }
  return found;
};

export const readArchive = (network: GitNetwork, commit: string, prefix: string): Promise<Buffer> =>
  network.run('archive', '--format=tar.gz', `--prefix=${prefix}/`, commit);

const parseHeaders = (content: Buffer): { readonly fields: readonly (readonly [string, string])[]; readonly message: string } => {
  const text = content.toString();
  const end = text.indexOf('\n\n');
  const fields = text
    .slice(0, end)
    .split('\n')
    .map((line) => [line.slice(0, line.indexOf(' ')), line.slice(line.indexOf(' ') + 1)] as const);
  return { fields, message: text.slice(end + 2).replace(/\n$/, '') };
};

const one = (fields: readonly (readonly [string, string])[], wanted: string): string => {
  const field = fields.find(([name]) => name === wanted);
  if (field === undefined) throw new Error(`Git has an object without the field ${wanted}.`);
  return field[1];
};

const parseSignature = (text: string): ReadSignature => {
  const match = /^(.*) <(.*)> (\d+) [+-]\d{4}$/.exec(text);
  if (match === null) throw new Error(`Git has a signature that nobody can read: ${text}`);
  const [, name = '', email = '', seconds] = match;
  return { name, email, atMs: Number(seconds) * 1000 };
};

const parseTreeLine = (line: string): ReadTreeEntry => {
  const tab = line.indexOf('\t');
  const [mode = '', type, sha = '', size] = line.slice(0, tab).split(/ +/);
  const known = type === 'tree' || type === 'commit' ? type : 'blob';
  return { path: line.slice(tab + 1), mode, type: known, sha, size: size === '-' ? undefined : Number(size) };
};

const parseTree = (content: Buffer | undefined): readonly { name: string; mode: string; sha: string }[] => {
  const entries: { name: string; mode: string; sha: string }[] = [];
  for (let at = 0; content !== undefined && at < content.length; ) {
    const space = content.indexOf(0x20, at);
    const end = content.indexOf(0, space);
    const sha = content.subarray(end + 1, end + 21).toString('hex');
    const mode = content.subarray(at, space).toString().padStart(6, '0');
    entries.push({ name: content.subarray(space + 1, end).toString(), mode, sha });
    at = end + 21;
  }
  return entries;
};

const typeOf = (mode: string): ReadTreeEntry['type'] => {
  if (mode === '040000') return 'tree';
  return mode === '160000' ? 'commit' : 'blob';
};
