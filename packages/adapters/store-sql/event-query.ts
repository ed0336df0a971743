import { type Event, type EventFilter, expandTypes } from '@eph/contract';
import type { EventQuery } from '@eph/engine/history/event-log';
import { expressionBuilder, type Kysely, type Selectable, type SelectQueryBuilder, sql } from 'kysely';
import type { Backend, Schema } from './backend.ts';

export type EventRow = Omit<Selectable<Schema['event']>, 'details'> & {
  /** Text from SQLite, an object from PostgreSQL. */
  readonly details: string | Event['details'];
};

/** A part of the log, and from which end of it rows are taken. */
interface Section {
  readonly above: number;
  readonly below: number;
  readonly order: 'asc' | 'desc';
  readonly limit: number;
}

/** The rows with one value of an indexed column, or all. */
type Range = { readonly column: 'environment' | 'project' | 'type'; readonly value: string | null } | 'all';

/** SQLite allows 500 parts of a union. */
const maxRanges = 100;
const fewRanges = 10;
/** Takes SQLite a few milliseconds. */
const scannedAtOnce = 5_000;
/** How much later than it happened an event may have been stored, for queries by time. */
const maxDelayMs = 24 * 60 * 60 * 1_000;

/** Oldest first. `nextTurn` lets other work run during a long search: SQLite blocks ephd. */
export const selectEvents = async (
  db: Kysely<Schema>,
  backend: Backend,
  query: EventQuery,
  nextTurn: () => Promise<void>,
): Promise<readonly EventRow[]> => {
  const ranges = chooseRanges(query);
  const select = (ranges: readonly Range[], section: Section) => selectPage(db, backend, query, ranges, section);
  const isSearch = query.text !== undefined && query.environment === undefined;
  let rest = await findSection(db, query);
  let found: readonly EventRow[] = [];
  // A caller that may see many projects mostly finds a page in the first piece, without a query for each project.
  for (let isFirst = true; isSearch || (isFirst && ranges.length > fewRanges); isFirst = false) {
    const edge = await findEdge(db, rest);
    const rows = await select(ranges.length === 0 ? [] : ['all'], edge === undefined ? rest : cutAt(rest, edge));
    found = rest.order === 'asc' ? [...found, ...rows] : [...rows, ...found];
    if (edge === undefined || rows.length === rest.limit) return found;
    rest = beyond({ ...rest, limit: rest.limit - rows.length }, edge);
    await nextTurn();
  }
  const rows = await select(ranges, rest);
  return rest.order === 'asc' ? [...found, ...rows] : [...rows, ...found];
};

const cutAt = (section: Section, edge: number): Section =>
  section.order === 'asc' ? { ...section, below: edge + 1 } : { ...section, above: edge - 1 };

const beyond = (section: Section, edge: number): Section =>
  section.order === 'asc' ? { ...section, above: edge } : { ...section, below: edge };

const findSection = async (db: Kysely<Schema>, { after, before, since, until, limit }: EventQuery): Promise<Section> => {
  const ids = db.selectFrom('event').select('id').limit(1);
  // Ids are not in the order of time, but what happened long before was stored before.
  const earlier = since && ids.where('at', '<', toText(since, -maxDelayMs)).orderBy('at', 'desc');
  const later = until && ids.where('at', '>', toText(until, maxDelayMs)).orderBy('at');
  return {
    above: Math.max(Number(after ?? 0), Number((await earlier?.executeTakeFirst())?.id ?? 0)),
    below: Math.min(Number(before ?? Infinity), Number((await later?.executeTakeFirst())?.id ?? Number.MAX_SAFE_INTEGER)),
    order: after === undefined ? 'desc' : 'asc',
    // SQLite takes a negative limit as no limit.
    limit: Math.max(0, Math.trunc(limit)),
  };
};

/** The last row that is scanned at once. Undefined if fewer are left. */
const findEdge = async (db: Kysely<Schema>, { above, below, order }: Section): Promise<number | undefined> => {
  const row = await db
    .selectFrom('event')
    .select('id')
    .where('id', '>', above)
    .where('id', '<', below)
    .orderBy('id', order)
    .limit(1)
    .offset(scannedAtOnce - 1)
    .executeTakeFirst();
  return row && Number(row.id);
};

/**
 * A page costs the same however long the log is. For a list of values, databases would sort all rows that match. So the
 * first rows of each value are taken in the order of its index, and the first of these are the page.
 */
const selectPage = async (
  db: Kysely<Schema>,
  backend: Backend,
  query: EventQuery,
  ranges: readonly Range[],
  section: Section,
): Promise<readonly EventRow[]> => {
  const { order, limit } = section;
  let page: readonly EventRow[] = [];
  for (let at = 0; at < ranges.length; at += maxRanges) {
    const ids = ranges
      .slice(at, at + maxRanges)
      .map((range) => db.selectFrom(selectIds(db, backend, query, section, range).as('some')).select('id'))
      .reduce((all, some) => all.unionAll(some));
    const first = db.selectFrom(ids.as('ids')).select('id').orderBy('id', order).limit(limit);
    const rows: EventRow[] = await db.selectFrom('event').selectAll().where('id', 'in', first).execute();
    const sorted = [...page, ...rows].toSorted((a, b) => Number(a.id) - Number(b.id));
    page = order === 'asc' ? sorted.slice(0, limit) : sorted.slice(Math.max(0, sorted.length - limit));
  }
  return page;
};

const chooseRanges = ({ environment, projects, types }: EventFilter): readonly Range[] => {
  if (projects?.length === 0 || (types !== undefined && expandTypes(types).length === 0)) return [];
  if (environment !== undefined) return [{ column: 'environment', value: environment }];
  if (projects !== undefined) return [...new Set(projects)].map((value) => ({ column: 'project', value }));
  if (types !== undefined) return expandTypes(types).map((value) => ({ column: 'type', value }));
  return ['all'];
};

const selectIds = (
  db: Kysely<Schema>,
  backend: Backend,
  { since, until, projects, types, text }: EventQuery,
  { above, below, order, limit }: Section,
  range: Range,
): SelectQueryBuilder<Schema, 'event', { id: number | string }> => {
  const is = expressionBuilder<Schema, 'event'>();
  // SQLite would prefer the index of this column to that of the range.
  const unindexed = (column: 'project' | 'type') => is.fn.coalesce(column, sql.lit(''));
  const column = range === 'all' ? undefined : range.column;
  const conditions = [
    is('id', '>', above),
    is('id', '<', below),
    range !== 'all' && is(range.column, range.value === null ? 'is' : '=', range.value),
    since !== undefined && is('at', '>=', toText(since)),
    until !== undefined && is('at', '<', toText(until)),
    projects !== undefined &&
      column !== 'project' &&
      is(
        unindexed('project'),
        'in',
        projects.map((project) => project ?? ''),
      ),
    types !== undefined && column !== 'type' && is(unindexed('type'), 'in', expandTypes(types)),
    text !== undefined && backend.messageContains(text),
  ];
  return db
    .selectFrom('event')
    .select('id')
    .where(is.and(conditions.filter((condition) => condition !== false)))
    .orderBy('id', order)
    .limit(limit);
};

const toText = (time: Date, plusMs = 0): string => new Date(time.getTime() + plusMs).toISOString();
