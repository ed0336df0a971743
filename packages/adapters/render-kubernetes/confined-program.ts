import { spawn, spawnSync } from 'node:child_process';
import { constants, existsSync } from 'node:fs';
import { access, realpath, stat } from 'node:fs/promises';
import { delimiter, isAbsolute, join } from 'node:path';
import { EphError } from '@eph/contract';

/** A program of this machine that renders what strangers wrote. */
export interface Program {
  /** Its real path. */
  readonly path: string;
  /** Another one when the program was replaced. */
  readonly mark: string;
}

export const findProgram = async (name: string, searchPath: string): Promise<Program | undefined> => {
  for (const folder of searchPath.split(delimiter).filter(isAbsolute)) {
    const path = await realpath(join(folder, name)).catch(() => undefined);
    if (path === undefined) continue;
    const executable = await access(path, constants.X_OK).then(
      () => true,
      () => false,
    );
    const { size, mtimeMs } = await stat(path);
    if (executable) return { path, mark: `${path} ${size} ${mtimeMs}` };
  }
  return undefined;
};

export interface ProgramLimits {
  readonly timeoutMs: number;
  readonly outputBytes: number;
  readonly memoryBytes: number;
}

export const programLimits: ProgramLimits = { timeoutMs: 30_000, outputBytes: 16 * 1024 ** 2, memoryBytes: 2 * 1024 ** 3 };

/** What keeps a program from the network, and where possible from the files of the machine: words before its own. */
export type Confinement =
  | { readonly kind: 'bubblewrap' | 'namespaces'; readonly path: string; readonly options: readonly string[] }
  | { readonly kind: 'none' };

/** The best that works here. */
export const findConfinement = (searchPath: string): Confinement => {
  const find = (name: string): string | undefined =>
    searchPath
      .split(delimiter)
      .filter(isAbsolute)
      .map((folder) => join(folder, name))
      .find((path) => existsSync(path));
  const works = (path: string | undefined, options: readonly string[]): path is string =>
    path !== undefined && spawnSync(path, [...options, '/bin/true'], { env: {}, stdio: 'ignore', timeout: 10_000 }).status === 0;
  const [bubblewrap, unshare] = [find('bwrap'), find('unshare')];
  if (works(bubblewrap, bubblewrapOptions)) return { kind: 'bubblewrap', path: bubblewrap, options: bubblewrapOptions };
  for (const options of [['--net'], ['--user', '--map-current-user', '--net']])
    if (works(unshare, options)) return { kind: 'namespaces', path: unshare, options };
  return { kind: 'none' };
};

const systemFolders = ['/usr', '/bin', '/lib', '/lib64'];

/** No network, no files of others, and an end with ephd. */
const bubblewrapOptions = [
  '--unshare-all',
  '--die-with-parent',
  '--new-session',
  ...systemFolders.flatMap((path) => ['--ro-bind-try', path, path]),
  '--proc',
  '/proc',
  '--dev',
  '/dev',
  '--tmpfs',
  '/tmp',
];

export interface Run {
  readonly program: Program;
  /** Paths in them are relative to the folder. */
  readonly args: readonly string[];
  /** All that it sees of the machine, besides programs. It holds an empty folder `home`. */
  readonly folder: string;
  readonly confinement: Confinement;
  readonly limits: ProgramLimits;
}

export type RunResult =
  | { readonly state: 'done'; readonly output: string }
  | { readonly state: 'failed'; readonly message: string };

/** Limits of a process come from its shell; what it runs and reads are arguments. */
const shell = 'ulimit -v "$1" 2>/dev/null; ulimit -c 0; shift; exec "$@"';

/**
 * Runs a program on what strangers wrote. With or without a sandbox it finds no other program, its proxies lead nowhere, and its home
 * is empty. Throws where it took too long.
 */
export const runConfined = async (
  { program, args, folder, confinement, limits }: Run,
  signal: AbortSignal,
): Promise<RunResult> => {
  const home = confinement.kind === 'bubblewrap' ? '/tmp' : join(folder, 'home');
  const words = [...wordsBefore(confinement, program, folder), program.path, ...args];
  const child = spawn('/bin/sh', ['-c', shell, 'sh', String(Math.floor(limits.memoryBytes / 1024)), ...words], {
    cwd: folder,
    env: environmentIn(home, limits),
    stdio: ['ignore', 'pipe', 'pipe'],
    // A group of its own, so that all of it can be ended.
    detached: true,
  });
  let ended: 'late' | 'long' | undefined;
  const end = (): void => {
    if (child.pid === undefined) return;
    try {
      process.kill(-child.pid, 'SIGKILL');
    } catch {
      // It has ended by itself.
    }
  };
  const timer = setTimeout(() => {
    ended = 'late';
    end();
  }, limits.timeoutMs);
  signal.addEventListener('abort', end);
  const output: Buffer[] = [];
  const errors: Buffer[] = [];
  let outputBytes = 0;
  let errorBytes = 0;
  child.stdout.on('data', (chunk: Buffer) => {
    outputBytes += chunk.length;
    if (outputBytes <= limits.outputBytes) return void output.push(chunk);
    ended = 'long';
    end();
  });
  child.stderr.on('data', (chunk: Buffer) => {
    errorBytes += chunk.length;
    if (errorBytes <= keptErrorBytes) errors.push(chunk);
  });
  try {
    const code = await new Promise<number | null>((resolve, reject) => {
      child.once('error', reject);
      child.once('close', resolve);
    });
    signal.throwIfAborted();
    if (ended === 'late') throw new EphError('spec.unreadable', `rendering took longer than ${limits.timeoutMs / 1000} seconds`);
    if (ended === 'long') return { state: 'failed', message: `it gives more than ${limits.outputBytes / 1024 ** 2} MiB` };
    if (code === 0) return { state: 'done', output: Buffer.concat(output).toString('utf8') };
    return { state: 'failed', message: describeErrors(Buffer.concat(errors).toString('utf8'), folder) };
  } finally {
    clearTimeout(timer);
    signal.removeEventListener('abort', end);
    end();
  }
};

const wordsBefore = (confinement: Confinement, { path }: Program, folder: string): readonly string[] => {
  if (confinement.kind === 'none') return [];
  const visible = [path, folder].flatMap((one) => ['--ro-bind', one, one]);
  return [
    confinement.path,
    ...confinement.options,
    ...(confinement.kind === 'bubblewrap' ? [...visible, '--chdir', folder] : ['--']),
  ];
};

const keptErrorBytes = 64 * 1024;

const environmentIn = (home: string, { memoryBytes }: ProgramLimits): Record<string, string> => {
  // Nothing listens on port 1.
  const nowhere = 'http://127.0.0.1:1';
  return {
    HOME: home,
    TMPDIR: home,
    PATH: '',
    KUBECONFIG: '/dev/null',
    LANG: 'C.UTF-8',
    GOMEMLIMIT: String(Math.floor(memoryBytes / 2)),
    ...Object.fromEntries(
      ['HTTP_PROXY', 'HTTPS_PROXY', 'ALL_PROXY', 'http_proxy', 'https_proxy', 'all_proxy'].map((name) => [name, nowhere]),
    ),
    ...Object.fromEntries(
      ['CONFIG', 'CACHE', 'DATA'].flatMap((kind) => [
        [`HELM_${kind}_HOME`, join(home, 'helm', kind.toLowerCase())],
        [`XDG_${kind}_HOME`, join(home, 'xdg', kind.toLowerCase())],
      ]),
    ),
    HELM_PLUGINS: join(home, 'helm', 'plugins'),
  };
};

/** The last words, without paths of this machine. A crash for want of memory is not worth its stack. */
const describeErrors = (text: string, folder: string): string => {
  if (/out of memory|cannot allocate memory|fatal error: runtime/i.test(text)) return 'it needs more memory than it may have';
  const lines = text.replaceAll(`${folder}/`, '').replaceAll('tree/', '').split('\n');
  const words = lines
    .map((line) => line.trim())
    .filter((line) => line !== '' && !/^(WARNING|walk\.go|coalesce\.go|#)/.test(line));
  return words.slice(-3).join(' ').slice(0, 1000) || 'it failed and does not say why';
};
