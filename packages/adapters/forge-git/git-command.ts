import { type ChildProcess, type ChildProcessWithoutNullStreams, spawn } from 'node:child_process';
import { mkdir } from 'node:fs/promises';
import { EphError } from '@eph/contract';
import { type Location, transports } from './location.ts';

/** The `git` program, in an environment where nothing of the user, the machine or the repository has a say. */
export interface Git {
  /** Runs to the end and returns what Git said, whatever the exit code. Throws when it could not run, took too long or was aborted. */
  run(args: readonly string[], options: RunOptions): Promise<GitOutput>;
  /** Starts a process that stays and is spoken to. It ends by itself when its standard input does. */
  start(args: readonly string[]): Promise<ChildProcessWithoutNullStreams>;
  /**
   * What `ls-remote`, `fetch` (`upload-pack`) and `push` (`receive-pack`) must be given. Behind a `file://` address Git starts the
   * server itself, on this machine, and drops our configuration on the way: it would run the hooks it finds there.
   */
  serverArgs(service: 'upload-pack' | 'receive-pack'): readonly string[];
}

export interface RunOptions {
  readonly signal: AbortSignal;
  readonly input?: string | Uint8Array;
  /** May talk to the project's location. Everything else runs with every transport refused. */
  readonly network?: boolean;
  readonly timeLimitMs?: number;
  readonly outputLimitBytes?: number;
  /** An open file that takes standard output instead. */
  readonly outputTo?: number;
}

export interface GitOutput {
  readonly exitCode: number;
  readonly stdout: Buffer;
  readonly stderr: string;
}

export interface GitOptions {
  readonly binary: string;
  /** An empty home for Git; made when needed. */
  readonly home: string;
  readonly location: Location;
  /** Variables of the surroundings that Git may need; only those in `passed` reach it. */
  readonly environment: Readonly<Record<string, string | undefined>>;
  /** Aborted when the forge is closed; ends whatever still runs. */
  readonly lifetime: AbortSignal;
}

const defaultTimeLimitMs = 60_000;
const defaultOutputLimitBytes = 64 * 1024 * 1024;
const stderrLimitBytes = 64 * 1024;
/** Between asking Git to stop, which lets it remove its lock files, and ending it. */
const graceMs = 2_000;

const inheritedVariables =
  'PATH TMPDIR SSH_AUTH_SOCK SSL_CERT_FILE SSL_CERT_DIR http_proxy https_proxy HTTPS_PROXY all_proxy ALL_PROXY no_proxy NO_PROXY'.split(
    ' ',
  );

/**
 * Given on every call with the highest precedence, so that the configuration inside a repository cannot name a program to run.
 * `safe.directory`: a repository owned by someone else is safe to read exactly because of the other lines.
 */
const configuration: readonly (readonly [string, string])[] = [
  ['safe.directory', '*'],
  ['core.hooksPath', '/dev/null'],
  ['core.fsmonitor', 'false'],
  ['core.alternateRefsCommand', 'true'],
  ['commit.gpgSign', 'false'],
  ['credential.helper', ''],
  ['fetch.recurseSubmodules', 'false'],
  ['gc.auto', '0'],
  ['maintenance.auto', 'false'],
  ['http.lowSpeedLimit', '1000'],
  ['http.lowSpeedTime', '30'],
  ['protocol.version', '2'],
];

export const createGit = ({ binary, home, location, environment, lifetime }: GitOptions): Git => {
  const credentials = location.kind === 'url' ? location.credentials : [];
  const inherited = Object.fromEntries(inheritedVariables.map((name) => [name, environment[name]]));
  const isolated = { ...inherited, ...fixedEnvironment(home) };
  const localEnvironment = { ...isolated, ...configurationVariables(configuration), GIT_ALLOW_PROTOCOL: 'none' };
  const networkEnvironment = {
    ...isolated,
    ...configurationVariables([...configuration, ...credentials]),
    GIT_ALLOW_PROTOCOL: transports.join(':'),
  };

  const run = async (args: readonly string[], options: RunOptions): Promise<GitOutput> => {
    await mkdir(home, { recursive: true });
    const signal = AbortSignal.any([options.signal, lifetime]);
    signal.throwIfAborted();
    const child = spawn(binary, args, {
      cwd: home,
      env: options.network === true ? networkEnvironment : localEnvironment,
      // A group of its own: fetching starts helpers that must end together, and none of them has a terminal to ask on.
      detached: true,
      stdio: [options.input === undefined ? 'ignore' : 'pipe', options.outputTo ?? 'pipe', 'pipe'],
    });
    return await outputOf(child, args, { ...options, signal }, binary);
  };

  const start = async (args: readonly string[]): Promise<ChildProcessWithoutNullStreams> => {
    await mkdir(home, { recursive: true });
    return spawn(binary, args, { cwd: home, env: localEnvironment, detached: true, stdio: 'pipe' });
  };

  const serverArgs = (service: 'upload-pack' | 'receive-pack'): readonly string[] => {
    if (location.kind === 'path' || !/^file:/i.test(location.url)) return [];
    const settings = configuration.flatMap(([key, value]) => ['-c', `${key}=${value}`]);
    return [`--${service}=${[binary, ...settings, service].map(quoteForShell).join(' ')}`];
  };

  return { run, start, serverArgs };
};

const outputOf = (child: ChildProcess, args: readonly string[], options: RunOptions, binary: string): Promise<GitOutput> => {
  const { promise, resolve, reject } = Promise.withResolvers<GitOutput>();
  const { timeLimitMs = defaultTimeLimitMs, outputLimitBytes = defaultOutputLimitBytes, signal } = options;
  const stdout: Buffer[] = [];
  let stdoutBytes = 0;
  let stderr = '';
  let failed: Error | undefined;
  let killTimer: NodeJS.Timeout | undefined;

  const stop = (reason: Error) => {
    if (failed !== undefined) return;
    failed = reason;
    killGroup(child, 'SIGTERM');
    killTimer = setTimeout(() => killGroup(child, 'SIGKILL'), graceMs);
  };
  const onAbort = () => stop(signal.reason instanceof Error ? signal.reason : new Error('aborted', { cause: signal.reason }));
  const timer = setTimeout(() => stop(new EphError('forge.unreachable', timeoutMessage(args, timeLimitMs))), timeLimitMs);
  signal.addEventListener('abort', onAbort, { once: true });

  child.stdout?.on('data', (chunk: Buffer) => {
    stdoutBytes += chunk.length;
    if (stdoutBytes > outputLimitBytes) stop(new EphError('forge.refused', outputLimitMessage(args, outputLimitBytes)));
    else stdout.push(chunk);
  });
  child.stderr?.on('data', (chunk: Buffer) => {
    if (stderr.length < stderrLimitBytes) stderr += chunk.toString('utf8');
  });
  child.stdin?.on('error', () => {
    // Git ended before it had read everything; its exit code says why.
  });
  child.stdin?.end(options.input);
  child.once('error', (error) => {
    failed ??= startFailure(binary, error);
  });
  child.once('close', (exitCode) => {
    clearTimeout(timer);
    clearTimeout(killTimer);
    signal.removeEventListener('abort', onAbort);
    if (failed === undefined) resolve({ exitCode: exitCode ?? -1, stdout: Buffer.concat(stdout), stderr });
    else reject(failed);
  });
  return promise;
};

const fixedEnvironment = (home: string): Record<string, string> => ({
  HOME: home,
  XDG_CONFIG_HOME: home,
  LC_ALL: 'C',
  GIT_CONFIG_NOSYSTEM: '1',
  GIT_CONFIG_SYSTEM: '/dev/null',
  GIT_CONFIG_GLOBAL: '/dev/null',
  GIT_ATTR_NOSYSTEM: '1',
  GIT_TERMINAL_PROMPT: '0',
  // Empty, not absent: otherwise Git would look for another program to ask with.
  GIT_ASKPASS: '',
  SSH_ASKPASS_REQUIRE: 'never',
  GIT_SSH_COMMAND: 'ssh -oBatchMode=yes -oConnectTimeout=15 -oServerAliveInterval=15',
  GIT_OPTIONAL_LOCKS: '0',
  GIT_AUTHOR_NAME: 'Eph',
  GIT_AUTHOR_EMAIL: 'eph@localhost',
  GIT_COMMITTER_NAME: 'Eph',
  GIT_COMMITTER_EMAIL: 'eph@localhost',
  // A commit must mean the same bytes for ever; `refs/replace` would change them.
  GIT_NO_REPLACE_OBJECTS: '1',
  // A partial clone would otherwise fetch what is missing with the commands of its own configuration.
  GIT_NO_LAZY_FETCH: '1',
});

const configurationVariables = (pairs: readonly (readonly [string, string])[]): Record<string, string> => {
  const numbered = pairs.flatMap(([key, value], index) => [
    [`GIT_CONFIG_KEY_${index}`, key],
    [`GIT_CONFIG_VALUE_${index}`, value],
  ]);
  return Object.fromEntries([['GIT_CONFIG_COUNT', String(pairs.length)], ...numbered]) as Record<string, string>;
};

/** Git hands the command of a server to a shell. Nothing in it comes from strangers, but a path may hold a space. */
const quoteForShell = (word: string): string => `'${word.replaceAll("'", `'\\''`)}'`;

const killGroup = (child: ChildProcess, signal: 'SIGTERM' | 'SIGKILL') => {
  if (child.pid === undefined) return;
  try {
    process.kill(-child.pid, signal);
  } catch {
    // Gone already.
  }
};

const startFailure = (binary: string, error: Error): EphError =>
  new EphError('config.invalid', `Git could not be started as "${binary}" (${error.message}). Install Git or name its path.`, {
    cause: error,
  });

/** The word after the options, for instance `fetch`. */
const commandName = (args: readonly string[]): string =>
  `git ${args.find((arg) => /^[a-z-]+$/.test(arg) && !arg.startsWith('-')) ?? ''}`;

const timeoutMessage = (args: readonly string[], limitMs: number): string =>
  `"${commandName(args)}" did not finish within ${Math.round(limitMs / 1000)} seconds.`;

const outputLimitMessage = (args: readonly string[], limitBytes: number): string =>
  `"${commandName(args)}" answered with more than ${limitBytes} bytes.`;
