/** The most recently used values, as many as fit. */
export interface BoundedCache<V> {
  get(key: string): V | undefined;
  /** A value larger than the whole bound is not kept. */
  set(key: string, value: V, sizeBytes: number): void;
  delete(key: string): void;
  readonly sizeBytes: number;
}

export const createBoundedCache = <V>(limitBytes: number): BoundedCache<V> => {
  // A map remembers the order of insertion: the first entry is the one that was not used for longest.
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
    get sizeBytes() {
      return total;
    },
  };
};
