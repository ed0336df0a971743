import type { ChildProcessWithoutNullStreams } from 'node:child_process';
import type { Socket } from 'node:net';
import { EphError } from '@eph/contract';
import { createCatFileParser, type GitObject } from './cat-file-output.ts';
import { type Git, startFailure } from './git-command.ts';
import { gitMessage } from './git-errors.ts';

/**
 * Reads Git objects through one long-running `git cat-file --batch` process: microseconds per object. The process starts
 * with the first read, ends when idle, and is replaced if it dies.
 */
export interface ObjectReader extends AsyncDisposable {
  /**
   * The object of an expression; `undefined` if there is none. Expressions are never untrusted: an object id, optionally
   * with `^{commit}`, or one of our ref names.
   */
  read(expression: string, limitBytes: number, signal: AbortSignal): Promise<GitObject | undefined>;
  /** The next read uses a new process, because the repository may have been replaced. */
  restart(): void;
}

interface PendingRead {
  readonly expression: string;
  readonly limitBytes: number;
  readonly resolve: (object: GitObject | undefined) => void;
  readonly reject: (error: unknown) => void;
  crashes: number;
  /** Read again with a new process because an older one found nothing. */
  isRecheck: boolean;
}

interface Session {
  readonly child: ChildProcessWithoutNullStreams;
  readonly startedMs: number;
  answered: boolean;
  stderr: string;
}

export interface ObjectReaderOptions {
  readonly git: Git;
  /** The folder to read from; throws without a repository. Called before each start. */
  readonly gitFolder: () => Promise<string>;
  /** For messages. */
  readonly shown: string;
  readonly idleMs?: number;
  readonly answerTimeoutMs?: number;
  /** An older process may have outdated state, for instance of a half-written pack. */
  readonly recheckAfterMs?: number;
}

/** Larger unwanted objects are not skipped: a new process is cheaper. */
const skipLimitBytes = 16 * 1024 * 1024;
/** If processes keep dying before the first answer, no single object is the cause. */
const maxFailedStarts = 3;

export const createObjectReader = (options: ObjectReaderOptions): ObjectReader => {
  const { git, gitFolder, shown, idleMs = 30_000, answerTimeoutMs = 60_000, recheckAfterMs = 1_000 } = options;
  let pending: PendingRead[] = [];
  let session: Session | undefined;
  let starting = false;
  let failedStarts = 0;
  let closed = false;
  let timer: NodeJS.Timeout | undefined;

  const failAll = (error: unknown) => {
    const failed = pending;
    pending = [];
    for (const entry of failed) entry.reject(error);
  };

  const resetTimer = () => {
    clearTimeout(timer);
    const current = session;
    if (current === undefined) return;
    const busy = pending.length > 0;
    setReferenced(current.child, busy);
    timer = busy
      ? setTimeout(() => current.child.kill('SIGKILL'), answerTimeoutMs)
      : setTimeout(() => discard(current), idleMs).unref();
  };

  const discard = (old: Session) => {
    if (session === old) session = undefined;
    old.child.stdin.end();
    old.child.kill('SIGKILL');
  };

  const answer = (current: Session, object: GitObject | undefined) => {
    if (session !== current) return;
    current.answered = true;
    failedStarts = 0;
    const [head] = pending;
    if (object === undefined && head?.isRecheck === false && performance.now() - current.startedMs > recheckAfterMs) {
      head.isRecheck = true;
      discard(current);
      ensureSession();
    } else pending.shift()?.resolve(object);
  };

  const onData = (current: Session) => {
    const parse = createCatFileParser({
      limit: () => pending[0]?.limitBytes ?? 0,
      answer: (object) => {
        answer(current, object);
        if (object === undefined || object.content !== undefined || object.size <= skipLimitBytes || session !== current) return;
        discard(current);
        ensureSession();
      },
    });
    return (chunk: Buffer) => {
      if (session !== current) return;
      try {
        parse(chunk);
      } catch (error) {
        discard(current);
        failAll(error);
      }
      resetTimer();
    };
  };

  const onEnd = (ended: Session) => {
    if (session !== ended) return;
    session = undefined;
    clearTimeout(timer);
    const [head] = pending;
    if (head === undefined) return;
    if (!ended.answered) failedStarts += 1;
    const error = new EphError(
      'forge.unreachable',
      `An object of ${shown} could not be read: ${gitMessage({ stderr: ended.stderr, exitCode: -1 })}`,
    );
    head.crashes += 1;
    if (head.crashes > 1) pending.shift()?.reject(error);
    if (failedStarts >= maxFailedStarts) {
      failedStarts = 0;
      failAll(error);
    }
    ensureSession();
  };

  const startSession = async () => {
    const folder = await gitFolder();
    const child = await git.start([`--git-dir=${folder}`, 'cat-file', '--batch']);
    const current: Session = { child, startedMs: performance.now(), answered: false, stderr: '' };
    child.once('error', (error) => failAll(startFailure(error)));
    child.once('close', () => onEnd(current));
    child.stdin.on('error', () => {
      // The process is ending; `close` handles it.
    });
    child.stderr.on('data', (chunk: Buffer) => {
      current.stderr = (current.stderr + chunk.toString('utf8')).slice(-4096);
    });
    child.stdout.on('data', onData(current));
    if (closed) return discard(current);
    session = current;
    child.stdin.write(pending.map((entry) => `${entry.expression}\n`).join(''));
    resetTimer();
  };

  const ensureSession = () => {
    if (session !== undefined || starting || pending.length === 0) return;
    starting = true;
    startSession()
      .catch(failAll)
      .finally(() => {
        starting = false;
        ensureSession();
      });
  };

  const enqueue = (expression: string, limitBytes: number): Promise<GitObject | undefined> => {
    const { promise, resolve, reject } = Promise.withResolvers<GitObject | undefined>();
    pending.push({ expression, limitBytes, resolve, reject, crashes: 0, isRecheck: false });
    if (session === undefined) ensureSession();
    else {
      session.child.stdin.write(`${expression}\n`);
      if (pending.length === 1) resetTimer();
    }
    return promise;
  };

  return {
    async read(expression, limitBytes, signal) {
      signal.throwIfAborted();
      if (closed) throw new EphError('forge.unreachable', `${shown} is no longer being read.`);
      return await untilAborted(enqueue(expression, limitBytes), signal);
    },
    restart() {
      if (session !== undefined) discard(session);
      clearTimeout(timer);
      ensureSession();
    },
    async [Symbol.asyncDispose]() {
      closed = true;
      clearTimeout(timer);
      failAll(new EphError('forge.unreachable', `${shown} is no longer being read.`));
      const last = session;
      if (last === undefined) return;
      const ended = new Promise((resolve) => last.child.once('close', resolve));
      setReferenced(last.child, true);
      discard(last);
      await ended;
    },
  };
};

/** An idle process must not keep ephd or a test run alive. Its pipes are sockets, which Node's types do not say. */
const setReferenced = (child: ChildProcessWithoutNullStreams, referenced: boolean) => {
  const handles = [child, child.stdin as unknown as Socket, child.stdout as unknown as Socket, child.stderr as unknown as Socket];
  for (const handle of handles) {
    if (referenced) handle.ref();
    else handle.unref();
  }
};

/** Rejects at once on abort. The answer still arrives and is dropped: a request to the process cannot be cancelled. */
const untilAborted = async <T>(promise: Promise<T>, signal: AbortSignal): Promise<T> => {
  const aborted = Promise.withResolvers<never>();
  const onAbort = () => aborted.reject(signal.reason);
  signal.addEventListener('abort', onAbort, { once: true });
  try {
    return await Promise.race([promise, aborted.promise]);
  } finally {
    signal.removeEventListener('abort', onAbort);
  }
};
