import type { Cancel, Clock } from '../time/clock.ts';
import type { Lease, LeaseState } from './lease.ts';

export interface FakeLeaseTiming {
  readonly ttlMs?: number;
  readonly renewMs?: number;
}

/** The record that all holders compete for. Call `join` once per ephd. */
export class FakeLeaseStore {
  readonly #clock: Clock;
  readonly #ttlMs: number;
  readonly renewMs: number;
  #record: { readonly holder: string; readonly expiresAt: number } | undefined;
  #outage = '';

  constructor(clock: Clock, { ttlMs = 10_000, renewMs = 3_000 }: FakeLeaseTiming = {}) {
    this.#clock = clock;
    this.#ttlMs = ttlMs;
    this.renewMs = renewMs;
  }

  join(): FakeLease {
    return new FakeLease(this, this.#clock);
  }

  fail(message = 'the fake store is down'): void {
    this.#outage = message;
  }

  /** A lease that expired during the outage stays with its leader: nobody could have taken it. */
  recover(): void {
    this.#outage = '';
    if (this.#record) this.#record = { ...this.#record, expiresAt: this.#clock.now() + this.#ttlMs };
  }

  /** Who holds the lease after asking for it, or the outage. */
  acquire(holder: string): { readonly holder: string } | { readonly outage: string } {
    if (this.#outage !== '') return { outage: this.#outage };
    const now = this.#clock.now();
    if (this.#record === undefined || this.#record.holder === holder || this.#record.expiresAt <= now)
      this.#record = { holder, expiresAt: now + this.#ttlMs };
    return { holder: this.#record.holder };
  }

  release(holder: string): void {
    if (this.#outage === '' && this.#record?.holder === holder) this.#record = undefined;
  }
}

export class FakeLease implements Lease {
  readonly #store: FakeLeaseStore;
  readonly #clock: Clock;
  #crashed = false;

  constructor(store: FakeLeaseStore, clock: Clock) {
    this.#store = store;
    this.#clock = clock;
  }

  /** As if the process was killed: it neither renews nor releases. */
  crash(): void {
    this.#crashed = true;
  }

  hold(holder: string, changed: (state: LeaseState) => void, signal: AbortSignal): Promise<void> {
    if (signal.aborted) return Promise.resolve();
    return new Promise((resolve) => {
      let last: LeaseState | undefined;
      let cancel: Cancel = () => undefined;
      const step = (): void => {
        if (this.#crashed) return;
        const next = this.#ask(holder, last);
        cancel = this.#clock.after(this.#store.renewMs, step);
        if (JSON.stringify(next) === JSON.stringify(last)) return;
        last = next;
        changed(next);
      };
      const end = (): void => {
        cancel();
        if (!this.#crashed) this.#store.release(holder);
        resolve();
      };
      signal.addEventListener('abort', end, { once: true });
      step();
    });
  }

  #ask(holder: string, last: LeaseState | undefined): LeaseState {
    const answer = this.#store.acquire(holder);
    if ('outage' in answer) {
      const leading = last === undefined || last.state === 'leading' || (last.state === 'degraded' && last.leading);
      return { state: 'degraded', leading, message: answer.outage };
    }
    return answer.holder === holder ? { state: 'leading' } : { state: 'standby', holder: answer.holder };
  }
}
