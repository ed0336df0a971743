import { chmodSync, statSync } from 'node:fs';
import { DatabaseSync, type SQLInputValue } from 'node:sqlite';
import {
  CompiledQuery,
  type DatabaseConnection,
  Kysely,
  type SqliteDatabase,
  SqliteDialect,
  type SqliteDialectConfig,
  SqliteDriver,
  sql,
} from 'kysely';
import type { Backend, Schema } from './backend.ts';

/** Short, because node:sqlite is synchronous and blocks ephd; the buffer retries anyway. */
const busyTimeoutMs = 100;

export const createSqliteBackend = (path: string): Backend => ({
  place: `SQLite file ${path}`,
  columnTypes: { id: 'integer', json: 'text' },
  nowMs: sql<number>`cast(unixepoch('subsec') * 1000 as integer)`,
  open: () => {
    let opened: string | undefined;
    const dialect = new ImmediateSqliteDialect({
      database: () => {
        const file = openFile(path);
        opened = identify(path);
        return Promise.resolve(file);
      },
    });
    return {
      db: new Kysely<Schema>({ dialect }),
      // The deleted file stays open, so its inode cannot be reused.
      isCurrent: () => opened === undefined || opened === identify(path),
    };
  },
  // The transaction already holds the write lock.
  lock: () => Promise.resolve(),
  messageContains: (text) => sql<boolean>`instr(lower(message), lower(${text})) > 0`,
  tables: async (db) => {
    const { rows } = await sql<{ name: string }>`select name from sqlite_master where type = 'table'`.execute(db);
    return rows.map(({ name }) => name);
  },
  isRejected: (error) => rejectedCodes.has(primaryCode(error)),
  explain: (error) => {
    const hint = hints[primaryCode(error)];
    const message = error instanceof Error ? error.message : String(error);
    return hint === undefined ? message : `${message} (${hint})`;
  },
});

/** Too big, constraint, mismatch: https://sqlite.org/rescode.html */
const rejectedCodes = new Set([18, 19, 20]);

const hints: { readonly [code: number]: string } = {
  8: 'ephd has no write permission there',
  11: 'the file is damaged: delete it, only history is lost',
  13: 'the disk is full',
  14: 'check that its folder exists and that ephd may write there',
  26: 'the file is damaged: delete it, only history is lost',
};

/** The low byte; extended codes refine it. */
const primaryCode = (error: unknown): number =>
  error instanceof Error && 'errcode' in error && typeof error.errcode === 'number' ? error.errcode & 0xff : 0;

const identify = (path: string): string => {
  const stat = statSync(path, { throwIfNoEntry: false });
  return stat === undefined ? 'missing' : `${stat.dev}:${stat.ino}`;
};

/** The interface that Kysely expects of better-sqlite3, on node:sqlite. */
const openFile = (path: string): SqliteDatabase => {
  const file = new DatabaseSync(path, { timeout: busyTimeoutMs });
  try {
    // The files beside it get the same mode.
    chmodSync(path, 0o600);
    file.exec('pragma journal_mode = wal; pragma synchronous = normal');
  } catch (error) {
    file.close();
    throw error;
  }
  return {
    close: () => file.close(),
    prepare: (text) => {
      const statement = file.prepare(text);
      return {
        reader: statement.columns().length > 0,
        // Kysely's type is wider than the values of this schema: text, numbers and null.
        all: (parameters) => statement.all(...(parameters as SQLInputValue[])),
        run: (parameters) => statement.run(...(parameters as SQLInputValue[])),
        iterate: (parameters) => statement.iterate(...(parameters as SQLInputValue[])),
      };
    },
  };
};

/** A deferred transaction that reads before it writes fails at once on a conflict; with the write lock it waits. */
class ImmediateSqliteDriver extends SqliteDriver {
  override async beginTransaction(connection: DatabaseConnection): Promise<void> {
    await connection.executeQuery(CompiledQuery.raw('begin immediate'));
  }

  /** Some errors, such as a full disk, have ended the transaction: a rollback fails then, and would hide them. */
  override async rollbackTransaction(connection: DatabaseConnection): Promise<void> {
    await super.rollbackTransaction(connection).catch(() => undefined);
  }
}

class ImmediateSqliteDialect extends SqliteDialect {
  readonly #config: SqliteDialectConfig;

  constructor(config: SqliteDialectConfig) {
    super(config);
    this.#config = config;
  }

  override createDriver(): SqliteDriver {
    return new ImmediateSqliteDriver(this.#config);
  }
}
