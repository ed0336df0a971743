import type { Kysely, Transaction } from 'kysely';
import type { Backend, Schema } from './backend.ts';

interface Migration {
  readonly name: string;
  up(transaction: Transaction<Schema>, backend: Backend): Promise<void>;
}

/** Append only. Each must be repeatable: all run again if a table is missing. */
const migrations: readonly Migration[] = [
  {
    name: 'events and coordination',
    up: async (transaction, { columnTypes }) => {
      await transaction.schema
        .createTable('event')
        .ifNotExists()
        .addColumn('id', columnTypes.id, (column) => column.primaryKey())
        .addColumn('writer', 'text', (column) => column.notNull())
        .addColumn('sequence', 'bigint', (column) => column.notNull())
        .addColumn('at', 'text', (column) => column.notNull())
        .addColumn('type', 'text', (column) => column.notNull())
        .addColumn('project', 'text')
        .addColumn('environment', 'text')
        .addColumn('message', 'text', (column) => column.notNull())
        .addColumn('details', columnTypes.json, (column) => column.notNull())
        .addUniqueConstraint('event_written_once', ['writer', 'sequence'])
        .execute();
      await transaction.schema
        .createIndex('event_of_environment')
        .ifNotExists()
        .on('event')
        .columns(['environment', 'id'])
        .execute();
      await transaction.schema
        .createTable('coordination')
        .ifNotExists()
        .addColumn('key', 'text', (column) => column.primaryKey())
        .addColumn('holder', 'text', (column) => column.notNull())
        .addColumn('expires_at', 'bigint', (column) => column.notNull())
        .execute();
    },
  },
  {
    name: 'events by project, type and time',
    up: async ({ schema }) => {
      for (const [name, columns] of [
        ['event_of_project', ['project', 'id']],
        ['event_of_type', ['type', 'id']],
        ['event_of_time', ['at']],
      ] as const)
        await schema
          .createIndex(name)
          .ifNotExists()
          .on('event')
          .columns([...columns])
          .execute();
    },
  },
  {
    name: 'revoked tokens',
    up: async (transaction) => {
      await transaction.schema
        .createTable('revocation')
        .ifNotExists()
        .addColumn('kind', 'text', (column) => column.notNull())
        .addColumn('subject', 'text', (column) => column.notNull())
        .addColumn('before', 'bigint', (column) => column.notNull())
        .addColumn('until', 'bigint', (column) => column.notNull())
        .addPrimaryKeyConstraint('revocation_of_subject', ['kind', 'subject'])
        .execute();
      await transaction.schema
        .createTable('token_generation')
        .ifNotExists()
        .addColumn('key', 'text', (column) => column.primaryKey())
        .addColumn('generation', 'text', (column) => column.notNull())
        .execute();
    },
  },
];

const tables = ['event', 'coordination', 'revocation', 'token_generation', 'migration'];

/**
 * Migrates the schema; safe to run concurrently. Kysely's own migrator takes no lock on SQLite and does not notice a
 * missing table.
 */
export const migrate = async (db: Kysely<Schema>, backend: Backend): Promise<void> => {
  if ((await readApplied(db, backend)) === migrations.length) return;
  await db.transaction().execute(async (transaction) => {
    await backend.lock(transaction, 'migrations');
    const applied = await readApplied(transaction, backend);
    if (applied === 0) await createMigrationTable(transaction);
    for (const [index, migration] of migrations.entries()) {
      if (index < applied) continue;
      await migration.up(transaction, backend);
      await transaction
        .insertInto('migration')
        .values({ number: index + 1, name: migration.name })
        .onConflict((conflict) => conflict.column('number').doNothing())
        .execute();
    }
  });
};

/** The number of applied migrations; 0 if a table is missing. */
const readApplied = async (db: Kysely<Schema>, backend: Backend): Promise<number> => {
  const present = await backend.tables(db);
  if (!tables.every((table) => present.includes(table))) return 0;
  const row = await db
    .selectFrom('migration')
    .select(({ fn }) => fn.max('number').as('last'))
    .executeTakeFirst();
  const applied = row?.last ?? 0;
  if (applied > migrations.length)
    throw new Error(`its schema version is ${applied}, but this ephd supports up to ${migrations.length}: use a newer ephd`);
  return applied;
};

const createMigrationTable = (transaction: Transaction<Schema>): Promise<void> =>
  transaction.schema
    .createTable('migration')
    .ifNotExists()
    .addColumn('number', 'integer', (column) => column.primaryKey())
    .addColumn('name', 'text', (column) => column.notNull())
    .execute();
