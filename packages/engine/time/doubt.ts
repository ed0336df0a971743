import type { Failure } from '@eph/contract';

const firstMs = 1_000;
const longestMs = 2 * 60_000;

/** A wait that is also over when it begins in the future: the clock was set back. */
export const isUnderWay = (from: number, ms: number, now: number): boolean => now >= from && now < from + ms;

/** Something could not be found out. It is tried again after a wait that grows. */
export class Doubt {
  readonly #now: () => number;
  readonly #random: () => number;
  #count = 0;
  #from = Number.NEGATIVE_INFINITY;
  #ms = 0;

  constructor(now: () => number, random: () => number) {
    this.#now = now;
    this.#random = random;
  }

  /** There has been one since the last certainty. */
  get exists(): boolean {
    return this.#count > 0;
  }

  /** How much longer to wait. */
  get waitMs(): number {
    const now = this.#now();
    return isUnderWay(this.#from, this.#ms, now) ? this.#from + this.#ms - now : 0;
  }

  /** Returns the time of the next attempt. */
  note(faults: readonly Failure[] = []): number {
    if (this.waitMs === 0) {
      const whole = Math.min(longestMs, firstMs * 2 ** Math.min(this.#count, 20));
      const asked = Math.max(0, ...faults.map(({ retryAfterMs }) => retryAfterMs ?? 0));
      this.#ms = Math.max(asked, whole * (0.75 + 0.25 * this.#random()));
      this.#from = this.#now();
      this.#count += 1;
    }
    return this.#from + this.#ms;
  }

  clear(): undefined {
    this.#count = 0;
    this.#ms = 0;
  }
}
