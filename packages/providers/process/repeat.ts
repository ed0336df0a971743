import type { Log } from '@eph/contract';
import { sentence } from './faults.ts';
import { pause } from './pause.ts';

/** Does a task again and again, with a pause in between, until aborted. A failure is logged and does not end it. */
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
      if (!signal.aborted) log.warn({ error: sentence(error) }, `${what} failed, will be tried again`);
    }
    await pause(everyMs, signal);
  }
};
