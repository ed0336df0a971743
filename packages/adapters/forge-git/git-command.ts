import { type ChildProcess, type ChildProcessWithoutNullStreams, spawn } from 'node:child_process';
import { mkdir } from 'node:fs/promises';
import { EphError } from '@eph/contract';
import { type Location, transports } from './location.ts';
import { readLayout } from './repository-layout.ts';

/** The `git` program, isolated from the configuration of the user, the machine and the repository. */
export interface Git {
  /** Returns the output whatever the exit code. Throws if Git could not run, took too long or was aborted. */
  run(args: readonly string[], options: RunOptions): Promise<GitOutput>;
  /** Starts a long-running process. It ends when its standard input does. */
  start(args: readonly string[]): Promise<ChildProcessWithoutNullStreams>;
  /**
   * Arguments for `ls-remote`, `fetch` (`upload-pack`) and `push` (`receive-pack`). For a `file://` URL Git starts the
   * server itself and drops our configuration: it would run the hooks it finds there.
   */
  serverArgs(service: 'upload-pack' | 'receive-pack'): Promise<readonly string[]>;
}

export interface RunOptions {
  readonly signal: AbortSignal;
  readonly input?: string | Uint8Array;
  /** Allows the network. Without it every transport is refused. */
  readonly network?: boolean;
  /** A Git folder whose refs this changes. Its configuration may name hooks for that, which must not run. */
  readonly changesRefsOf?: string;
  readonly timeLimitMs?: number;
  readonly outputTo?: number;
}

export interface GitOutput {
  readonly exitCode: number;
  readonly stdout: Buffer;
  readonly stderr: string;
}

type Settings = readonly (readonly [key: string, value: string])[];

export interface GitOptions {
  readonly home: string;
  readonly location: Location;
  /** The process environment; only `inheritedVariables` are passed on. */
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly lifetime: AbortSignal;
}

const defaultTimeLimitMs = 60_000;
const outputLimitBytes = 64 * 1024 * 1024;
const stderrLimitBytes = 64 * 1024;
/** Between SIGTERM, which lets Git remove its lock files, and SIGKILL. */
const graceMs = 2_000;

const inheritedVariables =
  'PATH TMPDIR SSH_AUTH_SOCK SSL_CERT_FILE SSL_CERT_DIR http_proxy https_proxy HTTPS_PROXY all_proxy ALL_PROXY no_proxy NO_PROXY'.split(
    ' ',
  );

/** Those that our commands could cause. Each may have hooks in the configuration, beside the folder of hooks. */
const hookEvents =
  'reference-transaction pre-receive update proc-receive post-receive post-update push-to-checkout pre-push post-index-change pre-auto-gc'.split(
    ' ',
  );

/** A configuration with more hooks is not taken seriously. */
const maxHooks = 1_000;

/**
 * Passed on every call with the highest precedence, so that the configuration inside a repository cannot name a program
 * to run. This is also why `safe.directory` may allow repositories of other users.
 */
const configuration: Settings = [
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
  // Since Git 2.55 one setting stops all configured hooks of an event; Git 2.54 knows only one for each hook by its name.
  ...hookEvents.map((event) => [`hook.${event}.enabled`, 'false'] as const),
];

export const createGit = ({ home, location, environment, lifetime }: GitOptions): Git => {
  const inherited = Object.fromEntries(inheritedVariables.map((name) => [name, environment[name]]));
  const isolated = { ...inherited, ...fixedEnvironment(home) };
  const localEnvironment = { ...isolated, ...configurationVariables(configuration), GIT_ALLOW_PROTOCOL: 'none' };
  const networkEnvironment = async () => ({
    ...isolated,
    ...configurationVariables([...configuration, ...(await readCredentials(location))]),
    GIT_ALLOW_PROTOCOL: transports.join(':'),
  });

  const run = async (args: readonly string[], options: RunOptions): Promise<GitOutput> => {
    await mkdir(home, { recursive: true, mode: 0o700 });
    const signal = AbortSignal.any([options.signal, lifetime]);
    signal.throwIfAborted();
    const { changesRefsOf: folder } = options;
    const hooks = folder === undefined ? [] : await readHookSettings(folder, signal);
    const configured = configurationVariables([...configuration, ...hooks]);
    const env = options.network === true ? await networkEnvironment() : { ...localEnvironment, ...configured };
    const child = spawn('git', args, {
      cwd: home,
      env,
      // Its own process group: a fetch starts helpers that must end with it, without a terminal for prompts.
      detached: true,
      stdio: [options.input === undefined ? 'ignore' : 'pipe', options.outputTo ?? 'pipe', 'pipe'],
    });
    return await outputOf(child, args, { ...options, signal });
  };

  const start = async (args: readonly string[]): Promise<ChildProcessWithoutNullStreams> => {
    await mkdir(home, { recursive: true, mode: 0o700 });
    return spawn('git', args, { cwd: home, env: localEnvironment, detached: true, stdio: 'pipe' });
  };

  /**
   * Settings that disable the hooks of a repository, by name. A hook that is added in the meantime would run on Git 2.54,
   * but who can do that can write to a repository on this machine.
   */
  const readHookSettings = async (folder: string, signal: AbortSignal): Promise<Settings> => {
    const args = [`--git-dir=${folder}`, 'config', '--null', '--name-only', '--get-regexp', '^hook\\.'];
    const { exitCode, stdout, stderr } = await run(args, { signal });
    if (exitCode > 1) throw new EphError('forge.refused', `The configuration of ${folder} cannot be read: ${stderr.trim()}`);
    const keys = stdout
      .toString('utf8')
      .split('\0')
      .filter((key) => /^hook\..*\./s.test(key));
    const names = new Set(keys.map((key) => key.slice(0, key.lastIndexOf('.'))));
    if (names.size > maxHooks)
      throw new EphError('forge.refused', `The configuration of ${folder} has more than ${maxHooks} hooks.`);
    return [...names].map((name) => [`${name}.enabled`, 'false'] as const);
  };

  const serverArgs = async (service: 'upload-pack' | 'receive-pack'): Promise<readonly string[]> => {
    if (location.kind === 'path' || !/^file:/i.test(location.url)) return [];
    const path = decodeURIComponent(new URL(location.url).pathname);
    const hooks = service === 'receive-pack' ? await readHookSettings((await readLayout(path)).gitFolder, lifetime) : [];
    // As variables: the name of a hook may contain a sign that ends the key of `-c`.
    const variables = Object.entries(configurationVariables([...configuration, ...hooks]));
    return [`--${service}=${variables.map(([name, value]) => `${name}=${quoteForShell(value)}`).join(' ')} git ${service}`];
  };

  return { run, start, serverArgs };
};

/** In the environment, which other users cannot read. Bound to the origin, so that a redirect to another host gets none. */
const readCredentials = async (location: Location): Promise<Settings> => {
  if (location.kind === 'path' || location.authorization === undefined) return [];
  return [[`http.${new URL(location.url).origin}/.extraHeader`, `Authorization: ${await location.authorization()}`]];
};

const outputOf = (child: ChildProcess, args: readonly string[], options: RunOptions): Promise<GitOutput> => {
  const { promise, resolve, reject } = Promise.withResolvers<GitOutput>();
  const { timeLimitMs = defaultTimeLimitMs, signal } = options;
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
    if (stdoutBytes > outputLimitBytes) stop(new EphError('forge.refused', outputLimitMessage(args)));
    else stdout.push(chunk);
  });
  child.stderr?.on('data', (chunk: Buffer) => {
    if (stderr.length < stderrLimitBytes) stderr += chunk.toString('utf8');
  });
  child.stdin?.on('error', () => {
    // Git ended before it read everything; the exit code says why.
  });
  child.stdin?.end(options.input);
  child.once('error', (error) => {
    failed ??= startFailure(error);
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
  // Empty, not absent: otherwise Git would look for another askpass program.
  GIT_ASKPASS: '',
  SSH_ASKPASS_REQUIRE: 'never',
  GIT_SSH_COMMAND: 'ssh -oBatchMode=yes -oConnectTimeout=15 -oServerAliveInterval=15',
  GIT_OPTIONAL_LOCKS: '0',
  GIT_AUTHOR_NAME: 'Eph',
  GIT_AUTHOR_EMAIL: 'eph@localhost',
  GIT_COMMITTER_NAME: 'Eph',
  GIT_COMMITTER_EMAIL: 'eph@localhost',
  // A commit must always mean the same bytes; `refs/replace` would change them.
  GIT_NO_REPLACE_OBJECTS: '1',
  // Otherwise a partial clone would fetch missing objects with its own configuration.
  GIT_NO_LAZY_FETCH: '1',
});

const configurationVariables = (pairs: Settings): Record<string, string> => {
  const numbered = pairs.flatMap(([key, value], index) => [
    [`GIT_CONFIG_KEY_${index}`, key],
    [`GIT_CONFIG_VALUE_${index}`, value],
  ]);
  return Object.fromEntries([['GIT_CONFIG_COUNT', String(pairs.length)], ...numbered]) as Record<string, string>;
};

/** Git passes the server command to a shell. Nothing in it is untrusted, but a path may contain a space. */
const quoteForShell = (word: string): string => `'${word.replaceAll("'", `'\\''`)}'`;

const killGroup = (child: ChildProcess, signal: 'SIGTERM' | 'SIGKILL') => {
  if (child.pid === undefined) return;
  try {
    process.kill(-child.pid, signal);
  } catch {
    // Gone already.
  }
};

export const startFailure = (error: Error): EphError =>
  new EphError('config.invalid', `Git could not be started (${error.message}). Install Git, or add it to PATH.`, {
    cause: error,
  });

const commandName = (args: readonly string[]): string =>
  `git ${args.find((arg) => /^[a-z-]+$/.test(arg) && !arg.startsWith('-')) ?? ''}`;

const timeoutMessage = (args: readonly string[], limitMs: number): string =>
  `"${commandName(args)}" did not finish within ${Math.round(limitMs / 1000)} seconds.`;

const outputLimitMessage = (args: readonly string[]): string =>
  `"${commandName(args)}" printed more than ${outputLimitBytes} bytes.`;
