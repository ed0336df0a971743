import { type ChildProcess, spawn } from 'node:child_process';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import type { EphdAddresses } from './ephd-client.ts';

export interface EphdOptions extends EphdAddresses {
  readonly projects: readonly string[];
  readonly dataFolder: string;
  readonly args?: readonly string[];
  /** In addition to PATH, HOME, and the state folder; nothing else is inherited. */
  readonly env?: Readonly<Record<string, string>>;
  /** Arguments of Node itself. */
  readonly nodeArgs?: readonly string[];
}

/** One line of ephd's structured log. */
export interface EphdLine {
  readonly msg: string;
  readonly [field: string]: unknown;
}

export interface EphdExit {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly stderr: string;
}

const main = join(import.meta.dirname, '../../apps/ephd/start.js');
const upWithinSeconds = 30;

/** A real ephd in a separate process. */
export class RunningEphd {
  readonly lines: EphdLine[] = [];
  readonly exited: Promise<EphdExit>;
  readonly #child: ChildProcess;
  readonly #up = Promise.withResolvers<void>();
  readonly #listeners = new Set<(line: EphdLine) => void>();

  /** Returns at once; await `up` before using it. */
  constructor({ projects, dataFolder, stateFolder, apiPort, gatewayPort, args = [], env = {}, nodeArgs = [] }: EphdOptions) {
    const flags = ['--data', dataFolder, '--port', String(apiPort), '--gateway-port', String(gatewayPort)];
    this.#child = spawn(
      process.execPath,
      [...nodeArgs, main, ...projects.flatMap((one) => ['--project', one]), ...flags, ...args],
      {
        env: {
          PATH: process.env['PATH'],
          HOME: process.env['HOME'],
          XDG_STATE_HOME: stateFolder,
          ...env,
        },
        stdio: ['ignore', 'pipe', 'pipe'],
      },
    );
    let stderr = '';
    this.#child.stderr?.setEncoding('utf8').on('data', (text: string) => {
      stderr += text;
    });
    if (this.#child.stdout !== null) createInterface({ input: this.#child.stdout }).on('line', (line) => this.#take(line));
    this.exited = new Promise((resolve) => {
      this.#child.once('error', (error) => resolve({ code: null, signal: null, stderr: error.message }));
      this.#child.once('close', (code, signal) => resolve({ code, signal, stderr }));
    });
    // Callers that care await `up`; being killed earlier is not an error in itself.
    this.#up.promise.catch(() => undefined);
    void this.exited.then(({ code, signal }) => this.#up.reject(new Error(`ephd ended with ${code ?? signal}: ${stderr}`)));
  }

  get pid(): number {
    return this.#child.pid ?? Number.NaN;
  }

  async up(): Promise<this> {
    const late = sleep(upWithinSeconds * 1000, undefined, { ref: false }).then(() => {
      throw new Error(`ephd was not up within ${upWithinSeconds} s:\n${this.lines.map((line) => line.msg).join('\n')}`);
    });
    await Promise.race([this.#up.promise, late]);
    return this;
  }

  /** Never fails: it may have been killed on purpose. */
  async upOrEnded(): Promise<void> {
    await Promise.race([this.#up.promise.catch(() => undefined), this.exited]);
  }

  onLine(listener: (line: EphdLine) => void): void {
    this.#listeners.add(listener);
  }

  /** SIGKILL: ephd cannot clean up. */
  kill(): Promise<EphdExit> {
    this.#child.kill('SIGKILL');
    return this.exited;
  }

  stop(): Promise<EphdExit> {
    this.#child.kill('SIGTERM');
    return this.exited;
  }

  #take(text: string): void {
    const line = parseLine(text);
    this.lines.push(line);
    if (line.msg === 'ephd is up') this.#up.resolve();
    for (const listener of this.#listeners) listener(line);
  }
}

const parseLine = (text: string): EphdLine => {
  try {
    return JSON.parse(text) as EphdLine;
  } catch {
    // Output of a library, which is kept too.
    return { msg: text };
  }
};
