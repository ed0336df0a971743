type Arrival<T> =
  | { readonly iterator: AsyncIterator<T>; readonly result: IteratorResult<T> }
  | { readonly iterator: AsyncIterator<T>; readonly error: unknown };

/**
 * Items of several streams as they come. Ends when all have ended; ends all when the reader stops. Not with `Promise.race`:
 * a stream that is quiet would keep every item of the others in memory.
 */
export async function* mergeStreams<T>(streams: readonly AsyncIterable<T>[]): AsyncGenerator<T, void> {
  const open = new Set(streams.map((stream) => stream[Symbol.asyncIterator]()));
  const arrived: Arrival<T>[] = [];
  let wake = (): void => undefined;
  const arrive = (one: Arrival<T>): void => {
    arrived.push(one);
    wake();
  };
  const ask = (iterator: AsyncIterator<T>): void =>
    void iterator.next().then(
      (result) => arrive({ iterator, result }),
      (error: unknown) => arrive({ iterator, error }),
    );
  try {
    for (const iterator of open) ask(iterator);
    while (open.size > 0) {
      const next = arrived.shift();
      if (next === undefined) {
        await new Promise<void>((resolve) => {
          wake = resolve;
        });
        continue;
      }
      if ('error' in next) throw next.error;
      const { iterator, result } = next;
      if (result.done === true) open.delete(iterator);
      else {
        yield result.value;
        ask(iterator);
      }
    }
  } finally {
    // One that waits for its next item ends when that has come. Why it could not end concerns nobody.
    for (const iterator of open) void iterator.return?.().catch(() => undefined);
  }
}
