import { createHash } from 'node:crypto';
import { type CommitSha, EphError } from '@eph/contract';
import type { GitObject } from '../forge-git/cat-file-output.ts';
import type { ObjectReader } from '../forge-git/object-reader.ts';
import { toError, unwrap } from '../forge-http/answer.ts';
import { type BoundedCache, createBoundedCache } from '../forge-http/bounded-cache.ts';
import type { GithubClient } from './github-client.ts';
import { checkGone } from './repository.ts';
import { commitShape, type TreeShape, treeShape } from './shapes.ts';

interface KnownObject {
  readonly object: GitObject;
  readonly children: readonly { readonly id: string; readonly type: string; readonly size: number }[];
}

/** Commits and trees by id; they never change. */
export type ObjectCache = BoundedCache<KnownObject>;

const cacheLimitBytes = 4 * 1024 * 1024;

export const createObjectCache = (): ObjectCache => createBoundedCache<KnownObject>(cacheLimitBytes);

export interface ApiObjects extends ObjectReader {
  /** Reads all trees of a commit at once, if GitHub does not truncate the list. */
  readTreesOf(commit: CommitSha, signal: AbortSignal): Promise<void>;
  /** The size according to its tree; undefined if not a blob. */
  blobSize(id: string): number | undefined;
}

/**
 * Git objects through the API, so that files and trees are read by the same code as with Git. GitHub has an endpoint per
 * type, and an id does not show its type: an id that no tree mentioned is a commit. So every reading starts with its
 * commit and has its own reader.
 */
export const createApiObjects = (client: GithubClient, cache: ObjectCache): ApiObjects => {
  const kinds = new Map<string, { readonly type: string; readonly size: number }>();
  const trees = new Map<string, KnownObject>();

  const registerChildren = ({ object, children }: KnownObject): GitObject => {
    for (const { id, type, size } of children) kinds.set(id, { type, size });
    return object;
  };

  const cacheObject = (known: KnownObject): KnownObject => {
    cache.set(known.object.id, known, known.object.size + 100 * known.children.length);
    return known;
  };

  const readCommit = async (id: string, signal: AbortSignal): Promise<KnownObject | undefined> => {
    const route = 'GET /repos/{owner}/{repo}/git/commits/{commit_sha}';
    const answer = await client.read({ route, parameters: { commit_sha: id }, parse: parseCommit }, { signal });
    if (answer.ok) return cacheObject(toCommit(id, answer.value.tree.sha));
    const gone = await checkGone(client, answer, signal);
    if (gone.state === 'gone') return undefined;
    throw new EphError(gone.fault.code, gone.fault.message);
  };

  const readTree = async (id: string, signal: AbortSignal): Promise<KnownObject> => {
    const listing = unwrap(await readListing(id, false, signal));
    if (listing.truncated) throw new EphError('checkout.refused', `Tree ${id} has more entries than GitHub lists.`);
    return cacheObject(toTree(id, listing.tree.map(toEntry)));
  };

  const readListing = (id: string, recursive: boolean, signal: AbortSignal) =>
    client.read(
      {
        route: 'GET /repos/{owner}/{repo}/git/trees/{tree_sha}',
        parameters: { tree_sha: id, ...(recursive ? { recursive: '1' } : {}) },
        parse: parseTree,
      },
      { signal },
    );

  const readBlob = async (id: string, size: number, limitBytes: number, signal: AbortSignal): Promise<GitObject | undefined> => {
    if (size > limitBytes) return { id, type: 'blob', size, content: undefined };
    const route = 'GET /repos/{owner}/{repo}/git/blobs/{file_sha}';
    const answer = await client.readBytes(route, { file_sha: id }, signal);
    if (!answer.ok) {
      if (answer.meaning === 'gone') return undefined;
      throw toError(answer);
    }
    if (hashObject('blob', answer.value, id) !== id)
      throw new EphError('forge.incomplete', `${client.shown} sent content that does not match blob ${id}.`);
    return { id, type: 'blob', size: answer.value.length, content: answer.value };
  };

  return {
    async read(id, limitBytes, signal) {
      signal.throwIfAborted();
      const kind = kinds.get(id);
      if (kind?.type === 'blob') return await readBlob(id, kind.size, limitBytes, signal);
      const readOne = kind?.type === 'tree' ? readTree : readCommit;
      const known = trees.get(id) ?? cache.get(id) ?? (await readOne(id, signal));
      return known === undefined ? undefined : registerChildren(known);
    },

    async readTreesOf(commit, signal) {
      const root = (cache.get(commit) ?? (await readCommit(commit, signal)))?.children[0]?.id;
      if (root === undefined) return;
      const listing = unwrap(await readListing(root, true, signal));
      // GitHub lists at most 100,000 entries. Larger trees are read folder by folder.
      if (listing.truncated) return;
      for (const known of toTrees(root, listing)) trees.set(known.object.id, known);
    },

    blobSize(id) {
      const kind = kinds.get(id);
      return kind?.type === 'blob' ? kind.size : undefined;
    },
    restart: () => undefined,
    [Symbol.asyncDispose]: () => Promise.resolve(),
  };
};

const parseCommit = (body: unknown) => commitShape.parse(body);
const parseTree = (body: unknown) => treeShape.parse(body);

interface Entry {
  readonly name: Buffer;
  readonly mode: string;
  readonly type: string;
  readonly id: string;
  readonly size: number;
}

const toEntry = ({ path, mode, type, sha, size = 0 }: TreeShape['tree'][number]): Entry => ({
  name: Buffer.from(path),
  // GitHub pads the mode to six digits, Git does not.
  mode: mode.replace(/^0+/, ''),
  type,
  id: sha,
  size,
});

const toCommit = (id: string, tree: string): KnownObject => {
  const content = Buffer.from(`tree ${tree}\n`);
  return {
    object: { id, type: 'commit', size: content.length, content },
    children: [{ id: tree, type: 'tree', size: 0 }],
  };
};

const toTree = (id: string, entries: readonly Entry[]): KnownObject => {
  const sorted = entries.toSorted((a, b) => Buffer.compare(sortKey(a), sortKey(b)));
  const content = Buffer.concat(
    sorted.flatMap(({ mode, name, id: child }) => [Buffer.from(`${mode} `), name, Buffer.from([0]), Buffer.from(child, 'hex')]),
  );
  const children = entries.map(({ id: child, type, size }) => ({ id: child, type, size }));
  return { object: { id, type: 'tree', size: content.length, content }, children };
};

/** Git sorts a folder as if its name ended in a slash. */
const sortKey = ({ name, type }: Entry): Buffer => (type === 'tree' ? Buffer.concat([name, Buffer.from('/')]) : name);

const toTrees = (root: string, { tree }: TreeShape): readonly KnownObject[] => {
  const folders = new Map<string, { readonly id: string; readonly entries: Entry[] }>([['', { id: root, entries: [] }]]);
  for (const { path, type, sha } of tree) if (type === 'tree') folders.set(path, { id: sha, entries: [] });
  for (const listed of tree) {
    const slash = listed.path.lastIndexOf('/');
    const entry = toEntry({ ...listed, path: listed.path.slice(slash + 1) });
    folders.get(slash === -1 ? '' : listed.path.slice(0, slash))?.entries.push(entry);
  }
  return [...folders.values()].map(({ id, entries }) => toTree(id, entries));
};

/** The Git object id, in the format of `like`. */
export const hashObject = (type: string, content: Uint8Array, like: string): string =>
  createHash(like.length === 64 ? 'sha256' : 'sha1')
    .update(`${type} ${content.length}\0`)
    .update(content)
    .digest('hex');
