/** Gives the slot back. Once. */
export type Leave = () => void;

/** At most so many at the same time; the others wait in the order they came. */
export const createSlots = (limit: number): ((signal: AbortSignal) => Promise<Leave>) => {
  let taken = 0;
  const waiting = new Set<() => void>();

  const leave = () => {
    const [next] = waiting;
    if (next === undefined) taken -= 1;
    else next();
  };

  return async (signal) => {
    signal.throwIfAborted();
    if (taken < limit) {
      taken += 1;
      return leave;
    }
    const { promise, resolve, reject } = Promise.withResolvers<Leave>();
    const enter = () => {
      waiting.delete(enter);
      resolve(leave);
    };
    const giveUp = () => {
      waiting.delete(enter);
      reject(signal.reason);
    };
    waiting.add(enter);
    signal.addEventListener('abort', giveUp, { once: true });
    return await promise.finally(() => signal.removeEventListener('abort', giveUp));
  };
};
