import { spawn } from 'node:child_process';
import { closeSync } from 'node:fs';
import { type ComponentName, EphError, type Log } from '@eph/contract';
import type { ExecRequest, ExecSession } from '@eph/engine/provider/provider';
import { enterLimits, explainFailure } from './launch.ts';
import { execMarker } from './layout.ts';
import { openNamespaces } from './namespaces.ts';
import type { Processes, ProcessIdentity } from './processes.ts';
import type { Entry, Sandbox } from './sandbox.ts';
import { type ExecLimits, Session, type SessionParts } from './session.ts';

/** The running instance that a command is run beside. */
export interface Beside extends Pick<Entry, 'directory' | 'variables' | 'hasOwnNetwork'> {
  readonly component: ComponentName;
  /** Of the instance. */
  readonly marker: string;
  readonly holder: ProcessIdentity;
  /** Opens a group for the command alone within the limits of the environment. */
  readonly limit: () => ExecLimits;
  /** Aborts when the instance ends. */
  readonly life: AbortSignal;
}

/** The commands that people run beside services. None outlives ephd: `endOrphans` ends what is left of an earlier one. */
export class Sessions {
  readonly #processes: Processes;
  readonly #sandbox: Sandbox;
  readonly #log: Log;
  readonly #all = new Set<Session>();

  constructor(processes: Processes, sandbox: Sandbox, log: Log) {
    this.#processes = processes;
    this.#sandbox = sandbox;
    this.#log = log;
  }

  /** Whether a process with this marker belongs to one that goes on. */
  has(marker: string): boolean {
    return [...this.#all].some((one) => one.owns(marker));
  }

  async untilEnded(): Promise<void> {
    await Promise.all([...this.#all].map(({ exited }) => exited));
  }

  async start(beside: Beside, request: ExecRequest): Promise<ExecSession> {
    checkRequest(request);
    const { signal } = request;
    signal.throwIfAborted();
    const parts = this.#spawn(beside, request);
    if (parts.child.pid === undefined) throw await explainFailure(parts.child);
    const session = new Session(parts);
    this.#all.add(session);
    const ending = AbortSignal.any([signal, beside.life]);
    const kill = (): void => session.kill();
    ending.addEventListener('abort', kill, { once: true });
    signal.addEventListener('abort', () => session.destroy(), { once: true });
    void session.exited.then(() => {
      this.#all.delete(session);
      ending.removeEventListener('abort', kill);
    });
    try {
      return await session.begin();
    } catch (error) {
      signal.throwIfAborted();
      throw error;
    }
  }

  #spawn(beside: Beside, { terminal, command: words }: ExecRequest): SessionParts {
    const { component, holder, hasOwnNetwork, directory } = beside;
    const { enter, isolation } = this.#sandbox;
    if (enter === undefined || holder.isSandboxed !== true) {
      const because = isolation.state === 'trusted' ? `: ${isolation.because}` : '';
      throw new EphError('isolation.missing', `${component} runs without a sandbox, and exec never runs outside one${because}.`);
    }
    using namespaces = openNamespaces(this.#processes, holder, hasOwnNetwork);
    if (namespaces === undefined)
      throw new EphError('component.not_ready', `The sandbox of ${component} is starting or ending. Try again.`);
    const { all, user } = namespaces;
    const marker = execMarker(beside.marker);
    const variables = { ...beside.variables, ...(terminal && { TERM: terminal.type }) };
    const entered = enter({ hasOwnNetwork, words, directory, variables, terminal, marker });
    try {
      const limits = beside.limit();
      const child = spawn('/bin/sh', ['-c', enterLimits(limits.files) + entered.script, 'sh', ...entered.words], {
        cwd: '/',
        env: { ...entered.variables },
        detached: true,
        stdio: ['pipe', 'pipe', 'pipe', 'pipe', all, entered.input, ...(user === undefined ? [] : ['ignore' as const, user])],
      });
      return { child, marker, limits, processes: this.#processes, log: this.#log };
    } finally {
      closeSync(entered.input);
    }
  }
}

const checkRequest = ({ command, terminal }: ExecRequest): void => {
  const texts = [...command, terminal?.type ?? ''];
  const sizes = terminal === undefined ? [] : [terminal.columns, terminal.rows];
  if (command.length > 0 && !texts.some((one) => one.includes('\0')) && sizes.every(Number.isSafeInteger)) return;
  throw new EphError('api.bad_request', 'A command needs a program, no NUL characters, and a terminal with a size.');
};
