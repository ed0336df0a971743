/** Call it once. */
export type Release = () => void;

/** Limits concurrency; others wait in order of arrival. */
export const createSemaphore = (limit: number): ((signal: AbortSignal) => Promise<Release>) => {
  let taken = 0;
  const waiting = new Set<() => void>();

  const release = () => {
    const [next] = waiting;
    if (next === undefined) taken -= 1;
    else next();
  };

  return async (signal) => {
    signal.throwIfAborted();
    if (taken < limit) {
      taken += 1;
      return release;
    }
    const { promise, resolve, reject } = Promise.withResolvers<Release>();
    const acquire = () => {
      waiting.delete(acquire);
      resolve(release);
    };
    const giveUp = () => {
      waiting.delete(acquire);
      reject(signal.reason);
    };
    waiting.add(acquire);
    signal.addEventListener('abort', giveUp, { once: true });
    return await promise.finally(() => signal.removeEventListener('abort', giveUp));
  };
};
