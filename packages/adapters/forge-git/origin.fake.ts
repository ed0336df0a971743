import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, rename, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { type CommitSha, commitSha, type SourceRef } from '@eph/contract';
import { fullName } from './refs.ts';

const execute = promisify(execFile);

/** A file of a commit. */
export type FileContent =
  | string
  | Uint8Array
  | { readonly link: string }
  | { readonly executable: string }
  | { readonly submodule: string };

export interface OriginOptions {
  readonly bare?: boolean;
  readonly format?: 'sha1' | 'sha256';
}

/** A real Git repository for a test, isolated from the developer's configuration. */
export class Origin implements AsyncDisposable {
  /** Holds the repository and other files of the test. */
  readonly folder: string;
  readonly path: string;
  readonly #options: OriginOptions;
  #commits = 0;

  private constructor(folder: string, options: OriginOptions) {
    this.folder = folder;
    this.path = join(folder, 'origin');
    this.#options = options;
  }

  static async create(options: OriginOptions = {}): Promise<Origin> {
    const origin = new Origin(await mkdtemp(join(tmpdir(), 'eph-forge-git-')), options);
    await mkdir(join(origin.folder, 'home'));
    await origin.init();
    return origin;
  }

  async init(): Promise<void> {
    const { bare = true, format = 'sha1' } = this.#options;
    const kind = bare ? ['--bare'] : [];
    await this.#run(['init', '--quiet', ...kind, '--initial-branch=main', `--object-format=${format}`, this.path]);
  }

  get gitFolder(): string {
    return this.#options.bare === false ? join(this.path, '.git') : this.path;
  }

  async git(...args: readonly string[]): Promise<string> {
    return (await this.#run([`--git-dir=${this.gitFolder}`, ...args])).trimEnd();
  }

  async gitWith(input: string | Uint8Array, ...args: readonly string[]): Promise<string> {
    return (await this.#run([`--git-dir=${this.gitFolder}`, ...args], input)).trimEnd();
  }

  /** A new commit without history that holds exactly these files; moves the ref to it. */
  async push(ref: SourceRef, files: { readonly [path: string]: FileContent }): Promise<CommitSha> {
    this.#commits += 1;
    const message = `commit ${this.#commits}`;
    const stream = [
      Buffer.from(`commit ${fullName(ref)}\ncommitter T <t@localhost> ${1_700_000_000 + this.#commits} +0000\n`),
      Buffer.from(`data ${message.length}\n${message}\ndeleteall\n`),
      ...Object.entries(files).flatMap(([path, content]) => importLines(path, content)),
      Buffer.from('\ndone\n'),
    ];
    // An existing branch would become the parent; every push is to be a force-push.
    await this.git('update-ref', '-d', fullName(ref));
    await this.gitWith(Buffer.concat(stream), 'fast-import', '--quiet', '--force', '--done');
    return commitSha(await this.git('rev-parse', '--verify', '--end-of-options', fullName(ref)));
  }

  async annotate(tag: string, target: string): Promise<void> {
    const object = await this.git('rev-parse', '--verify', target);
    const text = `object ${object}\ntype ${await this.git('cat-file', '-t', object)}\ntag ${tag}\ntagger T <t@localhost> 1700000000 +0000\n\nnote\n`;
    await this.git('update-ref', `refs/tags/${tag}`, await this.gitWith(text, 'hash-object', '-t', 'tag', '-w', '--stdin'));
  }

  async delete(ref: SourceRef): Promise<void> {
    await this.git('update-ref', '-d', fullName(ref));
  }

  /** As `ForgeHarness.writeNotes`. */
  async writeNotes(name: string, texts: ReadonlyMap<CommitSha, string>, fanOut = 0): Promise<void> {
    const stream = [
      Buffer.from(`commit refs/notes/${name}\ncommitter T <t@localhost> 1700000000 +0000\ndata 5\nnotes\ndeleteall\n`),
      ...[...texts].flatMap(([commit, text]) => importLines(notePath(commit, fanOut), text)),
      Buffer.from('done\n'),
    ];
    await this.gitWith(Buffer.concat(stream), 'fast-import', '--quiet', '--force', '--done');
  }

  async deleteNotes(name: string): Promise<void> {
    await this.git('update-ref', '-d', `refs/notes/${name}`);
  }

  /** A commit of a tree that Git itself would not write, from raw `mode name\0id` entries. */
  async commitRawTree(entries: readonly (readonly [mode: string, name: string, id: string])[]): Promise<CommitSha> {
    const tree = Buffer.concat(
      entries.map(([mode, name, id]) => Buffer.concat([Buffer.from(`${mode} ${name}\0`, 'latin1'), Buffer.from(id, 'hex')])),
    );
    const id = await this.gitWith(tree, 'hash-object', '-t', 'tree', '-w', '--stdin', '--literally');
    return commitSha(await this.git('commit-tree', '-m', 'raw', id));
  }

  async blob(content: string): Promise<string> {
    return await this.gitWith(content, 'hash-object', '-w', '--stdin');
  }

  /** As if the disk or the server was gone. */
  async hide(): Promise<void> {
    await rename(this.path, `${this.path}.hidden`);
  }

  async unhide(): Promise<void> {
    await rename(`${this.path}.hidden`, this.path);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await rm(this.folder, { recursive: true, force: true });
  }

  async #run(args: readonly string[], input?: string | Uint8Array): Promise<string> {
    const home = join(this.folder, 'home');
    const running = execute('git', args, { env: isolatedEnvironment(home), cwd: home, maxBuffer: 256 * 1024 * 1024 });
    if (input !== undefined) running.child.stdin?.end(input);
    return (await running).stdout;
  }
}

/** The path of the note on a commit, below so many folders. */
export const notePath = (commit: CommitSha, fanOut: number): string =>
  commit.replace(new RegExp(`^((?:..){0,${fanOut}})`), (digits) => digits.replace(/../g, '$&/'));

const isolatedEnvironment = (home: string): Record<string, string | undefined> => ({
  PATH: process.env.PATH,
  HOME: home,
  GIT_CONFIG_NOSYSTEM: '1',
  GIT_CONFIG_GLOBAL: '/dev/null',
  GIT_AUTHOR_NAME: 'T',
  GIT_AUTHOR_EMAIL: 't@localhost',
  GIT_COMMITTER_NAME: 'T',
  GIT_COMMITTER_EMAIL: 't@localhost',
});

const importLines = (path: string, content: FileContent): readonly Buffer[] => {
  const quoted = `"${path.replace(/["\\]/g, '\\$&').replaceAll('\n', '\\n')}"`;
  if (typeof content === 'object' && 'submodule' in content) return [Buffer.from(`M 160000 ${content.submodule} ${quoted}\n`)];
  const [mode, data] = fileMode(content);
  return [Buffer.from(`M ${mode} inline ${quoted}\ndata ${data.length}\n`), data, Buffer.from('\n')];
};

const fileMode = (content: Exclude<FileContent, { readonly submodule: string }>): readonly [mode: string, data: Buffer] => {
  if (typeof content === 'string' || content instanceof Uint8Array) return ['100644', Buffer.from(content as string)];
  if ('link' in content) return ['120000', Buffer.from(content.link)];
  return ['100755', Buffer.from(content.executable)];
};
