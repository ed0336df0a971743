import type { Cancel, Clock } from './clock.ts';

/** A clock whose hands only move when told to. Callbacks due at the same moment run in the order they were set. */
export class ManualClock implements Clock {
  /** How often others could have had a turn. */
  turns = 0;
  #now: number;
  #sequence = 0;
  readonly #timers = new Map<number, { readonly at: number; readonly callback: () => void }>();

  constructor(now = Date.parse('2026-01-05T09:00:00Z')) {
    this.#now = now;
  }

  now(): number {
    return Math.floor(this.#now);
  }

  after(ms: number, callback: () => void): Cancel {
    const id = this.#sequence;
    this.#sequence += 1;
    this.#timers.set(id, { at: this.#now + Math.max(0, ms), callback });
    return () => void this.#timers.delete(id);
  }

  nextTurn(): Promise<void> {
    this.turns += 1;
    return Promise.resolve();
  }

  /** The moment of the earliest timer. */
  nextDue(): number | undefined {
    let earliest: number | undefined;
    for (const { at } of this.#timers.values()) if (earliest === undefined || at < earliest) earliest = at;
    return earliest;
  }

  /** Moves the hands forward, firing what falls due on the way, each at its own moment. */
  advance(ms: number): void {
    const target = this.#now + ms;
    for (;;) {
      let due: { id: number; at: number; callback: () => void } | undefined;
      for (const [id, timer] of this.#timers)
        if (timer.at <= target && (due === undefined || timer.at < due.at)) due = { id, ...timer };
      if (due === undefined) break;
      this.#timers.delete(due.id);
      this.#now = Math.max(this.#now, due.at);
      due.callback();
    }
    this.#now = target;
  }

  /** The wall clock is set, by a person or by the network; waiting timers neither hurry nor tarry. */
  jump(ms: number): void {
    this.#now += ms;
    for (const [id, timer] of this.#timers) this.#timers.set(id, { ...timer, at: timer.at + ms });
  }

  get pending(): number {
    return this.#timers.size;
  }
}
