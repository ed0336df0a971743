import { execFile } from 'node:child_process';
import { mkdir, rename } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';

const execute = promisify(execFile);

/** What a file of a commit may be besides plain text. */
export type FileContent = string | Uint8Array | { readonly link: string };
export type Files = Readonly<Record<string, FileContent>>;

/**
 * A real bare Git repository, isolated from the Git configuration of the developer. Refs move atomically, as with a push: a branch that
 * is overwritten never disappears in between.
 */
export class SampleRepository {
  readonly path: string;
  readonly #home: string;
  #commits = 0;

  private constructor(path: string, home: string) {
    this.path = path;
    this.#home = home;
  }

  static async create(folder: string, name: string): Promise<SampleRepository> {
    const home = join(folder, 'home');
    await mkdir(home, { recursive: true });
    const repository = new SampleRepository(join(folder, `${name}.git`), home);
    await repository.#run(['init', '--quiet', '--bare', '--initial-branch=main', repository.path]);
    return repository;
  }

  /** Moves a branch to a new commit without history that holds exactly these files; returns the commit. */
  push(branch: string, files: Files): Promise<string> {
    return this.pushRef(`refs/heads/${branch}`, files);
  }

  async pushRef(ref: string, files: Files): Promise<string> {
    this.#commits += 1;
    const message = `commit ${this.#commits}`;
    const stream = Buffer.concat([
      Buffer.from(`commit ${ref}\nmark :1\ncommitter Eph <eph@localhost> ${1_700_000_000 + this.#commits} +0000\n`),
      Buffer.from(`data ${message.length}\n${message}\ndeleteall\n`),
      ...Object.entries(files).map(([path, content]) => importFile(path, content)),
      Buffer.from('\nget-mark :1\ndone\n'),
    ]);
    return (await this.git(['fast-import', '--quiet', '--force', '--done'], stream)).trim();
  }

  async delete(...branches: readonly string[]): Promise<void> {
    const commands = branches.map((branch) => `delete refs/heads/${branch}\n`);
    await this.git(['update-ref', '--stdin'], commands.join(''));
  }

  async git(args: readonly string[], input?: string | Uint8Array): Promise<string> {
    return this.#run([`--git-dir=${this.path}`, ...args], input);
  }

  /** Moves it away, as if its disk or server were unavailable. */
  async hide(): Promise<void> {
    await rename(this.path, `${this.path}.hidden`);
  }

  async unhide(): Promise<void> {
    await rename(`${this.path}.hidden`, this.path);
  }

  async #run(args: readonly string[], input: string | Uint8Array = ''): Promise<string> {
    const env = { PATH: process.env['PATH'], HOME: this.#home, GIT_CONFIG_NOSYSTEM: '1', GIT_CONFIG_GLOBAL: '/dev/null' };
    // Tests install hooks to check that ephd does not run them; the test itself must not run them either.
    const running = execute('git', ['-c', 'core.hooksPath=/dev/null', ...args], {
      env,
      cwd: this.#home,
      maxBuffer: 64 * 1024 * 1024,
    });
    // If Git exits early, its exit status carries the error.
    running.child.stdin?.on('error', () => undefined).end(input);
    return (await running).stdout;
  }
}

const importFile = (path: string, content: FileContent): Buffer => {
  const [mode, data] = isLink(content) ? ['120000', content.link] : ['100644', content];
  const bytes = Buffer.from(data as string);
  const quoted = `"${path.replace(/["\\]/g, '\\$&')}"`;
  return Buffer.concat([Buffer.from(`M ${mode} inline ${quoted}\ndata ${bytes.length}\n`), bytes, Buffer.from('\n')]);
};

const isLink = (content: FileContent): content is { readonly link: string } => typeof content === 'object' && 'link' in content;
