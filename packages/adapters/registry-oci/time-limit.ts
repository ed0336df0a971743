import type { Clock } from '@eph/engine/time/clock';

/** The work took too long, and was told to stop. */
export class TimeLimitError extends Error {}

/** Runs work whose signal also aborts after a while. Rejects with the reason of the signal, or with a `TimeLimitError`. */
export const withTimeLimit = async <T>(
  clock: Clock,
  limitMs: number,
  signal: AbortSignal,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> => {
  signal.throwIfAborted();
  const stop = new AbortController();
  const abort = () => stop.abort(signal.reason);
  const cancel = clock.after(limitMs, () => stop.abort(new TimeLimitError(`took longer than ${limitMs} ms`)));
  signal.addEventListener('abort', abort, { once: true });
  try {
    return await work(stop.signal);
  } catch (error) {
    throw stop.signal.aborted ? stop.signal.reason : error;
  } finally {
    cancel();
    signal.removeEventListener('abort', abort);
  }
};
