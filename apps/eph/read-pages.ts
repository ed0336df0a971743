interface Page<T> {
  readonly items: readonly T[];
  readonly next: string | null;
}

/** All of a list that comes in pages. */
export const readPages = async <T>(read: (after: string | undefined) => Promise<Page<T>>): Promise<readonly T[]> => {
  const all: T[] = [];
  let after: string | undefined;
  do {
    const { items, next } = await read(after);
    all.push(...items);
    after = next ?? undefined;
  } while (after !== undefined);
  return all;
};
