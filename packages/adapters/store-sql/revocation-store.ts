import type { Revocation, RevocationStore, StoredRevocations } from '@eph/engine/access/revocation-store';
import type { Kysely, Transaction } from 'kysely';
import type { Schema } from './backend.ts';
import type { Database } from './database.ts';

/** There is one generation, so its row has one key. */
const key = 'tokens';

/** Building a statement takes ephd a tenth of a millisecond for each row, and nothing else runs meanwhile. */
const rowsPerStatement = 100;

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
      const generation = await readGeneration(db);
      return generation === undefined ? undefined : { generation, revocations: await readRevocations(db) };
    });
  }

  add({ generation, revocations }: StoredRevocations): Promise<string> {
    return this.#database.use((db) =>
      db.transaction().execute(async (transaction) => {
        const generations = transaction.insertInto('token_generation').values({ key, generation });
        await generations.onConflict((conflict) => conflict.column('key').doNothing()).execute();
        await transaction.deleteFrom('revocation').where('until', '<', this.#database.backend.nowMs).execute();
        const rows = findMissing(await readRevocations(transaction), revocations);
        for (let at = 0; at < rows.length; at += rowsPerStatement)
          await insertLater(transaction, rows.slice(at, at + rowsPerStatement));
        return (await readGeneration(transaction)) ?? generation;
      }),
    );
  }
}

const readGeneration = async (db: Kysely<Schema>): Promise<string | undefined> => {
  const row = await db.selectFrom('token_generation').select('generation').where('key', '=', key).executeTakeFirst();
  return row?.generation;
};

const readRevocations = async (db: Kysely<Schema>): Promise<readonly Revocation[]> => {
  const rows = await db.selectFrom('revocation').selectAll().execute();
  return rows.map((row) => ({ ...row, before: Number(row.before), until: Number(row.until) }));
};

const keyOf = ({ kind, subject }: Revocation): string => `${kind} ${subject}`;

/** In one order, so that two transactions do not wait for each other. */
const findMissing = (stored: readonly Revocation[], given: readonly Revocation[]): readonly Revocation[] => {
  const known = new Map(stored.map((row) => [keyOf(row), row]));
  const isMissing = (row: Revocation): boolean => {
    const { before = -1, until = -1 } = known.get(keyOf(row)) ?? {};
    return row.before > before || row.until > until;
  };
  return given.filter(isMissing).toSorted((a, b) => (keyOf(a) < keyOf(b) ? -1 : 1));
};

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
