import { EphError, type Log, type Person, printPerson } from '@eph/contract';
import type { Cancel, Clock } from '../time/clock.ts';
import type { Token } from './caller.ts';
import { addRevocations, dropExpired, hasAll, keyOf, type RevocationList } from './revocation-list.ts';
import type { Revocation, RevocationStore, StoredRevocations } from './revocation-store.ts';
import { longestLifetimeMs, revocationMarginMs } from './token-times.ts';

export interface RevocationsOptions {
  readonly file: RevocationStore;
  /** Shared with other ephd; undefined where there is none. */
  readonly database: RevocationStore | undefined;
  readonly clock: Clock;
  /** Random, and another one each time. */
  readonly createGeneration: () => string;
  readonly log: Log;
}

export type RevocationsState =
  | { readonly ready: true; readonly generation: string }
  /** Every token is refused; the message says what to do. */
  | { readonly ready: false; readonly message: string };

export interface RevocationAnswer {
  /** Why the database does not have the revocation yet; undefined where it has it. It is repeated until it has it. */
  readonly missing: string | undefined;
}

/** How soon a revocation of another ephd counts, and how soon a failed write is repeated. */
const refreshMs = 3_000;

/** How long an answer waits for the database. */
const databaseMs = 5_000;

/**
 * Which tokens are revoked. The union of both stores is kept in memory, so that nobody who asks waits for a store. Each store
 * gets what it lacks, be it after a failure or after a loss. Where generations differ, the one of the database counts. A new
 * generation begins only when both stores answer that they have none; until they have answered, and while the file is damaged,
 * no token is valid.
 */
export class Revocations implements AsyncDisposable {
  readonly #options: RevocationsOptions;
  readonly #file: Replica;
  readonly #database: Replica | undefined;
  readonly #revoked = new Map<string, Revocation>();
  readonly #listeners = new Set<() => void>();
  #state: RevocationsState = { ready: false, message: 'the revoked tokens have not been read yet; try again in a moment' };
  #refreshing: Promise<void> | undefined;
  #cancel: Cancel | undefined;
  #isClosed = false;

  constructor(options: RevocationsOptions) {
    this.#options = options;
    this.#file = new Replica(options.file, options.log);
    this.#database = options.database && new Replica(options.database, options.log);
  }

  get state(): RevocationsState {
    return this.#state;
  }

  isRevoked({ id, after }: Pick<Token, 'id' | 'after'>, person: Person): boolean {
    return this.#revoked.has(keyOf({ kind: 'token', subject: id })) || after < this.revokedBefore(person);
  }

  /** What a token of the person must carry to be valid; 0 where none was revoked. */
  revokedBefore(person: Person): number {
    return this.#revoked.get(keyOf({ kind: 'person', subject: printPerson(person) }))?.before ?? 0;
  }

  /** Calls back after the state or a revocation has changed, until it is disposed of. */
  onChange(listener: () => void): Disposable {
    this.#listeners.add(listener);
    return { [Symbol.dispose]: () => void this.#listeners.delete(listener) };
  }

  /** Ends one token. Whoever does not know when it expires leaves that out. */
  revokeToken(id: string, expiresAt = this.#options.clock.now() + longestLifetimeMs): Promise<RevocationAnswer> {
    return this.#revoke({ kind: 'token', subject: id, before: 0, until: expiresAt + revocationMarginMs });
  }

  /** Ends all tokens of a person that exist now. */
  async revokePerson(person: Person): Promise<RevocationAnswer> {
    // Another ephd may have revoked them a moment ago, and may have made one since.
    const database = this.#database;
    if (database !== undefined && database.fault === undefined)
      await this.#inTime(
        database,
        this.refresh().then(() => undefined),
      );
    const before = Math.max(this.#options.clock.now(), this.revokedBefore(person) + 1);
    const until = before + longestLifetimeMs + revocationMarginMs;
    return this.#revoke({ kind: 'person', subject: printPerson(person), before, until });
  }

  /** Reads the stores, gives each what it lacks, and does so again from time to time. Never throws: the state says what came of it. */
  refresh(): Promise<void> {
    this.#refreshing ??= this.#refresh().finally(() => {
      this.#refreshing = undefined;
      this.#cancel?.();
      if (!this.#isClosed) this.#cancel = this.#options.clock.after(refreshMs, () => void this.refresh());
    });
    return this.#refreshing;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#isClosed = true;
    this.#cancel?.();
    // A database that does not answer is nothing to wait for.
    await this.#file.idle();
  }

  async #revoke(revocation: Revocation): Promise<RevocationAnswer> {
    if (!this.#state.ready) throw new EphError('access.unavailable', this.#state.message);
    const { generation } = this.#state;
    // Counts here from now on, even if no store can be reached.
    if (addRevocations(this.#revoked, [revocation])) this.#announce();
    const [file, database] = [this.#file, this.#database];
    const [fault, missing] = await Promise.all([
      file.fill(generation, this.#revoked),
      database && this.#inTime(database, database.fill(generation, this.#revoked)),
    ]);
    if (fault === undefined) return { missing };
    // After a restart, the file alone may have to do.
    const meanwhile = 'this ephd refuses the token until it stops, and keeps trying to write the file';
    throw new EphError('access.unavailable', `the revocation could not be written to the file: ${fault}; ${meanwhile}`);
  }

  #inTime({ place }: Replica, write: Promise<string | undefined>): Promise<string | undefined> {
    return new Promise((resolve) => {
      const cancel = this.#options.clock.after(databaseMs, () =>
        resolve(`${place} has not answered within ${databaseMs / 1000} seconds`),
      );
      void write.then((fault) => {
        cancel();
        resolve(fault);
      });
    });
  }

  async #refresh(): Promise<void> {
    const [file, database] = [this.#file, this.#database];
    // Only this ephd writes the file, so it is read until that has worked.
    await Promise.all([this.#state.ready ? undefined : file.read(), database?.read()]);
    const isNew = !this.#state.ready && file.stored === undefined && database?.stored === undefined;
    if (!this.#state.ready && file.fault !== undefined) return this.#refuse(file.fault);
    if (isNew && database?.fault !== undefined)
      return this.#refuse(`${file.place} does not exist, and ${database.fault}; tokens are refused until that answers`);
    const known = [database?.stored?.generation, this.#state.ready && this.#state.generation, file.stored?.generation];
    let generation = known.find((one) => typeof one === 'string') ?? this.#options.createGeneration();
    dropExpired(this.#revoked, this.#options.clock.now());
    const read = [file, database].flatMap((replica) => [...(replica?.stored?.revocations.values() ?? [])]);
    const isChanged = addRevocations(
      this.#revoked,
      read.filter(({ until }) => until >= this.#options.clock.now()),
    );
    if (database !== undefined && database.fault === undefined) await database.fill(generation, this.#revoked);
    if (isNew && database?.fault !== undefined) return this.#refuse(database.fault);
    // Another ephd may have been first.
    generation = database?.stored?.generation ?? generation;
    const fault = await file.fill(generation, this.#revoked);
    if (isNew && database === undefined && fault !== undefined) return this.#refuse(fault);
    if (this.#accept(generation) || isChanged) this.#announce();
  }

  #refuse(message: string): void {
    const isSame = !this.#state.ready && this.#state.message === message;
    this.#state = { ready: false, message };
    if (!isSame) this.#options.log.warn({ reason: message }, 'all tokens are refused');
  }

  /** Returns whether that is a change. */
  #accept(generation: string): boolean {
    if (this.#state.ready && this.#state.generation === generation) return false;
    if (this.#state.ready)
      this.#options.log.warn({}, 'the database has another generation: all tokens made until now have ended');
    this.#state = { ready: true, generation };
    return true;
  }

  #announce(): void {
    for (const listener of this.#listeners) listener();
  }
}

/** A store, and what it is known to hold. */
class Replica {
  readonly #store: RevocationStore;
  readonly #log: Log;
  #fault: string | undefined;
  #stored: { readonly generation: string; readonly revocations: RevocationList } | undefined;
  #turn: Promise<unknown> = Promise.resolve();
  #waiting: Promise<string | undefined> | undefined;
  #wanted = '';

  constructor(store: RevocationStore, log: Log) {
    this.#store = store;
    this.#log = log;
  }

  get place(): string {
    return this.#store.place;
  }

  /** Why it could not be read or written the last time. */
  get fault(): string | undefined {
    return this.#fault;
  }

  get stored(): { readonly generation: string; readonly revocations: RevocationList } | undefined {
    return this.#stored;
  }

  async read(): Promise<void> {
    await this.#inTurn(async () => {
      const stored = await this.#store.read();
      this.#stored = stored && toLists(stored);
    });
  }

  /** Adds everything if it lacks something. Returns why that failed. Calls that wait for their turn share one. */
  fill(generation: string, revoked: RevocationList): Promise<string | undefined> {
    this.#wanted = generation;
    this.#waiting ??= this.#inTurn(async () => {
      this.#waiting = undefined;
      const [known, generation] = [this.#stored, this.#wanted];
      if (known?.generation === generation && hasAll(known.revocations, revoked)) return;
      // Not only what it lacks: it may have lost the rest meanwhile, and would have a part of it with a valid generation.
      const revocations = [...revoked.values()];
      const stored = await this.#store.add({ generation, revocations });
      this.#stored = toLists({ generation: stored, revocations: [...(known?.revocations.values() ?? []), ...revocations] });
    });
    return this.#waiting;
  }

  async idle(): Promise<void> {
    await this.#turn;
  }

  /** One call at a time: each decides by what the one before it has left. */
  #inTurn(work: () => Promise<void>): Promise<string | undefined> {
    const run = this.#turn.then(async () => {
      try {
        await work();
        this.#note(undefined);
      } catch (error) {
        this.#note(error instanceof Error ? error.message : String(error));
      }
      return this.#fault;
    });
    this.#turn = run;
    return run;
  }

  #note(fault: string | undefined): void {
    if (fault !== undefined && this.#fault === undefined)
      this.#log.warn({ place: this.place, reason: fault }, 'revoked tokens cannot be stored in one place; will retry');
    if (fault === undefined && this.#fault !== undefined)
      this.#log.info({ place: this.place }, 'revoked tokens can be stored again');
    this.#fault = fault;
  }
}

const toLists = ({ generation, revocations }: StoredRevocations): { generation: string; revocations: RevocationList } => {
  const list = new Map<string, Revocation>();
  addRevocations(list, revocations);
  return { generation, revocations: list };
};
