import { type ChildProcess, spawn } from 'node:child_process';
import { chownSync, existsSync, mkdtempSync, readFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';

const setpriv = '/usr/bin/setpriv';
const readyWithinMs = 60_000;
const stopWithinMs = 20_000;
const linesKept = 40;
const askEveryMs = 25;
const portTries = 5;

export interface CommandSpec {
  readonly command: string;
  readonly args: readonly string[];
  readonly folder: string;
  readonly env?: Readonly<Record<string, string>>;
  /** Runs as the current user, for a program that only this user can read. */
  readonly asOurselves?: boolean;
}

export interface ProcessSpec extends CommandSpec {
  /** Matches the line of its output that means it is ready. */
  readonly ready: RegExp;
  /** For a program that prints the line too early: polled until true. It must detect another server on the same port. */
  readonly answers?: () => Promise<boolean>;
  /** The signal for a fast, clean shutdown. */
  readonly stopSignal: NodeJS.Signals;
}

/** A folder that is writable for the process of a part. */
export const createPartFolder = (name: string): string => {
  const folder = mkdtempSync(join(tmpdir(), `eph-${name}-`));
  const user = unprivilegedUser();
  if (user) chownSync(folder, user.uid, user.gid);
  return folder;
};

/** Starts a process, and resolves when it is ready. */
export const startPartProcess = async (spec: ProcessSpec): Promise<PartProcess> => {
  const running = new PartProcess(spec);
  try {
    await running.ready();
    return running;
  } catch (error) {
    await running.stop();
    throw error;
  }
};

/** Runs a command of a part and waits for it. */
export const runPartCommand = (spec: CommandSpec): Promise<void> =>
  new Promise((resolve, reject) => {
    const child = spawnBound(spec, 'SIGKILL');
    const lines = keepLines(child);
    child.once('error', reject);
    child.once('close', (code, signal) => {
      if (code === 0) resolve();
      else reject(new Error(`${spec.command} ended with ${code ?? signal}:\n${lines.join('\n')}`));
    });
  });

/** Another process may take a free port before it is used; then the next one is tried. */
export const startOnFreePort = async <T>(start: (port: number) => Promise<T>): Promise<T> => {
  for (let attempt = 1; ; attempt += 1) {
    const port = await findFreePort();
    try {
      return await start(port);
    } catch (error) {
      const taken = error instanceof Error && /address already in use/i.test(error.message);
      if (!taken || attempt === portTries) throw error;
    }
  }
};

export class PartProcess {
  readonly #spec: ProcessSpec;
  readonly #child: ChildProcess;
  readonly #lines: readonly string[];
  readonly #ended: Promise<string>;
  readonly #ready: Promise<void>;

  constructor(spec: ProcessSpec) {
    this.#spec = spec;
    this.#child = spawnBound(spec, spec.stopSignal);
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#ready = promise;
    this.#lines = keepLines(this.#child, (line) => {
      if (spec.ready.test(line)) resolve();
    });
    this.#ended = new Promise((end) => {
      this.#child.once('error', (error) => end(error.message));
      this.#child.once('close', (code, signal) => end(`it ended with ${code ?? signal}`));
    });
  }

  async ready(): Promise<void> {
    const outcome = await Promise.race([
      this.#ready.then(() => this.#answers()),
      this.#ended,
      after(readyWithinMs, `it was not ready within ${readyWithinMs} ms`),
    ]);
    if (typeof outcome === 'string')
      throw new Error(`${this.#spec.command} did not start: ${outcome}\n${this.#lines.join('\n')}`);
  }

  async #answers(): Promise<string | undefined> {
    const { answers } = this.#spec;
    while (answers !== undefined && !(await answers())) {
      if (this.#child.exitCode !== null || this.#child.signalCode !== null) return this.#ended;
      await after(askEveryMs, undefined);
    }
    return undefined;
  }

  async stop(): Promise<void> {
    this.#child.kill(this.#spec.stopSignal);
    const outcome = await Promise.race([this.#ended, after(stopWithinMs, 'late')]);
    if (outcome !== 'late' || this.#child.pid === undefined) return;
    process.kill(-this.#child.pid, 'SIGKILL');
    await this.#ended;
  }
}

/**
 * In its own process group, as an unprivileged user even if this process is root (PostgreSQL requires that), and ended by the kernel if
 * this process is killed.
 */
const spawnBound = (spec: CommandSpec, signalIfWeDie: NodeJS.Signals): ChildProcess => {
  const user = spec.asOurselves === true ? undefined : unprivilegedUser();
  const asUser = user ? ['--reuid', String(user.uid), '--regid', String(user.gid), '--clear-groups'] : [];
  const prefix = existsSync(setpriv) ? [setpriv, ...asUser, '--pdeathsig', signalIfWeDie.replace('SIG', '')] : [];
  const [program = spec.command, ...rest] = [...prefix, spec.command, ...spec.args];
  return spawn(program, rest, {
    cwd: spec.folder,
    env: { PATH: process.env['PATH'], HOME: spec.folder, LC_ALL: 'C', ...spec.env },
    stdio: ['ignore', 'pipe', 'pipe'],
    detached: true,
  });
};

const unprivilegedUser = (): { readonly uid: number; readonly gid: number } | undefined => {
  if (process.getuid?.() !== 0) return undefined;
  const users = readFileSync('/etc/passwd', 'utf8')
    .split('\n')
    .map((line) => line.split(':'));
  const [, , uid, gid] = users.find(([name]) => name === 'postgres') ?? users.find(([name]) => name === 'nobody') ?? [];
  if (uid === undefined || gid === undefined)
    throw new Error('parts do not run as root, and there is neither a user postgres nor nobody');
  return { uid: Number(uid), gid: Number(gid) };
};

const keepLines = (child: ChildProcess, seen: (line: string) => void = () => undefined): string[] => {
  const lines: string[] = [];
  for (const stream of [child.stdout, child.stderr]) {
    if (stream === null) continue;
    createInterface({ input: stream }).on('line', (line) => {
      lines.push(line);
      if (lines.length > linesKept) lines.shift();
      seen(line);
    });
  }
  return lines;
};

const findFreePort = (): Promise<number> =>
  new Promise((resolve, reject) => {
    const server = createServer();
    server.once('error', reject);
    server.listen(0, '127.0.0.1', () => {
      const address = server.address();
      server.close(() => resolve(typeof address === 'object' && address !== null ? address.port : 0));
    });
  });

const after = <T>(ms: number, value: T): Promise<T> =>
  new Promise((resolve) => {
    setTimeout(resolve, ms, value).unref();
  });
