import { isDeepStrictEqual } from 'node:util';
import { type Answer, invalidAnswer } from '../forge-http/answer.ts';
import { type Listing, type Page, parseLinks, readPages } from '../forge-http/read-pages.ts';

/** As many as GitHub hands out at once. */
export const pageSize = 100;
/** Whoever changes a list that often while it is read wins. */
const maxRounds = 4;

export interface GithubPage<T> {
  readonly items: readonly T[];
  readonly hasNext: boolean;
  readonly hasPrevious: boolean;
  /** The number of the last page; undefined on that page itself. */
  readonly last: number | undefined;
}

export const parsePage = <T>(items: readonly T[], link: string): GithubPage<T> => {
  const links = parseLinks(link);
  const last = /[?&]page=(\d{1,9})(?:&|$)/.exec(links.get('last') ?? '')?.[1];
  return {
    items,
    hasNext: links.has('next'),
    hasPrevious: links.has('prev'),
    last: last === undefined ? undefined : Number(last),
  };
};

export interface PagesQuery<T> {
  readonly keyOf: (item: T) => string | number;
  /** For people. */
  readonly shown: string;
  /** The same page for as long as nothing changed. Without its entity tag, if nothing that is kept of it will do. */
  readonly readPage: (page: number, unconditional: boolean) => Promise<Answer<GithubPage<T>>>;
  /** What was the same twice, by its first page; kept by the caller. */
  readonly settled: WeakMap<object, readonly object[]>;
}

/**
 * All pages of a list. GitHub does not say how many items there are, and a list may change between two of its pages: an item that slips
 * from one to another is in neither. So several pages are read until they are the same twice; unchanged ones cost nothing.
 */
export const listPages = async <T>(query: PagesQuery<T>): Promise<Listing<T>> => {
  const { settled, shown } = query;
  let before: readonly GithubPage<T>[] | undefined;
  for (let round = 1; ; round += 1) {
    const { listing, pages } = await readRound(query);
    const [first] = pages;
    if (!listing.complete || first === undefined || pages.length === 1 || isSame(settled.get(first), pages)) return listing;
    if (isDeepStrictEqual(before, pages)) {
      settled.set(first, pages);
      return listing;
    }
    if (round === maxRounds)
      return { complete: false, items: listing.items, refusal: invalidAnswer(`${shown} change while they are read.`) };
    before = pages;
  }
};

const isSame = (known: readonly object[] | undefined, pages: readonly object[]): boolean =>
  known?.length === pages.length && known.every((page, index) => page === pages[index]);

const readRound = async <T>({ keyOf, shown, readPage }: PagesQuery<T>) => {
  const pages: GithubPage<T>[] = [];
  const listing = await readPages<T>({
    first: '1',
    keyOf,
    shown,
    readPage: async (cursor): Promise<Answer<Page<T>>> => {
      const number = Number(cursor);
      const answer = await readPage(number, false);
      if (!answer.ok) return answer;
      const page = answer.value;
      if (number > 1 && !page.hasPrevious) return missing(shown);
      if (page.items.length === 0 && pages.at(-1)?.hasNext === true) {
        // It may have got shorter since the page before was first read, which then still promises what it did.
        const again = await readPage(number - 1, true);
        if (!again.ok || again.value.hasNext) return again.ok ? missing(shown) : again;
      }
      pages.push(page);
      // A page that was full may promise nothing because it is older than the one that follows it.
      const hasMore = page.hasNext || page.items.length >= pageSize;
      return { ok: true, value: { items: page.items, next: hasMore ? String(number + 1) : undefined } };
    },
  });
  return { listing, pages };
};

const missing = (shown: string) => invalidAnswer(`A page of ${shown} is missing.`);
