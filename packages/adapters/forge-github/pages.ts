import { isDeepStrictEqual } from 'node:util';
import { type Answer, invalidAnswer } from '../forge-http/answer.ts';
import { type Listing, type Page, parseLinks, readPages } from '../forge-http/read-pages.ts';

export const pageSize = 100;
const maxRounds = 4;

export interface GithubPage<T> {
  readonly items: readonly T[];
  readonly hasNext: boolean;
  readonly hasPrevious: boolean;
  readonly last: number | undefined;
}

export const parsePosition = (headers: Headers): Omit<GithubPage<never>, 'items'> => {
  const links = parseLinks(headers.get('link'));
  const last = /[?&]page=(\d{1,9})(?:&|$)/.exec(links.get('last') ?? '')?.[1];
  return {
    hasNext: links.has('next'),
    hasPrevious: links.has('prev'),
    last: last === undefined ? undefined : Number(last),
  };
};

export interface PagesQuery<T> {
  readonly keyOf: (item: T) => string | number;
  /** For messages. */
  readonly shown: string;
  /** Returns the same object while nothing changed. `unconditional` ignores the cached entity tag. */
  readonly readPage: (page: number, unconditional: boolean) => Promise<Answer<GithubPage<T>>>;
  /** Pages that were equal twice, by first page; kept by the caller. */
  readonly settled: WeakMap<object, readonly object[]>;
}

/**
 * All pages of a list. GitHub returns no total, and a list may change between two pages: an item that moves from one to
 * another may be missed. So several pages are read until they are equal twice; unchanged ones cost nothing.
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
        // The list may have got shorter since the cached previous page, whose next link is then outdated.
        const again = await readPage(number - 1, true);
        if (!again.ok || again.value.hasNext) return again.ok ? missing(shown) : again;
      }
      pages.push(page);
      // A full page may lack a next link because it is older than the page after it.
      const hasMore = page.hasNext || page.items.length >= pageSize;
      return { ok: true, value: { items: page.items, next: hasMore ? String(number + 1) : undefined } };
    },
  });
  return { listing, pages };
};

const missing = (shown: string) => invalidAnswer(`A page of ${shown} is missing.`);
