import type { Log } from '@eph/contract';
import { sentence } from './faults.ts';
import { pause } from './pause.ts';

/** Repeats a task with pauses until aborted. A failure is logged and does not end it. */
export const repeat = async (
  everyMs: number,
  what: string,
  task: () => Promise<void> | void,
  log: Log,
  signal: AbortSignal,
): Promise<void> => {
  while (!signal.aborted) {
    try {
      await task();
    } catch (error) {
      if (!signal.aborted) log.warn({ error: sentence(error) }, `${what} failed, will retry`);
    }
    await pause(everyMs, signal);
  }
};
