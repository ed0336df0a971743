/** Work on one thing follows one another; work on different things does not wait. */
export const createTurns = (): (<T>(key: string | number, work: () => Promise<T>) => Promise<T>) => {
  const last = new Map<string | number, Promise<unknown>>();

  return async (key, work) => {
    const turn = (last.get(key) ?? Promise.resolve()).then(work);
    const settled = turn.catch(() => undefined);
    last.set(key, settled);
    await settled;
    if (last.get(key) === settled) last.delete(key);
    return await turn;
  };
};
