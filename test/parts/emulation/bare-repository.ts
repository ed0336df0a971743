import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { type CommitObject, parseCommits } from './commit-object.ts';
import { type GitResult, runGit } from './git-process.ts';

/** What a file of a commit may be besides plain text. */
export type FileContent = string | Uint8Array | { readonly link: string } | { readonly executable: string };
/** Files to write; `null` removes one. */
export type FileChanges = Readonly<Record<string, FileContent | null>>;

export interface NewCommit {
  readonly ref: string;
  readonly changes: FileChanges;
  readonly message: string;
  readonly author: { readonly name: string; readonly email: string };
  readonly seconds: number;
  /** A commit to build on; none for a commit without history. */
  readonly parent: string | undefined;
}

export interface RefEntry {
  readonly name: string;
  /** The object that the ref points to: for an annotated tag the tag object. */
  readonly target: string;
  readonly commit: string;
  /** Of an annotated tag. */
  readonly message: string | undefined;
}

export interface TreeEntry {
  readonly mode: string;
  readonly type: 'blob' | 'tree' | 'commit';
  readonly sha: string;
  readonly path: string;
}

export interface ChangedFile {
  readonly status: string;
  readonly oldPath: string;
  readonly newPath: string;
  readonly oldMode: string;
  readonly newMode: string;
}

/** A real bare Git repository behind an emulated forge. */
export class BareRepository {
  readonly path: string;
  readonly #home: string;

  private constructor(path: string, home: string) {
    this.path = path;
    this.#home = home;
  }

  static async create(folder: string, name: string): Promise<BareRepository> {
    const home = join(folder, 'home');
    await mkdir(home, { recursive: true });
    const path = join(folder, `${name}.git`);
    const { code, stderr } = await runGit(['init', '--quiet', '--bare', '--initial-branch=main', path], home);
    if (code !== 0) throw new Error(`git init: ${stderr}`);
    return new BareRepository(path, home);
  }

  /** Moves the ref atomically to a new commit, with or without common history; returns the commit. */
  async commit({ ref, changes, message, author, seconds, parent }: NewCommit): Promise<string> {
    const by = `${author.name} <${author.email}> ${seconds} +0000`;
    const stream = Buffer.concat([
      Buffer.from(`commit ${ref}\nmark :1\nauthor ${by}\ncommitter ${by}\n`),
      importData(Buffer.from(message)),
      Buffer.from(parent === undefined ? '' : `from ${parent}\n`),
      ...Object.entries(changes).map(([path, content]) => importChange(path, content)),
      Buffer.from('\nget-mark :1\ndone\n'),
    ]);
    return (await this.#must(['fast-import', '--quiet', '--force', '--done'], stream)).toString().trim();
  }

  async setRef(ref: string, sha: string): Promise<void> {
    await this.#must(['update-ref', '--end-of-options', ref, sha]);
  }

  /** Deleting a missing ref is not an error. */
  async deleteRef(ref: string): Promise<void> {
    await this.#must(['update-ref', '-d', '--end-of-options', ref]);
  }

  async isValidRef(ref: string): Promise<boolean> {
    return (await this.#git(['check-ref-format', ref])).code === 0;
  }

  async annotateTag(name: string, commit: string, message: string): Promise<string> {
    const who = ['-c', 'user.name=Eph', '-c', 'user.email=eph@localhost'];
    await this.#must(
      [...who, 'tag', '--annotate', '--force', '--file=-', '--end-of-options', name, commit],
      Buffer.from(message),
    );
    return (await this.#must(['rev-parse', '--verify', `refs/tags/${name}`])).toString().trim();
  }

  /** In the order of their names. */
  async refs(prefix: string): Promise<readonly RefEntry[]> {
    const format = '%(refname)%00%(objecttype)%00%(objectname)%00%(*objectname)%00%(contents)%00%01';
    const output = await this.#must(['for-each-ref', `--format=${format}`, prefix]);
    const records = output
      .toString()
      .split('\0\x01')
      .map((record) => record.replace(/^\n/u, ''));
    return records
      .filter((record) => record !== '')
      .map((record) => {
        const [name = '', type, target = '', peeled = '', contents = ''] = record.split('\0');
        return {
          name,
          target,
          commit: peeled === '' ? target : peeled,
          message: type === 'tag' ? contents.trimEnd() : undefined,
        };
      });
  }

  /** The commit that a branch, a tag or a (short) id names. */
  async resolve(revision: string): Promise<string | undefined> {
    // Git would also accept ranges, reflogs and searches here.
    if (/[\0\n:^~\\ ]|@\{/u.test(revision) || revision === '@' || revision.startsWith('-')) return undefined;
    const { code, stdout } = await this.#git(['rev-parse', '--verify', '--quiet', '--end-of-options', `${revision}^{commit}`]);
    return code === 0 ? stdout.toString().trim().split('\n').at(-1) : undefined;
  }

  async readCommits(shas: readonly string[]): Promise<readonly CommitObject[]> {
    return shas.length === 0
      ? []
      : parseCommits(await this.#must(['cat-file', '--batch'], shas.map((sha) => `${sha}\n`).join('')));
  }

  async readBlob(sha: string): Promise<Buffer> {
    return this.#must(['cat-file', 'blob', sha]);
  }

  /** One entry by its path. */
  async readEntry(commit: string, path: string): Promise<TreeEntry | undefined> {
    const { code, stdout } = await this.#git(['--literal-pathspecs', 'ls-tree', '-z', '--full-tree', commit, '--', path]);
    return code === 0 ? parseTree(stdout).find((entry) => entry.path === path) : undefined;
  }

  /** The entries of a folder with full paths; `undefined` when there is no such folder. */
  async readTree(commit: string, folder: string, recursive: boolean): Promise<readonly TreeEntry[] | undefined> {
    const clean = folder.replace(/^\/+|\/+$/gu, '');
    if (clean !== '' && (await this.readEntry(commit, clean))?.type !== 'tree') return undefined;
    const args = ['--literal-pathspecs', 'ls-tree', '-z', '--full-tree', ...(recursive ? ['-r', '-t'] : []), commit];
    const entries = parseTree(await this.#must(clean === '' ? args : [...args, '--', `${clean}/`]));
    // Git also lists the parents of the requested folder.
    return entries.filter((entry) => clean === '' || entry.path.startsWith(`${clean}/`));
  }

  /** The tree as an uncompressed tar archive. */
  async archive(commit: string, prefix: string, path?: string): Promise<Buffer> {
    return this.#must([
      '--literal-pathspecs',
      'archive',
      '--format=tar',
      `--prefix=${prefix}`,
      commit,
      ...(path === undefined ? [] : ['--', path]),
    ]);
  }

  async mergeBase(a: string, b: string): Promise<string | undefined> {
    const { code, stdout } = await this.#git(['merge-base', a, b]);
    return code === 0 ? stdout.toString().trim() : undefined;
  }

  async isAncestor(ancestor: string, of: string): Promise<boolean> {
    return (await this.#git(['merge-base', '--is-ancestor', ancestor, of])).code === 0;
  }

  /** Newest first. */
  async commitsBetween(from: string, to: string): Promise<readonly string[]> {
    return lines(await this.#must(['rev-list', '--end-of-options', to, `^${from}`]));
  }

  async changedFiles(from: string, to: string): Promise<readonly ChangedFile[]> {
    return parseChanges(await this.#must(['diff-tree', '-r', '-M', '-z', '--raw', from, to]));
  }

  async countLines(commit: string): Promise<{ readonly additions: number; readonly deletions: number }> {
    const counts = lines(await this.#must(['diff-tree', '--root', '--no-commit-id', '--numstat', '-r', commit])).map((line) =>
      line.split('\t'),
    );
    const sum = (column: number): number => counts.reduce((total, row) => total + (Number(row[column]) || 0), 0);
    return { additions: sum(0), deletions: sum(1) };
  }

  async branchesWith(commit: string): Promise<readonly string[]> {
    return lines(await this.#must(['for-each-ref', '--format=%(refname:lstrip=2)', `--contains=${commit}`, 'refs/heads/']));
  }

  /** Fetches a commit of another repository into a ref. */
  async take(from: BareRepository, sha: string, ref: string): Promise<void> {
    if (from !== this)
      await this.#must(['-c', 'uploadpack.allowAnySHA1InWant=true', 'fetch', '--quiet', '--no-tags', from.path, sha]);
    await this.setRef(ref, sha);
  }

  /** All branches and tags of another repository. */
  async takeAll(from: BareRepository): Promise<void> {
    await this.#must(['fetch', '--quiet', from.path, '+refs/heads/*:refs/heads/*', '+refs/tags/*:refs/tags/*']);
  }

  #git(args: readonly string[], input?: string | Uint8Array): Promise<GitResult> {
    return runGit([`--git-dir=${this.path}`, ...args], this.#home, input);
  }

  async #must(args: readonly string[], input?: string | Uint8Array): Promise<Buffer> {
    const { code, stdout, stderr } = await this.#git(args, input);
    if (code !== 0) throw new Error(`git ${args.join(' ')}: ${stderr}`);
    return stdout;
  }
}

const lines = (output: Buffer): readonly string[] =>
  output
    .toString()
    .split('\n')
    .filter((line) => line !== '');

const importData = (bytes: Uint8Array): Buffer =>
  Buffer.concat([Buffer.from(`data ${bytes.length}\n`), bytes, Buffer.from('\n')]);

const importChange = (path: string, content: FileContent | null): Buffer => {
  const quoted = `"${path.replace(/["\\]/gu, '\\$&').replace(/\n/gu, '\\n')}"`;
  if (content === null) return Buffer.from(`D ${quoted}\n`);
  const [mode, data] = importMode(content);
  return Buffer.concat([Buffer.from(`M ${mode} inline ${quoted}\n`), importData(data)]);
};

const importMode = (content: FileContent): readonly [mode: string, data: Buffer] => {
  if (typeof content === 'string') return ['100644', Buffer.from(content)];
  if (content instanceof Uint8Array) return ['100644', Buffer.from(content)];
  return 'link' in content ? ['120000', Buffer.from(content.link)] : ['100755', Buffer.from(content.executable)];
};

const parseTree = (output: Buffer): readonly TreeEntry[] =>
  output
    .toString()
    .split('\0')
    .filter((line) => line !== '')
    .map((line) => {
      const tab = line.indexOf('\t');
      const [mode = '', type = '', sha = ''] = line.slice(0, tab).split(' ');
      return { mode, type: type as TreeEntry['type'], sha, path: line.slice(tab + 1) };
    });

const parseChanges = (output: Buffer): readonly ChangedFile[] => {
  const fields = output.toString().split('\0');
  const changes: ChangedFile[] = [];
  for (let at = 0; at + 1 < fields.length; ) {
    const [oldMode = '', newMode = '', , , status = ''] = (fields[at] ?? '').slice(1).split(' ');
    const renamed = /^[RC]/u.test(status);
    const oldPath = fields[at + 1] ?? '';
    changes.push({ status: status.slice(0, 1), oldPath, newPath: renamed ? (fields[at + 2] ?? '') : oldPath, oldMode, newMode });
    at += renamed ? 3 : 2;
  }
  return changes;
};
