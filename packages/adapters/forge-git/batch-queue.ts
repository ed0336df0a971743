/** Adds one item to the next batch and resolves with that batch's result. */
export type AddToBatch<Item, Result> = (item: Item, signal: AbortSignal) => Promise<Result>;

interface Entry<Item, Result> {
  readonly item: Item;
  readonly signal: AbortSignal;
  readonly resolve: (result: Result) => void;
  readonly reject: (reason: unknown) => void;
}

/**
 * Runs one batch at a time; what is added meanwhile forms the next. So a thousand concurrent callers cost two runs, and
 * each run began after its callers' calls. A run is aborted when no caller waits for it any more.
 */
export const createBatchQueue = <Item, Result>(
  run: (items: readonly Item[], signal: AbortSignal) => Promise<Result>,
): AddToBatch<Item, Result> => {
  let waiting: Entry<Item, Result>[] = [];
  let running = false;

  const runAll = async () => {
    if (running) return;
    running = true;
    while (waiting.length > 0) {
      const batch = waiting;
      waiting = [];
      await runBatch(batch, run);
    }
    running = false;
  };

  return async (item, signal) => {
    signal.throwIfAborted();
    const { promise, resolve, reject } = Promise.withResolvers<Result>();
    const entry = { item, signal, resolve, reject };
    const leave = () => {
      waiting = waiting.filter((other) => other !== entry);
      reject(signal.reason);
    };
    signal.addEventListener('abort', leave, { once: true });
    waiting.push(entry);
    // Deferred, so that calls in the same tick share the first batch.
    queueMicrotask(() => void runAll());
    return await promise.finally(() => signal.removeEventListener('abort', leave));
  };
};

const runBatch = async <Item, Result>(
  batch: readonly Entry<Item, Result>[],
  run: (items: readonly Item[], signal: AbortSignal) => Promise<Result>,
): Promise<void> => {
  const abandoned = new AbortController();
  const onAbort = () => {
    if (batch.every((entry) => entry.signal.aborted)) abandoned.abort();
  };
  for (const { signal } of batch) signal.addEventListener('abort', onAbort);
  try {
    const result = await run(
      batch.map((entry) => entry.item),
      abandoned.signal,
    );
    for (const entry of batch) entry.resolve(result);
  } catch (error) {
    for (const entry of batch) entry.reject(error);
  } finally {
    for (const { signal } of batch) signal.removeEventListener('abort', onAbort);
  }
};
