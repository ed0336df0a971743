/** An LRU cache with a limit in bytes. */
export interface BoundedCache<V> {
  get(key: string): V | undefined;
  set(key: string, value: V, sizeBytes: number): void;
  delete(key: string): void;
}

export const createBoundedCache = <V>(limitBytes: number): BoundedCache<V> => {
  // A map keeps insertion order: the first entry is the least recently used.
  const entries = new Map<string, { readonly value: V; readonly sizeBytes: number }>();
  let total = 0;

  const remove = (key: string) => {
    const entry = entries.get(key);
    if (entry === undefined) return;
    entries.delete(key);
    total -= entry.sizeBytes;
  };

  return {
    get(key) {
      const entry = entries.get(key);
      if (entry === undefined) return undefined;
      entries.delete(key);
      entries.set(key, entry);
      return entry.value;
    },
    set(key, value, sizeBytes) {
      remove(key);
      if (sizeBytes > limitBytes) return;
      entries.set(key, { value, sizeBytes });
      total += sizeBytes;
      for (const oldest of entries.keys()) {
        if (total <= limitBytes) break;
        remove(oldest);
      }
    },
    delete: remove,
  };
};
