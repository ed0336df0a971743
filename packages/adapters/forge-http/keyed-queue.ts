/** Work on one thing follows one another; work on different things does not wait. */
export const createKeyedQueue = (): (<T>(key: string | number, work: () => Promise<T>) => Promise<T>) => {
  const last = new Map<string | number, Promise<unknown>>();

  return async (key, work) => {
    const result = (last.get(key) ?? Promise.resolve()).then(work);
    // Whoever asked for the work hears of its failure; the next one only waits for its end.
    const settled = result.catch(() => undefined);
    last.set(key, settled);
    await settled;
    if (last.get(key) === settled) last.delete(key);
    return await result;
  };
};
