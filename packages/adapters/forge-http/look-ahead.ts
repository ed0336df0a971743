/** What was found out before anybody needed it. */
export interface LookAhead<T> {
  begin(key: string, look: () => Promise<T>): void;
  /** Once; undefined when nobody looked, when that is too long ago, or when it failed. */
  take(key: string): Promise<T | undefined>;
}

/** So long what was seen is as good as what would be seen now. */
const freshMs = 5_000;

export const createLookAhead = <T>(now: () => number): LookAhead<T> => {
  const looks = new Map<string, { readonly at: number; readonly found: Promise<T | undefined> }>();

  const isFresh = ({ at }: { readonly at: number }): boolean => Math.abs(now() - at) < freshMs;

  return {
    begin(key, look) {
      for (const [other, begun] of looks) if (!isFresh(begun)) looks.delete(other);
      // Whoever needs it looks again, and hears what is wrong.
      looks.set(key, { at: now(), found: look().catch(() => undefined) });
    },

    async take(key) {
      const begun = looks.get(key);
      looks.delete(key);
      return begun !== undefined && isFresh(begun) ? await begun.found : undefined;
    },
  };
};
