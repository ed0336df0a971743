/** Work that waits for its turn: so much at a time. */
export type Turns = <T>(work: () => Promise<T>) => Promise<T>;

export const createTurns = (atOnce: number): Turns => {
  let running = 0;
  const waiting: (() => void)[] = [];
  return async (work) => {
    if (running >= atOnce) await new Promise<void>((resolve) => waiting.push(resolve));
    else running += 1;
    try {
      return await work();
    } finally {
      // Hands its place on.
      const next = waiting.shift();
      if (next === undefined) running -= 1;
      else next();
    }
  };
};
