import { closeSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import { redact } from '@eph/contract';
import type { Context } from './context.ts';
import { endProcesses } from './end-processes.ts';
import { describeEnd } from './ending.ts';
import { launch } from './launch.ts';
import type { LogFile } from './log-file.ts';
import type { ProcessIdentity } from './processes.ts';
import type { Confined } from './sandbox.ts';

export interface Preparation {
  readonly command: Confined;
  readonly timeoutSeconds: number;
  readonly log: LogFile;
  readonly marker: string;
  /** As of `launch`. */
  readonly limits: readonly string[];
  /** Before the command may run. */
  readonly record: (process: ProcessIdentity) => void;
  /** How many of its processes have been ended because the memory was used up. */
  readonly countMemoryKills: () => number;
}

export type PreparationResult =
  | { readonly state: 'finished'; readonly seconds: number }
  | { readonly state: 'failed'; readonly message: string };

/** Of the log, in the message of a failure. */
const linesShown = 3;

/** Runs the command until it ends, at most so long, and ends everything that it started. Throws if the signal aborts. */
export const runPreparation = async (
  { limits, processes, rotation }: Context,
  preparation: Preparation,
  signal: AbortSignal,
): Promise<PreparationResult> => {
  const { command, timeoutSeconds, log, marker, record } = preparation;
  const began = performance.now();
  const kills = preparation.countMemoryKills();
  rotation.watch(log);
  try {
    const output = log.openForService();
    const starting = launch({ command, log: output, limits: preparation.limits }, processes, record);
    closeSync(output);
    const { child, identity } = await starting;
    const over = new AbortController();
    const exited = new Promise<string>((resolve) =>
      child.once('exit', (code, name) => resolve(code === 0 ? '' : describeEnd(code, name, identity.isSandboxed === true))),
    );
    const late = delay(timeoutSeconds * 1000, `It took longer than ${timeoutSeconds} s.`, {
      signal: AbortSignal.any([signal, over.signal]),
    }).catch(() => 'It was given up.');
    const ending = await Promise.race([exited, late]);
    over.abort();
    await endProcesses(processes, { marker, leaders: [identity], graceMs: limits.graceMs, signal: new AbortController().signal });
    signal.throwIfAborted();
    if (ending === '') return { state: 'finished', seconds: (performance.now() - began) / 1000 };
    const isMemory = preparation.countMemoryKills() > kills;
    const why = isMemory ? 'It was ended because its environment used all the memory that it may use.' : ending;
    const lines = log.readLastLines(linesShown).join(' | ');
    return { state: 'failed', message: redact(`prepare failed: ${why}${lines === '' ? '' : ` Its last lines were: ${lines}`}`) };
  } finally {
    rotation.unwatch(log);
  }
};
