/** Items of several streams as they come. Ends when all have ended; ends all when the reader stops. */
export async function* mergeStreams<T>(streams: readonly AsyncIterable<T>[]): AsyncIterable<T> {
  const iterators = streams.map((stream) => stream[Symbol.asyncIterator]());
  const pending = new Map(iterators.map((iterator) => [iterator, next(iterator)]));
  try {
    while (pending.size > 0) {
      const { iterator, result } = await Promise.race(pending.values());
      if (result.done === true) pending.delete(iterator);
      else {
        pending.set(iterator, next(iterator));
        yield result.value;
      }
    }
  } finally {
    for (const iterator of pending.keys()) void iterator.return?.();
  }
}

const next = async <T>(iterator: AsyncIterator<T>): Promise<{ iterator: AsyncIterator<T>; result: IteratorResult<T> }> => ({
  iterator,
  result: await iterator.next(),
});
