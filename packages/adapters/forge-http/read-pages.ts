import { type Answer, invalidAnswer, type Refusal } from './answer.ts';

export interface Page<T> {
  readonly items: readonly T[];
  readonly next: string | undefined;
  /** Number of items on all pages, if the forge says so. */
  readonly total?: number | undefined;
}

export interface DatedPage<T> extends Page<T> {
  /** Time of the answer by the forge's clock; NaN if unknown. */
  readonly readAtMs: number;
}

export const parseDate = (headers: Headers): number => Date.parse(headers.get('date') ?? '');

/** All items, or those that arrived and why the rest did not. */
export type Listing<T> =
  | { readonly complete: true; readonly items: readonly T[] }
  | { readonly complete: false; readonly items: readonly T[]; readonly refusal: Refusal };

export interface PagesOptions<T> {
  readonly first: string;
  readonly readPage: (cursor: string) => Promise<Answer<Page<T>>>;
  readonly keyOf: (item: T) => string | number;
  readonly shown: string;
}

const maxPages = 1_000;
/** A list that changes while it is read is read again: an item may have moved to a page that was already read. */
const attempts = 2;

/**
 * Reads all pages and detects missing ones: a page that fails, a chain that ends early or loops, an empty page in the
 * middle, fewer items than the forge counts. Never throws. If pages are cached by entity tag, sort by newest first: then
 * an unchanged first page still says correctly whether there is a second.
 */
export const readPages = async <T>(options: PagesOptions<T>): Promise<Listing<T>> => {
  for (let attempt = 1; ; attempt += 1) {
    const { listing, moved } = await readOnce(options);
    if (!moved || attempt === attempts) return listing;
  }
};

const readOnce = async <T>({
  first,
  readPage,
  keyOf,
  shown,
}: PagesOptions<T>): Promise<{ readonly listing: Listing<T>; readonly moved: boolean }> => {
  const items = new Map<string | number, T>();
  const broken = (refusal: Refusal, moved = false) => ({
    listing: { complete: false as const, items: [...items.values()], refusal },
    moved,
  });
  const seen = new Set<string>();
  let total: number | undefined;
  for (let cursor: string | undefined = first; cursor !== undefined; ) {
    if (seen.has(cursor) || seen.size === maxPages) return broken(invalidAnswer(`The pages of ${shown} do not end.`));
    seen.add(cursor);
    const answer: Answer<Page<T>> = await readPage(cursor);
    if (!answer.ok) return broken(answer);
    const page = answer.value;
    for (const item of page.items) items.set(keyOf(item), item);
    if (page.items.length === 0 && page.next !== undefined) return broken(invalidAnswer(`A page of ${shown} is missing.`));
    if (seen.size > 1 && page.total !== total) return broken(invalidAnswer(`The ${shown} changed while they were read.`), true);
    total = page.total;
    cursor = page.next;
  }
  if (total !== undefined && items.size !== total)
    return broken(invalidAnswer(`The forge did not list all ${shown}.`), seen.size > 1);
  return { listing: { complete: true, items: [...items.values()] }, moved: false };
};

export const parseLinks = (header: string | null): ReadonlyMap<string, string> => {
  const links = new Map<string, string>();
  for (const [, address = '', relation = ''] of (header ?? '').matchAll(/<([^<>]*)>\s*;\s*rel="?([\w-]+)"?/g))
    links.set(relation, address);
  return links;
};
