import type { Log } from '@eph/contract';
import type { RevocationStore } from '@eph/engine/access/revocation-store';
import type { EventLog } from '@eph/engine/history/event-log';
import type { Lease } from '@eph/engine/history/lease';
import type { Clock } from '@eph/engine/time/clock';
import { Database } from './database.ts';
import { SqlEventLog } from './event-log.ts';
import { type LeaseTiming, SqlLease } from './lease.ts';
import { createPostgresBackend } from './postgres.ts';
import { SqlRevocationStore } from './revocation-store.ts';
import { createSqliteBackend } from './sqlite.ts';

export interface SqlStoreOptions {
  readonly location: StoreLocation;
  readonly clock: Clock;
  readonly log?: Log;
  readonly bufferLimit?: number;
  /** Approximate number of events of each type to keep; 100,000 take about 60 MB. */
  readonly keepEvents?: number;
  readonly lease?: LeaseTiming;
}

/** The folder of the SQLite file must exist; the file and the tables are created. */
export type StoreLocation = { readonly sqlite: string } | { readonly postgres: string };

/** History, leadership and revoked tokens. Creating it does not wait for the database. */
export interface Store extends AsyncDisposable {
  readonly events: EventLog;
  readonly lease: Lease;
  readonly revocations: RevocationStore;
}

/** A killed leader is replaced after at most 10 s; three renewals may fail before that. */
const defaultTiming: LeaseTiming = { ttlMs: 10_000, renewMs: 3_000 };

/** How long closing waits for an unreachable database: once for the last events, once for the connections. */
const closeGraceMs = 2_000;

export const createSqlStore = (options: SqlStoreOptions): Store => {
  const { location, clock, log, bufferLimit = 10_000, keepEvents = 100_000, lease = defaultTiming } = options;
  const backend = 'sqlite' in location ? createSqliteBackend(location.sqlite) : createPostgresBackend(location.postgres);
  let lostBefore = 0;
  const database = new Database(backend, (reachable, message) => {
    const { buffered, lost } = events.health();
    if (!reachable) log?.warn({ reason: message }, 'store unreachable');
    else log?.info({ place: backend.place, buffered, lostMeanwhile: lost - lostBefore }, 'store reachable');
    lostBefore = lost;
    events.wake();
  });
  const events = new SqlEventLog(database, { clock, bufferLimit, keepEvents });
  events.wake();
  return {
    events,
    lease: new SqlLease(database, clock, lease),
    revocations: new SqlRevocationStore(database),
    [Symbol.asyncDispose]: async () => {
      await events.close(closeGraceMs);
      const { lost, lostAudit } = events.health();
      if (lost > lostBefore) log?.warn({ lost: lost - lostBefore, lostAudit }, 'events were not stored');
      lostBefore = lost;
      await database.close(clock, closeGraceMs);
    },
  };
};
