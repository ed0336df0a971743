/** The bytes on the heap and beside it after a collection, once they stay the same. Needs `--expose-gc`. */
export const readRestingHeap = async (): Promise<number> => {
  let resting = 0;
  let held = Number.POSITIVE_INFINITY;
  while (resting < 5) {
    await new Promise((resolve) => setTimeout(resolve, 400));
    const now = readHeap();
    resting = Math.abs(now - held) < 64 * 1024 ? resting + 1 : 0;
    held = now;
  }
  return held;
};

export const readHeap = (): number => {
  if (globalThis.gc === undefined) throw new Error('run with --expose-gc');
  // What only a finalizer holds goes with the second.
  globalThis.gc();
  globalThis.gc();
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
};
