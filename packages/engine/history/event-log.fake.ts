import {
  beforeAllEvents,
  createEventMatcher,
  EphError,
  type Event,
  type EventId,
  eventId,
  isAudit,
  redactEvent,
  type StoredEvent,
} from '@eph/contract';
import type { EventLog, EventLogHealth, EventQuery, FollowEntry, FollowQuery } from './event-log.ts';

export interface FakeEventLogOptions {
  readonly bufferLimit?: number;
  /** How many events are kept, so that a long simulation does not fill the memory. */
  readonly keepEvents?: number;
}

interface Appended {
  readonly sequence: number;
  readonly event: Event;
}

/** History in memory. During an outage nothing is stored. */
export class FakeEventLog implements EventLog {
  readonly #bufferLimit: number;
  readonly #keepEvents: number;
  #stored: StoredEvent[] = [];
  #waiting: Appended[] = [];
  #sequence = 0;
  #lost = 0;
  #lostAudit = 0;
  #outage = '';
  readonly #flushed: (() => void)[] = [];
  #changed = Promise.withResolvers<void>();

  constructor({ bufferLimit = 10_000, keepEvents = 10_000 }: FakeEventLogOptions = {}) {
    this.#bufferLimit = bufferLimit;
    this.#keepEvents = keepEvents;
  }

  append(event: Event): void {
    this.#sequence += 1;
    this.#waiting.push({ sequence: this.#sequence, event: redactEvent(event) });
    if (this.#outage === '') this.#store();
    else if (this.#waiting.length > this.#bufferLimit) this.#drop();
    this.#change();
  }

  read({ after, before, since, until, limit, ...filter }: EventQuery): Promise<readonly StoredEvent[]> {
    if (this.#outage !== '') return Promise.reject(new EphError('store.unreachable', this.#outage));
    const matches = createEventMatcher(filter);
    const matching = this.#stored.filter(
      (event) =>
        (after === undefined || event.id > after) &&
        (before === undefined || event.id < before) &&
        (since === undefined || event.at >= since.toISOString()) &&
        (until === undefined || event.at < until.toISOString()) &&
        matches(event),
    );
    return Promise.resolve(after === undefined && limit > 0 ? matching.slice(-limit) : matching.slice(0, Math.max(0, limit)));
  }

  async *follow(query: FollowQuery, signal: AbortSignal): AsyncGenerator<FollowEntry, void> {
    const matches = createEventMatcher(query);
    const shown = new Set<number>();
    let after: EventId = query.after ?? this.#stored.at(-1)?.id ?? beforeAllEvents;
    let lastUnstored = this.#sequence;
    let outage = '';
    signal.addEventListener('abort', () => this.#change(), { once: true });
    while (!signal.aborted) {
      const { promise } = this.#changed;
      if (outage !== this.#outage) {
        outage = this.#outage;
        yield { kind: 'storage', reachable: outage === '', message: outage };
      }
      for (const { sequence, event } of this.#waiting.filter((one) => one.sequence > lastUnstored)) {
        lastUnstored = sequence;
        shown.add(sequence);
        if (matches(event)) yield { kind: 'unstored', event };
      }
      for (const event of outage === '' ? this.#stored.filter(({ id }) => id > after) : []) {
        after = event.id;
        if (!shown.has(Number(event.id)) && matches(event)) yield { kind: 'stored', event };
      }
      await promise;
    }
  }

  health(): EventLogHealth {
    return {
      reachable: this.#outage === '',
      buffered: this.#waiting.length,
      lost: this.#lost,
      lostAudit: this.#lostAudit,
      message: this.#outage,
    };
  }

  flush(): Promise<void> {
    if (this.#waiting.length === 0) return Promise.resolve();
    return new Promise((resolve) => this.#flushed.push(resolve));
  }

  fail(message = 'the fake store is down'): void {
    this.#outage = message;
    this.#change();
  }

  recover(): void {
    this.#outage = '';
    this.#store();
    this.#change();
  }

  #store(): void {
    // As if it were the only writer: the sequence number is the id.
    for (const { sequence, event } of this.#waiting)
      this.#stored.push({ id: eventId(String(sequence).padStart(16, '0')), ...event });
    this.#waiting = [];
    if (this.#stored.length > 2 * this.#keepEvents) this.#stored = this.#stored.slice(-this.#keepEvents);
    for (const resolve of this.#flushed.splice(0)) resolve();
  }

  #drop(): void {
    const first = this.#waiting.findIndex(({ event }) => !isAudit(event));
    const [dropped] = this.#waiting.splice(Math.max(0, first), 1);
    this.#lost += 1;
    if (dropped !== undefined && isAudit(dropped.event)) this.#lostAudit += 1;
  }

  #change(): void {
    this.#changed.resolve();
    this.#changed = Promise.withResolvers();
  }
}
