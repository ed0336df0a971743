export interface Rate {
  readonly perSecond: number;
  /** How many may come at once. */
  readonly burst: number;
}

/** Tokens that come back with time. A clock that is set back adds none. */
export class TokenBucket {
  readonly rate: Rate;
  readonly #now: () => number;
  #left: number;
  #countedAt: number;

  constructor(rate: Rate, now: () => number) {
    this.rate = rate;
    this.#now = now;
    this.#left = rate.burst;
    this.#countedAt = now();
  }

  get left(): number {
    const now = this.#now();
    const seconds = Math.max(0, now - this.#countedAt) / 1000;
    this.#left = Math.min(this.rate.burst, this.#left + seconds * this.rate.perSecond);
    this.#countedAt = now;
    return this.#left;
  }

  /** Takes so many, on credit if they are not there. Returns how many seconds pass until they are. */
  take(count = 1): number {
    this.#left = this.left - count;
    return Math.max(0, -this.#left / this.rate.perSecond);
  }
}
