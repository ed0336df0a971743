import { Refusal } from '../state/refusal.ts';
import type { Call, Reply } from './endpoint.ts';

interface Pages {
  readonly page?: number | undefined;
  readonly per_page?: number | undefined;
}

/** https://docs.gitlab.com/user/gitlab_com/#pagination-response-headers */
const countedItems = 10_000;
/** https://docs.gitlab.com/administration/instance_limits/#max-offset-allowed-by-the-rest-api-for-offset-based-pagination */
const maxOffset = 50_000;

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

export const refuseFarOffset = ({ page = 1, per_page: perPage = 20 }: Pages, type: string): void => {
  if ((page - 1) * perPage < maxOffset) return;
  const error = `Offset pagination has a maximum allowed offset of ${maxOffset} for requests that return objects of type ${type}. Remaining records can be retrieved using keyset pagination.`;
  throw new Refusal(405, { error });
};

/** https://docs.gitlab.com/api/rest/#keyset-based-pagination, ordered by id */
export const paginateByKey = <Item extends { readonly id: number }>(
  call: Call<
    Pages & {
      readonly sort?: 'asc' | 'desc' | undefined;
      readonly id_after?: number | undefined;
      readonly id_before?: number | undefined;
    }
  >,
  items: readonly Item[],
  represent: (item: Item) => unknown,
): Reply => {
  const { sort = 'desc', id_after: after = 0, id_before: before = Number.MAX_SAFE_INTEGER } = call.parameters;
  const perPage = perPageOf(call.parameters);
  const ordered = (call.emptyPages ? [] : items).toSorted((a, b) => (sort === 'asc' ? a.id - b.id : b.id - a.id));
  const rest = ordered.filter(({ id }) => id > after && id < before);
  const shown = rest.slice(0, perPage);
  const last = shown.at(-1);
  const isLast = last === undefined || shown.length === rest.length;
  const cursor = last === undefined ? {} : { [sort === 'asc' ? 'id_after' : 'id_before']: last.id };
  return {
    body: shown.map((item) => represent(item)),
    headers: isLast ? {} : { link: `<${pageUrl(call, cursor)}>; rel="next"` },
  };
};

/** More than a hundred is a hundred. */
const perPageOf = ({ per_page: wanted = 20 }: Pages): number => Math.min(100, Math.max(1, wanted));

const pageUrl = ({ state, target }: Call<unknown>, changes: Readonly<Record<string, number>>): string => {
  const url = new URL(`${state.url}${target}`);
  for (const [name, value] of Object.entries(changes)) url.searchParams.set(name, String(value));
  return url.href;
};
