import { createHash } from 'node:crypto';

type ObjectKind = 'blob' | 'tree' | 'commit' | 'tag';

/** An object as Git stores it. Its name is computed here, so that thousands of commits need no process and no disk. */
export interface GitObject {
  readonly sha: string;
  readonly kind: ObjectKind;
  readonly content: Buffer;
}

export interface FileEntry {
  readonly mode: '100644' | '100755' | '120000' | '160000';
  readonly sha: string;
}

/** Every file of a commit, by path. */
export type Snapshot = ReadonlyMap<string, FileEntry>;

export interface Signature {
  readonly name: string;
  readonly email: string;
  readonly atMs: number;
}

/** The content of a file in a push: text, bytes, a file with a mode, or `null` to delete it. */
export type FileContent =
  | string
  | Buffer
  | { readonly content: string | Buffer; readonly executable?: boolean; readonly symlink?: boolean }
  | { readonly submodule: string }
  | null;

export const makeObject = (kind: ObjectKind, content: Buffer): GitObject => ({
  sha: createHash('sha1').update(`${kind} ${content.length}\0`).update(content).digest('hex'),
  kind,
  content,
});

/** The snapshot with these files applied, and the new blobs. */
export const writeFiles = (
  snapshot: Snapshot,
  files: Readonly<Record<string, FileContent>>,
): { readonly snapshot: Snapshot; readonly blobs: readonly GitObject[] } => {
  const written = new Map(snapshot);
  const blobs: GitObject[] = [];
  for (const [path, file] of Object.entries(files)) {
    if (file === null) written.delete(path);
    else if (typeof file === 'object' && 'submodule' in file) written.set(path, { mode: '160000', sha: file.submodule });
    else {
      const blob = makeObject('blob', toBytes(file));
      blobs.push(blob);
      written.set(path, { mode: modeOf(file), sha: blob.sha });
    }
  }
  return { snapshot: written, blobs };
};

const toBytes = (file: Exclude<FileContent, null | { readonly submodule: string }>): Buffer => {
  const content = typeof file === 'object' && 'content' in file ? file.content : file;
  return typeof content === 'string' ? Buffer.from(content) : content;
};

const modeOf = (file: Exclude<FileContent, null>): FileEntry['mode'] => {
  if (typeof file !== 'object' || !('content' in file)) return '100644';
  if (file.symlink === true) return '120000';
  return file.executable === true ? '100755' : '100644';
};

/** The trees of a snapshot; the last one is its root. */
export const makeTrees = (snapshot: Snapshot): readonly [...GitObject[], GitObject] => {
  const inner: GitObject[] = [];
  const files: TreeEntry[] = [];
  const folders = new Map<string, Map<string, FileEntry>>();
  for (const [path, entry] of snapshot) {
    const slash = path.indexOf('/');
    if (slash === -1) files.push({ name: path, ...entry });
    else {
      const folder = path.slice(0, slash);
      const members = folders.get(folder) ?? new Map<string, FileEntry>();
      folders.set(folder, members.set(path.slice(slash + 1), entry));
    }
  }
  const trees = [...folders].map(([name, members]): TreeEntry => {
    const made = makeTrees(members);
    inner.push(...made);
    return { name, mode: '40000', sha: made[made.length - 1]?.sha ?? '' };
  });
  return [...inner, makeTree([...files, ...trees])];
};

interface TreeEntry {
  readonly name: string;
  readonly mode: string;
  readonly sha: string;
}

const makeTree = (entries: readonly TreeEntry[]): GitObject => {
  // Git compares a folder as if its name ended in a slash.
  const key = ({ name, mode }: TreeEntry): Buffer => Buffer.from(mode === '40000' ? `${name}/` : name);
  const sorted = entries.toSorted((a, b) => Buffer.compare(key(a), key(b)));
  const parts = sorted.flatMap(({ name, mode, sha }) => [Buffer.from(`${mode} ${name}\0`), Buffer.from(sha, 'hex')]);
  return makeObject('tree', Buffer.concat(parts));
};

export const makeCommit = (commit: {
  readonly tree: string;
  readonly parents: readonly string[];
  readonly author: Signature;
  readonly message: string;
}): GitObject =>
  makeObject(
    'commit',
    Buffer.from(
      [
        `tree ${commit.tree}`,
        ...commit.parents.map((parent) => `parent ${parent}`),
        `author ${sign(commit.author)}`,
        `committer ${sign(commit.author)}`,
        '',
        `${commit.message}\n`,
      ].join('\n'),
    ),
  );

export const makeTag = (tag: {
  readonly name: string;
  readonly commit: string;
  readonly tagger: Signature;
  readonly message: string;
}): GitObject =>
  makeObject(
    'tag',
    Buffer.from(
      [`object ${tag.commit}`, 'type commit', `tag ${tag.name}`, `tagger ${sign(tag.tagger)}`, '', `${tag.message}\n`].join('\n'),
    ),
  );

const sign = ({ name, email, atMs }: Signature): string => `${name} <${email}> ${Math.floor(atMs / 1000)} +0000`;
