import { EphError } from '@eph/contract';
import type { Clock } from '@eph/engine/time/clock';
import type { Kysely } from 'kysely';
import type { Backend, Schema, Session } from './backend.ts';
import { migrate } from './migrations.ts';

interface OpenSession extends Session {
  readonly migrated: Promise<void>;
}

/**
 * A database that may become unreachable. Any failure closes the session; the next use opens a new one and migrates
 * again. So a restarted server, a deleted file and dropped tables are all handled the same way.
 */
export class Database {
  readonly backend: Backend;
  readonly #changed: (reachable: boolean, message: string) => void;
  #session: OpenSession | undefined;
  readonly #closing = new Set<Promise<void>>();
  #reachable = false;
  #message: string;
  #closed = false;

  constructor(backend: Backend, changed: (reachable: boolean, message: string) => void) {
    this.backend = backend;
    this.#changed = changed;
    this.#message = `${backend.place} has not answered yet`;
  }

  get reachable(): boolean {
    return this.#reachable;
  }

  get message(): string {
    return this.#message;
  }

  /** Throws `store.unreachable`, or the database's error if it rejected the statement. */
  async use<T>(work: (db: Kysely<Schema>) => Promise<T>): Promise<T> {
    if (this.#closed) throw new EphError('store.unreachable', `${this.backend.place} was closed`);
    const session = this.#currentSession();
    let migrated = false;
    try {
      await session.migrated;
      migrated = true;
      const result = await work(session.db);
      this.#setMessage('');
      return result;
    } catch (error) {
      if (!migrated || !this.backend.isRejected(error)) throw this.#discard(session, error);
      this.#setMessage('');
      throw error;
    }
  }

  /** Closes all sessions, waiting at most `graceMs`. */
  async close(clock: Clock, graceMs: number): Promise<void> {
    this.#closed = true;
    if (this.#session) this.#destroy(this.#session);
    const closed = Promise.all(this.#closing).then(() => undefined);
    const graceOver = new Promise<void>((resolve) => {
      const cancel = clock.after(graceMs, resolve);
      void closed.then(cancel);
    });
    await Promise.race([closed, graceOver]);
  }

  #currentSession(): OpenSession {
    if (this.#session?.isCurrent() === false) this.#destroy(this.#session);
    this.#session ??= this.#open();
    return this.#session;
  }

  #open(): OpenSession {
    const session = this.backend.open((error) => {
      if (this.#session?.db === session.db) this.#discard(this.#session, error);
    });
    return { ...session, migrated: migrate(session.db, this.backend) };
  }

  #discard(session: OpenSession, error: unknown): EphError {
    this.#destroy(session);
    const unreachable = new EphError('store.unreachable', `${this.backend.place} does not work: ${this.backend.explain(error)}`, {
      cause: error,
    });
    this.#setMessage(unreachable.message);
    return unreachable;
  }

  #destroy(session: OpenSession): void {
    if (this.#session === session) this.#session = undefined;
    const closing = session.migrated
      .then(() => session.db.destroy())
      .catch(() => session.db.destroy())
      // A session that cannot be closed has failed before, and its user got the error.
      .catch(() => undefined)
      .finally(() => this.#closing.delete(closing));
    this.#closing.add(closing);
  }

  #setMessage(message: string): void {
    if (this.#closed) return;
    const reachable = message === '';
    const changed = reachable !== this.#reachable;
    this.#reachable = reachable;
    this.#message = message;
    if (changed) this.#changed(reachable, message);
  }
}
