import type { Revocation } from '@eph/engine/access/revocation-store';
import type { ColumnType, Kysely, RawBuilder, Transaction } from 'kysely';

/** PostgreSQL returns 64 bits as text. */
type BigInteger = ColumnType<number | string, number>;

export interface Schema {
  readonly event: {
    readonly id: BigInteger;
    /** The store that wrote it and its sequence number, so that a batch that is written again is stored once. */
    readonly writer: string;
    readonly sequence: BigInteger;
    readonly at: string;
    readonly type: string;
    readonly project: string | null;
    readonly environment: string | null;
    readonly message: string;
    readonly details: string;
  };
  readonly coordination: {
    readonly key: string;
    readonly holder: string;
    readonly expires_at: number;
  };
  readonly revocation: {
    readonly kind: Revocation['kind'];
    readonly subject: string;
    readonly before: BigInteger;
    readonly until: BigInteger;
  };
  readonly token_generation: {
    readonly key: string;
    readonly generation: string;
  };
  readonly migration: {
    readonly number: number;
    readonly name: string;
  };
}

/** What differs between the two databases. */
export interface Backend {
  /** For messages; never with credentials. */
  readonly place: string;
  readonly columnTypes: { readonly id: 'integer' | 'bigserial'; readonly json: 'text' | 'jsonb' };
  /** The database's clock in milliseconds, constant within a statement: the clock that all holders of the lease share. */
  readonly nowMs: RawBuilder<number>;
  /** Connects on the first query. `lost` is called when an idle connection breaks. */
  open(lost: (error: unknown) => void): Session;
  /**
   * Until the transaction ends, others that lock the same wait or fail. If its client falls silent, the transaction ends
   * within seconds.
   */
  lock(transaction: Transaction<Schema>, what: 'migrations' | 'events'): Promise<void>;
  /** Whether the message of an event contains this text; the case of ASCII letters does not matter. */
  messageContains(text: string): RawBuilder<boolean>;
  tables(db: Kysely<Schema>): Promise<readonly string[]>;
  /** Whether the database works and rejects this very statement. */
  isRejected(error: unknown): boolean;
  explain(error: unknown): string;
}

export interface Session {
  readonly db: Kysely<Schema>;
  /** False if the location no longer names what is open. */
  isCurrent(): boolean;
}
