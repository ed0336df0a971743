import { type ChildProcessWithoutNullStreams, execFile, spawn } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { deflateSync } from 'node:zlib';
import type { GitObject } from './git-objects.ts';

export interface StoredObject {
  readonly sha: string;
  readonly kind: string;
  readonly content: Buffer;
}

interface Waiting {
  readonly resolve: (object: StoredObject | undefined) => void;
  readonly reject: (error: Error) => void;
}

const outputLimitBytes = 256 * 1024 * 1024;

/**
 * One Git object database for all repositories of an emulator; each repository is a bare repository that borrows from it. What
 * is asked for is written first, and read back by Git itself.
 */
export class GitStore {
  #folder: string | undefined;
  #reader: ChildProcessWithoutNullStreams | undefined;
  #received = Buffer.alloc(0);
  readonly #waiting: Waiting[] = [];
  /** What was written last, by folder. */
  readonly #packed = new Map<string, string>();

  /** A bare repository that holds every object and no refs. */
  get folder(): string {
    this.#folder ??= createFolder();
    return join(this.#folder, 'objects.git');
  }

  /** A bare repository with these refs, for real Git to clone from. */
  writeRepository(name: string, head: string, refs: ReadonlyMap<string, string>): string {
    const folder = join(this.folder, '..', `${name}.git`);
    if (!existsSync(folder)) {
      writeLayout(folder);
      mkdirSync(join(folder, 'objects', 'info'));
      writeFileSync(join(folder, 'objects', 'info', 'alternates'), `${join(this.folder, 'objects')}\n`);
    }
    const lines = [...refs].map(([ref, sha]) => `${sha} ${ref}\n`).toSorted(byRef);
    const packed = `# pack-refs with: sorted\n${lines.join('')}`;
    if (this.#packed.get(folder) === head + packed) return folder;
    this.#packed.set(folder, head + packed);
    // Another process may be reading it.
    writeFileSync(join(folder, 'packed-refs.new'), packed);
    renameSync(join(folder, 'packed-refs.new'), join(folder, 'packed-refs'));
    writeFileSync(join(folder, 'HEAD'), `ref: refs/heads/${head}\n`);
    return folder;
  }

  write({ sha, kind, content }: GitObject): void {
    const folder = join(this.folder, 'objects', sha.slice(0, 2));
    const file = join(folder, sha.slice(2));
    if (existsSync(file)) return;
    mkdirSync(folder, { recursive: true });
    writeFileSync(file, deflateSync(Buffer.concat([Buffer.from(`${kind} ${content.length}\0`), content]), { level: 1 }));
  }

  /** Through one `git cat-file` for all, which answers in the order it was asked. */
  read(name: string): Promise<StoredObject | undefined> {
    this.#reader ??= this.#startReader();
    const { promise, resolve, reject } = Promise.withResolvers<StoredObject | undefined>();
    this.#waiting.push({ resolve, reject });
    this.#reader.stdin.write(`${name}\n`);
    return promise;
  }

  run(args: readonly string[]): Promise<Buffer> {
    const options = { cwd: this.folder, env: gitEnvironment(), encoding: 'buffer', maxBuffer: outputLimitBytes } as const;
    return new Promise((resolve, reject) => {
      execFile('git', [...args], options, (error, stdout, stderr) => {
        if (error === null) resolve(stdout);
        else reject(new Error(`git ${args.join(' ')}: ${stderr.toString().trim() || error.message}`));
      });
    });
  }

  close(): void {
    this.#reader?.kill();
    if (this.#folder !== undefined) rmSync(this.#folder, { recursive: true, force: true });
    this.#folder = undefined;
  }

  #startReader(): ChildProcessWithoutNullStreams {
    const reader = spawn('git', ['cat-file', '--batch'], { cwd: this.folder, env: gitEnvironment() });
    reader.stdout.on('data', (chunk: Buffer) => {
      this.#received = Buffer.concat([this.#received, chunk]);
      this.#takeAnswers();
    });
    // Nobody awaits a request that `close` interrupts.
    reader.stdin.on('error', () => undefined);
    reader.once('error', (error) => this.#failAll(error));
    reader.once('close', () => {
      this.#reader = undefined;
      this.#failAll(new Error('git cat-file ended.'));
    });
    return reader;
  }

  #takeAnswers(): void {
    for (;;) {
      const end = this.#received.indexOf(0x0a);
      if (end === -1) return;
      const [sha = '', kind = '', size] = this.#received.subarray(0, end).toString().split(' ');
      const found = size !== undefined;
      const total = found ? end + 1 + Number(size) + 1 : end + 1;
      if (this.#received.length < total) return;
      const content = found ? Buffer.from(this.#received.subarray(end + 1, total - 1)) : Buffer.alloc(0);
      this.#received = this.#received.subarray(total);
      this.#waiting.shift()?.resolve(found ? { sha, kind, content } : undefined);
    }
  }

  #failAll(error: Error): void {
    for (const { reject } of this.#waiting.splice(0)) reject(error);
  }
}

/** Lines of `<sha> <ref>`, by the bytes of the ref as Git sorts them. */
const byRef = (a: string, b: string): number => Buffer.compare(Buffer.from(a.slice(41)), Buffer.from(b.slice(41)));

const createFolder = (): string => {
  const folder = mkdtempSync(join(tmpdir(), 'eph-github-'));
  writeLayout(join(folder, 'objects.git'));
  return folder;
};

/** The minimum that Git accepts as a bare repository, written without a process. */
const writeLayout = (folder: string): void => {
  mkdirSync(join(folder, 'objects'), { recursive: true });
  mkdirSync(join(folder, 'refs'));
  writeFileSync(join(folder, 'HEAD'), 'ref: refs/heads/main\n');
  writeFileSync(join(folder, 'config'), '[core]\n\trepositoryformatversion = 0\n\tbare = true\n');
};

/** Ignores the Git configuration of the machine. */
const gitEnvironment = (): NodeJS.ProcessEnv => ({
  PATH: process.env['PATH'],
  LC_ALL: 'C',
  GIT_CONFIG_NOSYSTEM: '1',
  GIT_CONFIG_GLOBAL: '/dev/null',
});
