export interface PageWindow {
  readonly page: number;
  readonly perPage: number;
  readonly from: number;
  readonly to: number;
}

const largestPage = 100;
const usualPage = 30;

/** GitHub takes no offence at a page size that is too large: it gives a hundred. */
export const pageWindow = (query: Readonly<Record<string, unknown>>): PageWindow => {
  const page = Math.max(1, numberOr(query['page'], 1));
  const perPage = Math.min(largestPage, Math.max(1, numberOr(query['per_page'], usualPage)));
  return { page, perPage, from: (page - 1) * perPage, to: page * perPage };
};

const numberOr = (value: unknown, usual: number): number => (typeof value === 'number' ? value : usual);

/** The `Link` header, or nothing where everything fits on one page. */
export const linkHeader = (url: URL, { page, perPage }: PageWindow, total: number): string | undefined => {
  const last = Math.max(1, Math.ceil(total / perPage));
  const to = (target: number, rel: string): string => {
    const link = new URL(url);
    link.searchParams.set('page', String(target));
    return `<${link.href}>; rel="${rel}"`;
  };
  const links = [
    ...(page > 1 ? [to(Math.min(page - 1, last), 'prev')] : []),
    ...(page < last ? [to(page + 1, 'next'), to(last, 'last')] : []),
    ...(page > 1 ? [to(1, 'first')] : []),
  ];
  return links.length === 0 ? undefined : links.join(', ');
};
