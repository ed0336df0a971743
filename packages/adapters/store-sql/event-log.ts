import { randomUUID } from 'node:crypto';
import type { EnvironmentId, Event, EventType, ProjectId } from '@eph/contract';
import type { EventLog, EventLogHealth, EventQuery } from '@eph/engine/history/event-log';
import type { Clock } from '@eph/engine/time/clock';
import { type Insertable, type Kysely, type Selectable, sql } from 'kysely';
import type { Schema } from './backend.ts';
import type { Database } from './database.ts';
import { type BufferedEvent, EventBuffer } from './event-buffer.ts';

/** Longer texts are cut, so that the buffer has a limit in bytes too. */
const maxTextLength = 8_192;
/** Prunes after so many stored events, at most twice as many at a time: no statement takes long. */
const pruneEvery = 1_000;

export interface SqlEventLogOptions {
  readonly clock: Clock;
  readonly bufferLimit: number;
  readonly keepEvents: number;
}

export class SqlEventLog implements EventLog {
  readonly #database: Database;
  readonly #buffer: EventBuffer;
  readonly #keepEvents: number;
  readonly #writer = randomUUID();
  #storedSincePrune = 0;

  constructor(database: Database, { clock, bufferLimit, keepEvents }: SqlEventLogOptions) {
    this.#database = database;
    this.#keepEvents = keepEvents;
    const write = (batch: readonly BufferedEvent[]): Promise<void> => this.#write(batch);
    const sink = {
      get reachable() {
        return database.reachable;
      },
      write,
    };
    this.#buffer = new EventBuffer(sink, clock, bufferLimit);
  }

  append(event: Event): void {
    this.#buffer.add(event);
  }

  async read({ environment, limit }: EventQuery): Promise<readonly Event[]> {
    const rows = await this.#database.use((db) =>
      db
        .selectFrom('event')
        .select(['at', 'type', 'project', 'environment', 'message', 'details'])
        .$if(environment !== undefined, (query) => query.where('environment', '=', String(environment)))
        .orderBy('id', 'desc')
        // SQLite takes a negative limit as no limit.
        .limit(Math.max(0, Math.trunc(limit)))
        .execute(),
    );
    return rows.map(toEvent).toReversed();
  }

  health(): EventLogHealth {
    const { reachable, message } = this.#database;
    return { reachable, buffered: this.#buffer.buffered, lost: this.#buffer.lost, message };
  }

  flush(): Promise<void> {
    return this.#buffer.flush();
  }

  wake(): void {
    this.#buffer.wake();
  }

  close(graceMs: number): Promise<void> {
    return this.#buffer.close(graceMs);
  }

  async #write(batch: readonly BufferedEvent[]): Promise<void> {
    const rows = batch.map(({ sequence, event }) => ({ writer: this.#writer, sequence, ...toRow(event) }));
    await this.#database.use(async (db) => {
      if (rows.length === 0) return;
      await db
        .insertInto('event')
        .values(rows)
        .onConflict((conflict) => conflict.columns(['writer', 'sequence']).doNothing())
        .execute();
      this.#storedSincePrune += rows.length;
      if (this.#storedSincePrune < pruneEvery) return;
      await prune(db, this.#keepEvents);
      this.#storedSincePrune = 0;
    });
  }
}

/** Counts by id. Ids have gaps after repeated batches, so slightly fewer events may be kept, never more. */
const prune = async (db: Kysely<Schema>, keepEvents: number): Promise<void> => {
  const newestToGo = db.selectFrom('event').select(({ fn }) => sql<number>`${fn.max('id')} - ${sql.lit(keepEvents)}`.as('id'));
  await db
    .deleteFrom('event')
    .where('id', 'in', (from) =>
      from
        .selectFrom('event')
        .select('id')
        .where('id', '<=', newestToGo)
        .orderBy('id')
        .limit(2 * pruneEvery),
    )
    .execute();
};

const toRow = (event: Event): Omit<Insertable<Schema['event']>, 'writer' | 'sequence'> => ({
  at: event.at,
  type: event.type,
  project: event.project,
  environment: event.environment,
  message: clean(event.message),
  details: JSON.stringify(
    Object.fromEntries(
      Object.entries(event.details).map(([key, value]) => [clean(key), typeof value === 'string' ? clean(value) : value]),
    ),
  ),
});

/** PostgreSQL accepts neither NUL nor lone surrogates. */
const clean = (text: string): string => {
  const short = text.length > maxTextLength ? `${text.slice(0, maxTextLength - 1)}…` : text;
  return short.toWellFormed().replaceAll('\0', '\uFFFD');
};

type EventRow = Pick<Selectable<Schema['event']>, 'at' | 'type' | 'project' | 'environment' | 'message'> & {
  /** Text from SQLite, an object from PostgreSQL. */
  readonly details: string | Event['details'];
};

const toEvent = ({ at, type, project, environment, message, details }: EventRow): Event => ({
  at,
  // Only `toRow` writes these columns, so the types are right.
  type: type as EventType,
  project: project as ProjectId | null,
  environment: environment as EnvironmentId | null,
  message,
  details: typeof details === 'string' ? (JSON.parse(details) as Event['details']) : details,
});
