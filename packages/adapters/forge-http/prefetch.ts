/** What was found out before anybody needed it. */
export interface Prefetch<T> {
  begin(key: string, read: () => Promise<T>): void;
  /** Once; undefined when nobody looked, when that is too long ago, or when it failed. */
  take(key: string): Promise<T | undefined>;
}

/** So long what was seen is as good as what would be seen now. */
const freshMs = 5_000;

export const createPrefetch = <T>(now: () => number): Prefetch<T> => {
  const started = new Map<string, { readonly at: number; readonly found: Promise<T | undefined> }>();

  const isFresh = ({ at }: { readonly at: number }): boolean => Math.abs(now() - at) < freshMs;

  return {
    begin(key, read) {
      for (const [other, entry] of started) if (!isFresh(entry)) started.delete(other);
      // Whoever needs it looks again, and hears what is wrong.
      started.set(key, { at: now(), found: read().catch(() => undefined) });
    },

    async take(key) {
      const entry = started.get(key);
      started.delete(key);
      return entry !== undefined && isFresh(entry) ? await entry.found : undefined;
    },
  };
};
