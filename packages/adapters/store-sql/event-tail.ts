import { createEventMatcher, type Event, type EventFilter, type EventId, type StoredEvent } from '@eph/contract';
import type { FollowEntry, FollowQuery } from '@eph/engine/history/event-log';
import type { Cancel, Clock } from '@eph/engine/time/clock';
import type { BufferedEvent } from './event-buffer.ts';

export interface LoggedEvent {
  readonly event: StoredEvent;
  /** The number that the buffer of this process gave it; undefined if another process stored it. */
  readonly sequence: number | undefined;
}

export interface TailSource {
  newest(): Promise<EventId>;
  /** The first `limit` events after the id. */
  read(query: EventFilter & { readonly after: EventId; readonly limit: number }): Promise<readonly LoggedEvent[]>;
  /** What this process has not stored yet. */
  buffered(): readonly BufferedEvent[];
}

interface TailEntry {
  readonly entry: Extract<FollowEntry, { readonly event: Event }>;
  readonly sequence: number | undefined;
}

const pollMs = 1_000;
/** Events that all followers share. */
const maxEntries = 1_000;
const pageSize = 200;
/** Small, because each follower that is behind holds a page of its own. */
const catchUpSize = 50;

/**
 * The end of the log, shared by all followers. While there are any, it reads what was stored: at once if this process
 * stored something, and every second for what others stored. A follower is a position in it. One that is behind, because
 * it began at an old id or is slow, reads from the database until it has caught up.
 */
export class EventTail {
  readonly #source: TailSource;
  readonly #clock: Clock;
  #entries: TailEntry[] = [];
  /** The position of the first entry. Positions only grow. */
  #first = 0;
  /** Later events become entries. Undefined until the first reading. */
  #cursor: EventId | undefined;
  /** Why storage does not answer. */
  #outage: string | undefined;
  #lastUnstored = 0;
  #followers = 0;
  readonly #waiting = new Set<() => void>();
  #isReading = false;
  #readAgain = false;
  #cancelPoll: Cancel | undefined;
  #isClosed = false;

  constructor(source: TailSource, clock: Clock) {
    this.#source = source;
    this.#clock = clock;
  }

  async *follow(query: FollowQuery, signal: AbortSignal): AsyncGenerator<FollowEntry, void> {
    const matches = createEventMatcher(query);
    const shown = new ShownEvents();
    let { after } = query;
    let position = this.#first + this.#entries.length;
    let isBehind = true;
    let sawOutage = false;
    this.#followers += 1;
    void this.#read();
    try {
      while (!signal.aborted && !this.#isClosed) {
        const outage = this.#outage;
        if (sawOutage !== (outage !== undefined)) {
          sawOutage = outage !== undefined;
          yield { kind: 'storage', reachable: !sawOutage, message: outage ?? '' };
          continue;
        }
        if (outage !== undefined && position < this.#first) {
          yield { kind: 'lagging' };
          return;
        }
        isBehind ||= position < this.#first;
        if (outage === undefined && isBehind && this.#cursor !== undefined) {
          // Events become visible in the order of their ids: what this reading does not return comes after this position.
          position = this.#first + this.#entries.length;
          after ??= this.#cursor;
          const page = await this.#source
            .read({ ...query, after, limit: catchUpSize })
            .catch((error: unknown) => this.lost(error));
          for (const { event, sequence } of page ?? []) {
            after = event.id;
            if (shown.add('stored', sequence)) yield { kind: 'stored', event };
          }
          isBehind = page?.length === undefined || page.length === catchUpSize;
          continue;
        }
        const next = this.#entries[position - this.#first];
        if (next === undefined) {
          await this.#wait(signal);
          continue;
        }
        position += 1;
        const { entry, sequence } = next;
        if (entry.kind === 'stored') {
          if (after !== undefined && entry.event.id <= after) continue;
          after = entry.event.id;
        }
        if (shown.add(entry.kind, sequence) && matches(entry.event)) yield entry;
      }
    } finally {
      this.#followers -= 1;
      if (this.#followers === 0) this.#reset();
    }
  }

  /** This process appended an event. */
  appended(sequence: number, event: Event): void {
    if (this.#outage === undefined) return;
    this.#lastUnstored = sequence;
    this.#push([{ entry: { kind: 'unstored', event }, sequence }]);
  }

  /** Storage answers, and may have events of this process that are new. */
  stored(): void {
    this.#found();
    void this.#read();
  }

  /** Storage does not answer. If it does after all, the next reading notices. */
  lost(reason: unknown): undefined {
    if (!this.#isFollowed || this.#outage !== undefined) return;
    this.#outage = reason instanceof Error ? reason.message : String(reason);
    this.#wakeAll();
    // Followers that begin during an outage see what was appended before when it is stored.
    if (this.#cursor === undefined) return;
    for (const { sequence, event } of this.#source.buffered()) if (sequence > this.#lastUnstored) this.appended(sequence, event);
  }

  close(): void {
    this.#isClosed = true;
    this.#cancelPoll?.();
    this.#wakeAll();
  }

  get #isFollowed(): boolean {
    return this.#followers > 0 && !this.#isClosed;
  }

  #found(): void {
    if (this.#outage === undefined) return;
    this.#outage = undefined;
    this.#wakeAll();
  }

  async #read(): Promise<void> {
    this.#readAgain = true;
    if (this.#isReading) return;
    this.#isReading = true;
    this.#cancelPoll?.();
    while (this.#readAgain && this.#isFollowed) {
      this.#readAgain = false;
      await this.#readEntries().catch((error: unknown) => this.lost(error));
    }
    this.#isReading = false;
    if (this.#isFollowed) this.#cancelPoll = this.#clock.after(pollMs, () => void this.#read());
  }

  async #readEntries(): Promise<void> {
    const cursor = this.#cursor;
    const page = cursor === undefined ? [] : await this.#source.read({ after: cursor, limit: pageSize });
    const newest = cursor === undefined ? await this.#source.newest() : (page.at(-1)?.event.id ?? cursor);
    // Meanwhile, all followers have left.
    if (this.#cursor !== cursor || !this.#isFollowed) return;
    this.#cursor = newest;
    this.#found();
    if (cursor === undefined || page.length > 0)
      this.#push(page.map(({ event, sequence }) => ({ entry: { kind: 'stored', event }, sequence })));
    if (page.length < pageSize) return;
    this.#readAgain = true;
    // Lets followers keep up.
    await this.#clock.nextTurn();
  }

  #push(entries: readonly TailEntry[]): void {
    this.#entries.push(...entries);
    // Twice as many, so that entries are moved rarely.
    if (this.#entries.length > 2 * maxEntries) {
      const kept = this.#entries.slice(-maxEntries);
      this.#first += this.#entries.length - kept.length;
      this.#entries = kept;
    }
    this.#wakeAll();
  }

  #wait(signal: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      const end = (): void => {
        this.#waiting.delete(end);
        signal.removeEventListener('abort', end);
        resolve();
      };
      this.#waiting.add(end);
      signal.addEventListener('abort', end);
    });
  }

  #wakeAll(): void {
    for (const end of this.#waiting) end();
  }

  #reset(): void {
    this.#cancelPoll?.();
    this.#first += this.#entries.length;
    this.#entries = [];
    this.#cursor = undefined;
    this.#outage = undefined;
  }
}

/**
 * Which events of this process a follower has seen, so that it sees none twice: they may be shown before they are stored,
 * or be found in storage although it did not confirm that it stored them.
 */
class ShownEvents {
  #lastStored = 0;
  #unstored: { readonly from: number; to: number }[] = [];

  /** False if it was shown before. */
  add(kind: 'stored' | 'unstored', sequence: number | undefined): boolean {
    if (sequence === undefined) return true;
    if (kind === 'unstored') {
      if (sequence <= this.#lastStored) return false;
      const last = this.#unstored.at(-1);
      if (last?.to === sequence - 1) last.to = sequence;
      else this.#unstored.push({ from: sequence, to: sequence });
      return true;
    }
    this.#lastStored = sequence;
    // A process stores its events in order.
    this.#unstored = this.#unstored.filter(({ to }) => sequence <= to);
    return !this.#unstored.some(({ from }) => from <= sequence);
  }
}
