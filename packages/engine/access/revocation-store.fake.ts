import { EphError } from '@eph/contract';
import { addRevocations, dropExpired } from './revocation-list.ts';
import type { Revocation, RevocationStore, StoredRevocations } from './revocation-store.ts';

/** A file or a database in memory, which fails when told to. */
export class FakeRevocationStore implements RevocationStore {
  readonly place: string;
  /** Thrown instead of an answer. */
  fault: string | undefined;
  writes = 0;
  readonly #keeps: 'first generation' | 'last generation';
  readonly #now: () => number;
  readonly #revocations = new Map<string, Revocation>();
  #generation: string | undefined;

  constructor(place: 'file' | 'database', now: () => number) {
    this.place = `the ${place}`;
    this.#keeps = place === 'file' ? 'last generation' : 'first generation';
    this.#now = now;
  }

  async read(): Promise<StoredRevocations | undefined> {
    await this.#answer();
    return this.#generation === undefined
      ? undefined
      : { generation: this.#generation, revocations: [...this.#revocations.values()] };
  }

  async add({ generation, revocations }: StoredRevocations): Promise<string> {
    this.writes += 1;
    await this.#answer();
    if (this.#keeps === 'last generation' || this.#generation === undefined) this.#generation = generation;
    addRevocations(this.#revocations, revocations);
    dropExpired(this.#revocations, this.#now());
    return this.#generation;
  }

  lose(): void {
    this.#generation = undefined;
    this.#revocations.clear();
  }

  async #answer(): Promise<void> {
    await Promise.resolve();
    if (this.fault !== undefined) throw new EphError('store.unreachable', `${this.place} ${this.fault}`);
  }
}
