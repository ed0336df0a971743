import type { ChildProcess } from 'node:child_process';
import { closeSync, openSync, readlinkSync } from 'node:fs';
import { Socket } from 'node:net';
import { constants } from 'node:os';
import { PassThrough } from 'node:stream';
import { text } from 'node:stream/consumers';
import { EphError, type Log } from '@eph/contract';
import type { ExecSession } from '@eph/engine/provider/provider';
import { endProcesses } from './end-processes.ts';
import { sentence } from './faults.ts';
import { execMarker } from './layout.ts';
import { readDescendants } from './listeners.ts';
import type { Processes } from './processes.ts';
import { SessionControl } from './session-control.ts';

export interface ExecLimits {
  /** As of `launch`. */
  readonly files: readonly string[];
  /** As of `Cgroups`. */
  close(): void;
}

export interface SessionParts {
  /** What `Entered` describes, just started. */
  readonly child: ChildProcess;
  readonly marker: string;
  readonly limits: ExecLimits;
  readonly processes: Processes;
  readonly log: Log;
}

const startTimeoutMs = 10_000;
const never = new AbortController().signal;

/** One command beside a service. */
export class Session {
  /** The exit code, when nothing of it runs any more. */
  readonly exited: Promise<number>;
  readonly #parts: SessionParts;
  readonly #streams: ReturnType<typeof streamsOf>;
  readonly #control: SessionControl;
  /** Of its processes. Until it is known, the command does not run. */
  #uts: { readonly id: string; readonly file: number } | undefined;

  constructor(parts: SessionParts) {
    this.#parts = parts;
    this.#streams = streamsOf(parts.child);
    this.#control = new SessionControl(this.#streams.pipe);
    this.exited = this.#untilGone();
  }

  /** Whether a process with this marker belongs to it. */
  owns(found: string): boolean {
    const { marker } = this.#parts;
    return this.#uts === undefined ? found.startsWith(marker) : found === marker || found === execMarker(marker, this.#uts.id);
  }

  /** Lets the command run. Throws if it cannot. */
  async begin(): Promise<ExecSession> {
    const { input, output, errors } = this.#streams;
    const timer = setTimeout(() => this.kill(), startTimeoutMs);
    const isReady = await Promise.race([this.#control.ready, this.exited.then(() => false)]);
    clearTimeout(timer);
    if (isReady) this.#uts = openUts(this.#parts.child);
    if (this.#uts === undefined) {
      this.kill();
      throw explain(await this.exited, await text(errors));
    }
    this.#control.begin();
    return { input, output, errors, resize: (columns, rows) => this.#control.resize(columns, rows), exited: this.exited };
  }

  /**
   * What waits outside ends after the processes inside: as orphans they would go to the first process of the machine, and the sandbox
   * cannot end before somebody has waited for them.
   */
  kill(): void {
    const { child } = this.#parts;
    // Its number may be that of another.
    if (child.exitCode !== null || child.signalCode !== null) return;
    const [, ...inside] = readDescendants(child.pid ?? 0);
    if (inside.length === 0) child.kill('SIGKILL');
    for (const pid of inside)
      try {
        process.kill(pid, 'SIGKILL');
      } catch {
        // It has ended with the one before.
      }
  }

  /** Nobody reads or writes any more. */
  destroy(): void {
    for (const one of Object.values(this.#streams)) one.destroy();
  }

  async #untilGone(): Promise<number> {
    const { child, marker, limits, processes, log } = this.#parts;
    const code = await new Promise<number>((resolve) =>
      child.once('exit', (number, name) => resolve(number ?? 128 + constants.signals[name ?? 'SIGKILL'])),
    );
    try {
      limits.close();
      const ending = this.#uts && { marker: execMarker(marker, this.#uts.id), leaders: [], graceMs: 0, signal: never };
      // Without it, nothing but the way in has run, which ends with its pipe.
      if (ending !== undefined) await endProcesses(processes, ending);
      limits.close();
    } catch (error) {
      log.warn({ marker, error: sentence(error) }, 'what a command has left could not be ended yet');
    }
    if (this.#uts !== undefined) closeSync(this.#uts.file);
    return code;
  }
}

const streamsOf = ({ stdin: input, stdout, stderr, stdio }: ChildProcess) => {
  const pipe = stdio[3];
  if (input === null || stdout === null || stderr === null || !(pipe instanceof Socket))
    throw new EphError('internal', 'The new process has no pipes.');
  // They break when the other end does, which the exit reports.
  for (const one of [input, stdout, stderr, pipe]) one.on('error', () => undefined);
  // When a process exits, Node throws away the output that nobody has read.
  const [output, errors] = [stdout.pipe(new PassThrough()), stderr.pipe(new PassThrough())];
  return { input, output, errors, stdout, stderr, pipe };
};

/** An open one keeps its number when its last process ends: the next session must not get it while this one is ended. */
const openUts = ({ pid = 0 }: ChildProcess): { readonly id: string; readonly file: number } | undefined => {
  try {
    const [, inside] = readDescendants(pid);
    const file = openSync(`/proc/${inside}/ns/uts`, 'r');
    return { id: /\d+/.exec(readlinkSync(`/proc/self/fd/${file}`))?.[0] ?? '', file };
  } catch {
    // It has ended.
    return undefined;
  }
};

const explain = (code: number, errors: string): EphError => {
  const why = errors.trim().split('\n').at(-1) || 'it is ending';
  return code === 127
    ? new EphError('feature.unavailable', `exec needs perl on the machine of ephd: ${why}.`)
    : new EphError('component.not_ready', `The sandbox could not be entered: ${why}.`);
};
