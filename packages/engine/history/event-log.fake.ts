import { EphError, type Event } from '@eph/contract';
import type { EventLog, EventLogHealth, EventQuery } from './event-log.ts';

export interface FakeEventLogOptions {
  readonly bufferLimit?: number;
  /** How many events are kept, so that a long simulation does not fill the memory. */
  readonly keepEvents?: number;
}

/** History in memory. During an outage nothing is stored. */
export class FakeEventLog implements EventLog {
  readonly #bufferLimit: number;
  readonly #keepEvents: number;
  #stored: Event[] = [];
  #waiting: Event[] = [];
  #lost = 0;
  #outage = '';
  readonly #flushed: (() => void)[] = [];

  constructor({ bufferLimit = 10_000, keepEvents = 10_000 }: FakeEventLogOptions = {}) {
    this.#bufferLimit = bufferLimit;
    this.#keepEvents = keepEvents;
  }

  append(event: Event): void {
    this.#waiting.push(event);
    if (this.#outage === '') this.#store();
    else if (this.#waiting.length > this.#bufferLimit) {
      this.#waiting.shift();
      this.#lost += 1;
    }
  }

  read({ environment, limit }: EventQuery): Promise<readonly Event[]> {
    if (this.#outage !== '') return Promise.reject(new EphError('store.unreachable', this.#outage));
    const matching = environment === undefined ? this.#stored : this.#stored.filter((event) => event.environment === environment);
    return Promise.resolve(limit > 0 ? matching.slice(-limit) : []);
  }

  health(): EventLogHealth {
    return { reachable: this.#outage === '', buffered: this.#waiting.length, lost: this.#lost, message: this.#outage };
  }

  flush(): Promise<void> {
    if (this.#waiting.length === 0) return Promise.resolve();
    return new Promise((resolve) => this.#flushed.push(resolve));
  }

  fail(message = 'the fake store is down'): void {
    this.#outage = message;
  }

  recover(): void {
    this.#outage = '';
    this.#store();
  }

  #store(): void {
    this.#stored.push(...this.#waiting);
    this.#waiting = [];
    if (this.#stored.length > 2 * this.#keepEvents) this.#stored = this.#stored.slice(-this.#keepEvents);
    for (const resolve of this.#flushed.splice(0)) resolve();
  }
}
