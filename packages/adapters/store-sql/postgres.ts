import { EphError } from '@eph/contract';
import { Kysely, PostgresDialect, sql } from 'kysely';
import { DatabaseError, Pool } from 'pg';
import type { Backend, Schema } from './backend.ts';

const connectTimeoutMs = 5_000;
/** Limits the wait for a server that accepts connections but does not answer. */
const queryTimeoutMs = 5_000;
const connections = 4;

/**
 * Keys are arbitrary, but the same in every ephd. Without a limit, the transaction of an ephd that was cut off would keep
 * the lock for hours. That of events is shorter than the time that others wait for it.
 */
const locks = { migrations: { key: 7_384_627, maxIdleMs: 30_000 }, events: { key: 7_384_628, maxIdleMs: 4_000 } };

export const createPostgresBackend = (url: string): Backend => ({
  place: describeUrl(url),
  columnTypes: { id: 'bigserial', json: 'jsonb' },
  nowMs: sql<number>`cast(extract(epoch from statement_timestamp()) * 1000 as bigint)`,
  open: (lost) => {
    const createPool = (): Pool => {
      const pool = new Pool({
        connectionString: url,
        max: connections,
        connectionTimeoutMillis: connectTimeoutMs,
        query_timeout: queryTimeoutMs,
        keepAlive: true,
        application_name: 'ephd',
      });
      pool.on('error', lost);
      // Without a listener, a connection that breaks within a transaction would end the process. The next statement
      // fails.
      pool.on('connect', (client) => client.on('error', () => undefined));
      return pool;
    };
    const dialect = new PostgresDialect({ pool: () => Promise.resolve(createPool()) });
    return { db: new Kysely<Schema>({ dialect }), isCurrent: () => true };
  },
  lock: async (transaction, what) => {
    const { key, maxIdleMs } = locks[what];
    await sql`
      select set_config('idle_in_transaction_session_timeout', ${String(maxIdleMs)}, true),
        pg_advisory_xact_lock(${sql.lit(key)})`.execute(transaction);
  },
  // Other collations lower more than ASCII.
  messageContains: (text) => sql<boolean>`strpos(lower(message collate "C"), lower(${acceptable(text)} collate "C")) > 0`,
  tables: async (db) => {
    const { rows } = await sql<{ tablename: string }>`
      select tablename from pg_catalog.pg_tables where schemaname = current_schema()`.execute(db);
    return rows.map(({ tablename }) => tablename);
  },
  // Class 22 is data exceptions, class 23 integrity constraints: https://www.postgresql.org/docs/current/errcodes-appendix.html
  isRejected: (error) => error instanceof DatabaseError && /^2[23]/.test(error.code ?? ''),
  explain,
});

/** PostgreSQL accepts neither NUL nor lone surrogates. */
export const acceptable = (text: string): string => text.toWellFormed().replaceAll('\0', '\uFFFD');

/** Host and database, without user and password. */
const describeUrl = (url: string): string => {
  const parsed = URL.parse(url);
  if (parsed === null || !['postgres:', 'postgresql:'].includes(parsed.protocol))
    throw new EphError('config.invalid', 'the database URL must look like postgres://user:password@host:5432/name');
  const host = parsed.host === '' ? (parsed.searchParams.get('host') ?? 'the local socket') : parsed.host;
  return `PostgreSQL ${decodeURIComponent(parsed.pathname).replace(/^\//, '')} at ${host}`;
};

/** Node reports a refused connection as one error per address, without a message of its own. */
const explain = (error: unknown): string => {
  if (error instanceof AggregateError) return error.errors.map(explain).join('; ');
  return error instanceof Error ? error.message : String(error);
};
