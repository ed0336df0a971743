import type { Call, Reply } from './endpoint.ts';

interface Pages {
  readonly page?: number | undefined;
  readonly per_page?: number | undefined;
}

/** https://docs.gitlab.com/user/gitlab_com/#pagination-response-headers */
const countedItems = 10_000;

/** One page of a list with the headers that lead to the others. https://docs.gitlab.com/api/rest/#offset-based-pagination */
export const paginate = <Item>(call: Call<Pages>, items: readonly Item[], represent: (item: Item) => unknown): Reply => {
  const all = call.emptyPages ? [] : items;
  const page = Math.max(1, call.parameters.page ?? 1);
  const perPage = perPageOf(call.parameters);
  const pageCount = Math.max(1, Math.ceil(all.length / perPage));
  const next = page < pageCount ? page + 1 : undefined;
  const link = (number: number, rel: string): string => `<${pageUrl(call, { page: number, per_page: perPage })}>; rel="${rel}"`;
  const isCounted = all.length <= countedItems;
  return {
    body: all.slice((page - 1) * perPage, page * perPage).map((item) => represent(item)),
    headers: {
      'x-page': String(page),
      'x-per-page': String(perPage),
      'x-next-page': String(next ?? ''),
      'x-prev-page': page > 1 ? String(page - 1) : '',
      link: [
        ...(page > 1 ? [link(page - 1, 'prev')] : []),
        ...(next === undefined ? [] : [link(next, 'next')]),
        link(1, 'first'),
        ...(isCounted ? [link(pageCount, 'last')] : []),
      ].join(', '),
      // Beyond this GitLab does not count, and says nothing about it.
      ...(isCounted ? { 'x-total': String(all.length), 'x-total-pages': String(pageCount) } : {}),
    },
  };
};

/** More than a hundred is a hundred. */
const perPageOf = ({ per_page: wanted = 20 }: Pages): number => Math.min(100, Math.max(1, wanted));

const pageUrl = ({ state, target }: Call<unknown>, changes: Readonly<Record<string, number>>): string => {
  const url = new URL(`${state.url}${target}`);
  for (const [name, value] of Object.entries(changes)) url.searchParams.set(name, String(value));
  return url.href;
};
