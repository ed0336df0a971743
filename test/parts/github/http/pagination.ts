import { type CursorList, Problem } from './answer.ts';

/** The part of a list that is shown. */
export interface Window {
  readonly from: number;
  readonly to: number;
  /** The `Link` header; nothing where everything fits on one page. */
  readonly link: string | undefined;
}

type Query = Readonly<Record<string, unknown>>;

const largestPage = 100;
const usualPage = 30;

export const pageWindow = (url: URL, query: Query, total: number): Window => {
  const page = Math.max(1, numberOr(query['page'], 1));
  const perPage = perPageOf(query);
  const last = Math.max(1, Math.ceil(total / perPage));
  const to = (target: number, rel: string): string => linkTo(url, { page: String(target) }, rel);
  const links = [
    ...(page > 1 ? [to(Math.min(page - 1, last), 'prev')] : []),
    ...(page < last ? [to(page + 1, 'next'), to(last, 'last')] : []),
    ...(page > 1 ? [to(1, 'first')] : []),
  ];
  return { from: (page - 1) * perPage, to: page * perPage, link: joined(links) };
};

/** The items before or after an entry, which may no longer be in the list itself. */
export const cursorWindow = (url: URL, query: Query, { ids, ascending }: CursorList): Window => {
  const perPage = perPageOf(query);
  const [before, after] = [parseCursor(query, 'before'), parseCursor(query, 'after')];
  if (before !== undefined && after !== undefined) throw new Problem(422, 'Only one of before and after may be given.');
  const isBefore = (a: number, b: number): boolean => (ascending ? a < b : a > b);
  const end = before === undefined ? undefined : ids.filter((id) => isBefore(id, before)).length;
  const start = after === undefined ? 0 : ids.filter((id) => !isBefore(after, id)).length;
  const from = end === undefined ? start : Math.max(0, end - perPage);
  const to = end ?? Math.min(ids.length, from + perPage);
  const [first, last] = [ids[from], ids[to - 1]];
  const links = [
    ...(from > 0 && first !== undefined ? [linkTo(url, { before: cursorOf(first) }, 'prev')] : []),
    ...(to < ids.length && last !== undefined ? [linkTo(url, { after: cursorOf(last) }, 'next')] : []),
  ];
  return { from, to, link: joined(links) };
};

/** GitHub accepts a page size that is too large and returns a hundred. */
const perPageOf = (query: Query): number => Math.min(largestPage, Math.max(1, numberOr(query['per_page'], usualPage)));

const numberOr = (value: unknown, usual: number): number => (typeof value === 'number' ? value : usual);

const cursorOf = (id: number): string => Buffer.from(`cursor:${id}`).toString('base64url');

const parseCursor = (query: Query, name: 'before' | 'after'): number | undefined => {
  const text = query[name];
  if (typeof text !== 'string') return undefined;
  const id = /^cursor:(\d+)$/.exec(Buffer.from(text, 'base64url').toString())?.[1];
  if (id === undefined) throw new Problem(422, `${name} is not a cursor of a Link header.`);
  return Number(id);
};

const linkTo = (url: URL, position: Readonly<Record<string, string>>, rel: string): string => {
  const link = new URL(url);
  for (const name of ['before', 'after']) link.searchParams.delete(name);
  for (const [name, value] of Object.entries(position)) link.searchParams.set(name, value);
  return `<${link.href}>; rel="${rel}"`;
};

const joined = (links: readonly string[]): string | undefined => (links.length === 0 ? undefined : links.join(', '));
