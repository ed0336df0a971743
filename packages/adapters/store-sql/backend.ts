import type { Generated, Kysely, RawBuilder, Transaction } from 'kysely';

export interface Schema {
  readonly event: {
    readonly id: Generated<number>;
    /** Which store wrote it, and as its how-manieth: a batch whose answer got lost is written again and stored once. */
    readonly writer: string;
    readonly sequence: number;
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
  readonly migration: {
    readonly number: number;
    readonly name: string;
  };
}

/** What differs between the two databases. */
export interface Backend {
  /** For people; never with credentials. */
  readonly place: string;
  readonly columnTypes: { readonly id: 'integer' | 'bigserial'; readonly json: 'text' | 'jsonb' };
  /** The database's own time in milliseconds, the same throughout a statement: the one watch that all holders of the lease share. */
  readonly nowMs: RawBuilder<number>;
  /** Connects on the first query. `lost` is called when a connection breaks that nobody is using. */
  open(lost: (error: unknown) => void): Session;
  /** Until the transaction ends, others who want to migrate wait or fail. */
  lockMigrations(transaction: Transaction<Schema>): Promise<void>;
  tables(db: Kysely<Schema>): Promise<readonly string[]>;
  /** True when the database works and this very statement is what it does not accept. */
  isRejected(error: unknown): boolean;
  explain(error: unknown): string;
}

export interface Session {
  readonly db: Kysely<Schema>;
  /** False when the location no longer names what is open here. */
  isCurrent(): boolean;
}
