/** Runs work with the same key one after the other, and work with different keys concurrently. */
export const createKeyedQueue = (): (<T>(key: string | number, work: () => Promise<T>) => Promise<T>) => {
  const last = new Map<string | number, Promise<unknown>>();

  return async (key, work) => {
    const result = (last.get(key) ?? Promise.resolve()).then(work);
    // The caller gets the failure; the next one only waits for the end.
    const settled = result.catch(() => undefined);
    last.set(key, settled);
    await settled;
    if (last.get(key) === settled) last.delete(key);
    return await result;
  };
};
