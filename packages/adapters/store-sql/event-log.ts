import { randomUUID } from 'node:crypto';
import {
  type EnvironmentId,
  type Event,
  type EventId,
  type EventType,
  eventId,
  type ProjectId,
  redactEvent,
  type StoredEvent,
} from '@eph/contract';
import type { EventLog, EventLogHealth, EventQuery, FollowEntry, FollowQuery } from '@eph/engine/history/event-log';
import type { Clock } from '@eph/engine/time/clock';
import type { Insertable, Kysely } from 'kysely';
import type { Schema } from './backend.ts';
import type { Database } from './database.ts';
import { type BufferedEvent, EventBuffer } from './event-buffer.ts';
import { type EventRow, selectEvents } from './event-query.ts';
import { EventTail, type LoggedEvent } from './event-tail.ts';
import { acceptable } from './postgres.ts';

/** Longer texts are cut, so that the buffer has a limit in bytes too. */
const maxTextLength = 8_192;
/** Prunes a type after so many stored events, at most twice as many at a time: no statement takes long. */
const pruneEvery = 1_000;

export interface SqlEventLogOptions {
  readonly clock: Clock;
  readonly bufferLimit: number;
  readonly keepEvents: number;
}

export class SqlEventLog implements EventLog {
  readonly #database: Database;
  readonly #clock: Clock;
  readonly #buffer: EventBuffer;
  readonly #tail: EventTail;
  readonly #keepEvents: number;
  readonly #writer = randomUUID();
  /** How many events of a type were stored since it was pruned. */
  readonly #unpruned = new Map<EventType, number>();

  constructor(database: Database, { clock, bufferLimit, keepEvents }: SqlEventLogOptions) {
    this.#database = database;
    this.#clock = clock;
    this.#keepEvents = keepEvents;
    const write = (batch: readonly BufferedEvent[]): Promise<void> => this.#write(batch);
    const sink = {
      get reachable() {
        return database.reachable;
      },
      write,
    };
    this.#buffer = new EventBuffer(sink, clock, bufferLimit);
    const source = {
      newest: () => this.#readNewest(),
      read: (query: EventQuery) => this.#read(query),
      buffered: () => this.#buffer.content,
    };
    this.#tail = new EventTail(source, clock);
  }

  append(event: Event): void {
    const clean = cleanEvent(redactEvent(event));
    this.#tail.appended(this.#buffer.add(clean), clean);
  }

  async read(query: EventQuery): Promise<readonly StoredEvent[]> {
    return (await this.#read(query)).map(({ event }) => event);
  }

  follow(query: FollowQuery, signal: AbortSignal): AsyncIterable<FollowEntry> {
    return this.#tail.follow(query, signal);
  }

  health(): EventLogHealth {
    const { reachable, message } = this.#database;
    const { buffered, lost, lostAudit } = this.#buffer;
    return { reachable, buffered, lost, lostAudit, message };
  }

  flush(): Promise<void> {
    return this.#buffer.flush();
  }

  /** Call when the reachability of the database changed, and once at the start. */
  wake(): void {
    this.#buffer.wake();
    if (this.#database.reachable) this.#tail.stored();
    else this.#tail.lost(this.#database.message);
  }

  async close(graceMs: number): Promise<void> {
    await this.#buffer.close(graceMs);
    this.#tail.close();
  }

  async #read(query: EventQuery): Promise<readonly LoggedEvent[]> {
    const { backend } = this.#database;
    const rows = await this.#database.use((db) => selectEvents(db, backend, query, () => this.#clock.nextTurn()));
    return rows.map((row) => ({ event: toEvent(row), sequence: row.writer === this.#writer ? Number(row.sequence) : undefined }));
  }

  #readNewest(): Promise<EventId> {
    return this.#database.use(async (db) => toId((await selectNewest(db).executeTakeFirst())?.id ?? 0));
  }

  async #write(batch: readonly BufferedEvent[]): Promise<void> {
    await this.#database.use(async (db) => {
      if (batch.length === 0) return;
      await this.#insert(db, batch);
      for (const { event } of batch) this.#unpruned.set(event.type, (this.#unpruned.get(event.type) ?? pruneEvery) + 1);
      for (const [type, count] of this.#unpruned) {
        if (count < pruneEvery) continue;
        await prune(db, type, this.#keepEvents);
        this.#unpruned.set(type, 0);
      }
    });
    this.#tail.stored();
  }

  /**
   * Ids grow in the order of commits: they are given under a lock that is held until the commit. The values of a sequence
   * would not, since a transaction can commit after one with a greater value, and a reader that has seen the greater one
   * would miss the other. They begin with the time, so that they also grow if the table is lost.
   */
  #insert(db: Kysely<Schema>, batch: readonly BufferedEvent[]): Promise<void> {
    const { backend } = this.#database;
    const builder = db.transaction().setIsolationLevel('read committed');
    return builder.execute(async (transaction) => {
      await backend.lock(transaction, 'events');
      const { id, now } = await selectNewest(transaction)
        .select(backend.nowMs.$castTo<number | string>().as('now'))
        .executeTakeFirstOrThrow();
      const first = Math.max(Number(id ?? 0) + 1, Number(now) * 1_000);
      const rows = batch.map(({ sequence, event }, index) => ({
        id: first + index,
        writer: this.#writer,
        sequence,
        ...toRow(event),
      }));
      await transaction
        .insertInto('event')
        .values(rows)
        .onConflict((conflict) => conflict.columns(['writer', 'sequence']).doNothing())
        .execute();
    });
  }
}

const selectNewest = (db: Kysely<Schema>) => db.selectFrom('event').select(({ fn }) => fn.max('id').as('id'));

const prune = async (db: Kysely<Schema>, type: EventType, keepEvents: number): Promise<void> => {
  const ofType = db.selectFrom('event').select('id').where('type', '=', type);
  const newestToGo = ofType.orderBy('id', 'desc').limit(1).offset(keepEvents);
  const some = ofType
    .where('id', '<=', newestToGo)
    .orderBy('id')
    .limit(2 * pruneEvery);
  await db.deleteFrom('event').where('id', 'in', some).execute();
};

/** Without fields that the table does not have. */
const cleanEvent = ({ at, type, project, environment, message, details }: Event): Event => ({
  at,
  type,
  project,
  environment,
  message: cleanText(message),
  details: Object.fromEntries(
    Object.entries(details).map(([key, value]) => [cleanText(key), typeof value === 'string' ? cleanText(value) : value]),
  ),
});

const cleanText = (text: string): string =>
  acceptable(text.length > maxTextLength ? `${text.slice(0, maxTextLength - 1)}…` : text);

const toRow = (event: Event): Omit<Insertable<Schema['event']>, 'id' | 'writer' | 'sequence'> => ({
  ...event,
  details: JSON.stringify(event.details),
});

const toId = (id: number | string): EventId => eventId(String(id).padStart(16, '0'));

const toEvent = ({ id, at, type, project, environment, message, details }: EventRow): StoredEvent => ({
  id: toId(id),
  at,
  // Only `toRow` writes these columns, so the types are right.
  type: type as EventType,
  project: project as ProjectId | null,
  environment: environment as EnvironmentId | null,
  message,
  details: typeof details === 'string' ? (JSON.parse(details) as Event['details']) : details,
});
