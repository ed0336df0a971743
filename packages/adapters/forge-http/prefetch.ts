export interface Prefetch<T> {
  begin(key: string, read: () => Promise<T>): void;
  /** Returns a result once; undefined if there is none, if it is too old, or if reading failed. */
  take(key: string): Promise<T | undefined>;
}

const freshMs = 5_000;

export const createPrefetch = <T>(now: () => number): Prefetch<T> => {
  const started = new Map<string, { readonly at: number; readonly found: Promise<T | undefined> }>();

  const isFresh = ({ at }: { readonly at: number }): boolean => Math.abs(now() - at) < freshMs;

  return {
    begin(key, read) {
      for (const [other, entry] of started) if (!isFresh(entry)) started.delete(other);
      // A failure is ignored: the caller reads again and gets the error.
      started.set(key, { at: now(), found: read().catch(() => undefined) });
    },

    async take(key) {
      const entry = started.get(key);
      started.delete(key);
      return entry !== undefined && isFresh(entry) ? await entry.found : undefined;
    },
  };
};
