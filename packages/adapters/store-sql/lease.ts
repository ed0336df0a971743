import type { Lease, LeaseState } from '@eph/engine/history/lease';
import type { Clock } from '@eph/engine/time/clock';
import { type Kysely, sql } from 'kysely';
import type { Schema } from './backend.ts';
import type { Database } from './database.ts';

const key = 'leader';

export interface LeaseTiming {
  /** How long a leader that does not renew keeps the lease. */
  readonly ttlMs: number;
  readonly renewMs: number;
}

/** The holder, and the time until the lease expires. */
interface Answer {
  readonly holder: string;
  readonly remainingMs: number;
}

/**
 * One row, with times by the database's clock, so that skew of the holders' clocks does not matter. Holder names must be
 * unique per process: two processes with one name would share the lease.
 */
export class SqlLease implements Lease {
  readonly #database: Database;
  readonly #clock: Clock;
  readonly #timing: LeaseTiming;

  constructor(database: Database, clock: Clock, timing: LeaseTiming) {
    this.#database = database;
    this.#clock = clock;
    this.#timing = timing;
  }

  async hold(holder: string, changed: (state: LeaseState) => void, signal: AbortSignal): Promise<void> {
    if (signal.aborted) return;
    try {
      await this.#renewUntil(signal, holder, changed);
    } finally {
      await this.#release(holder);
    }
  }

  async #renewUntil(signal: AbortSignal, holder: string, changed: (state: LeaseState) => void): Promise<void> {
    const { ttlMs, renewMs } = this.#timing;
    let last: LeaseState | undefined;
    let deferUntil = 0;
    for (let round = 0; !signal.aborted; round += 1) {
      // After an outage, a standby first lets the old leader renew its expired lease.
      const { state, waitMs } = await this.#ask(holder, last, round >= deferUntil);
      if (signal.aborted) return;
      if (state.state === 'degraded' && !state.leading) deferUntil = round + 1 + Math.ceil(ttlMs / renewMs);
      if (JSON.stringify(state) !== JSON.stringify(last)) changed(state);
      last = state;
      await this.#sleep(waitMs, signal);
    }
  }

  async #ask(holder: string, last: LeaseState | undefined, mayTakeOver: boolean): Promise<{ state: LeaseState; waitMs: number }> {
    const { renewMs } = this.#timing;
    try {
      const answer = await this.#database.use((db) => this.#acquire(db, holder, mayTakeOver));
      if (answer.holder === holder) return { state: { state: 'leading' }, waitMs: renewMs };
      const waitMs = mayTakeOver ? Math.min(renewMs, Math.max(0, answer.remainingMs) + 1) : renewMs;
      return { state: { state: 'standby', holder: answer.holder }, waitMs };
    } catch (error) {
      const leading = last === undefined || last.state === 'leading' || (last.state === 'degraded' && last.leading);
      const message = error instanceof Error ? error.message : String(error);
      return { state: { state: 'degraded', leading, message }, waitMs: renewMs };
    }
  }

  /** Takes the lease if it is free, expired or our own, and returns the holder; atomic in one statement. */
  async #acquire(db: Kysely<Schema>, holder: string, mayTakeOver: boolean): Promise<Answer> {
    const { nowMs } = this.#database.backend;
    const row = await db
      .insertInto('coordination')
      .values({ key, holder, expires_at: sql<number>`${nowMs} + ${sql.lit(this.#timing.ttlMs)}` })
      .onConflict((conflict) =>
        conflict.column('key').doUpdateSet((eb) => {
          const ours = eb('coordination.holder', '=', holder);
          const takes = mayTakeOver ? eb.or([ours, eb('coordination.expires_at', '<', nowMs)]) : ours;
          const ifTaken = <Column extends 'holder' | 'expires_at'>(column: Column) =>
            eb
              .case()
              .when(takes)
              .then(eb.ref(`excluded.${column}`))
              .else(eb.ref(`coordination.${column}`))
              .end();
          return { holder: ifTaken('holder'), expires_at: ifTaken('expires_at') };
        }),
      )
      .returning(['holder', sql<number | string>`expires_at - ${nowMs}`.as('remaining')])
      .executeTakeFirstOrThrow();
    // PostgreSQL returns 64-bit numbers as text.
    return { holder: row.holder, remainingMs: Number(row.remaining) };
  }

  async #release(holder: string): Promise<void> {
    const giveUp = (db: Kysely<Schema>) =>
      db.deleteFrom('coordination').where('key', '=', key).where('holder', '=', holder).execute();
    // Without an answer the lease expires by itself.
    await this.#database.use(giveUp).catch(() => undefined);
  }

  #sleep(ms: number, signal: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      const end = (): void => {
        cancel();
        signal.removeEventListener('abort', end);
        resolve();
      };
      const cancel = this.#clock.after(ms, end);
      signal.addEventListener('abort', end, { once: true });
      if (signal.aborted) end();
    });
  }
}
