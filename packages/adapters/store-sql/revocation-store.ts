import type { Revocation, RevocationStore, StoredRevocations } from '@eph/engine/access/revocation-store';
import type { Transaction } from 'kysely';
import type { Schema } from './backend.ts';
import type { Database } from './database.ts';

/** There is one generation, so its row has one key. */
const key = 'tokens';

/** PostgreSQL takes at most 65,535 values in a statement, SQLite 32,766. */
const rowsPerStatement = 1_000;

/** Two tables. The generation that is stored first stays, since several ephd share the database. */
export class SqlRevocationStore implements RevocationStore {
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database;
  }

  get place(): string {
    return this.#database.backend.place;
  }

  read(): Promise<StoredRevocations | undefined> {
    return this.#database.use(async (db) => {
      const known = await db.selectFrom('token_generation').select('generation').where('key', '=', key).executeTakeFirst();
      if (known === undefined) return undefined;
      const rows = await db.selectFrom('revocation').selectAll().execute();
      const revocations = rows.map((row) => ({ ...row, before: Number(row.before), until: Number(row.until) }));
      return { generation: known.generation, revocations };
    });
  }

  add({ generation, revocations }: StoredRevocations): Promise<string> {
    // In one order, so that two transactions do not wait for each other.
    const rows = revocations.toSorted((a, b) => (`${a.kind} ${a.subject}` < `${b.kind} ${b.subject}` ? -1 : 1));
    return this.#database.use((db) =>
      db.transaction().execute(async (transaction) => {
        const generations = transaction.insertInto('token_generation').values({ key, generation });
        await generations.onConflict((conflict) => conflict.column('key').doNothing()).execute();
        await transaction.deleteFrom('revocation').where('until', '<', this.#database.backend.nowMs).execute();
        for (let at = 0; at < rows.length; at += rowsPerStatement)
          await insertLater(transaction, rows.slice(at, at + rowsPerStatement));
        const stored = transaction.selectFrom('token_generation').select('generation').where('key', '=', key);
        return (await stored.executeTakeFirstOrThrow()).generation;
      }),
    );
  }
}

/** Of two rows, the later of each time counts. */
const insertLater = async (transaction: Transaction<Schema>, rows: readonly Revocation[]): Promise<void> => {
  await transaction
    .insertInto('revocation')
    .values(rows)
    .onConflict((conflict) =>
      conflict.columns(['kind', 'subject']).doUpdateSet((eb) => {
        const later = (column: 'before' | 'until') => {
          const [given, stored] = [eb.ref(`excluded.${column}`), eb.ref(`revocation.${column}`)];
          return eb.case().when(given, '>', stored).then(given).else(stored).end();
        };
        return { before: later('before'), until: later('until') };
      }),
    )
    .execute();
};
