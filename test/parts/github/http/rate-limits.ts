import { budgetOf, type Viewer } from '../state/viewer.ts';

export interface RateLimitOptions {
  /** Requests per hour of a person or an installation. */
  readonly core: number;
  /** Requests per hour of all unauthenticated clients together. */
  readonly anonymous: number;
}

export const githubRateLimits: RateLimitOptions = { core: 5000, anonymous: 60 };

interface Bucket {
  readonly limit: number;
  readonly resetAt: number;
  used: number;
}

const windowMs = 3_600_000;

/** The primary limit: a number of requests per window, per person or installation. Enterprise has it switched off by default. */
export class RateLimits {
  readonly #options: RateLimitOptions | undefined;
  readonly #now: () => number;
  readonly #buckets = new Map<string, Bucket>();
  #remainingAtStart: number | undefined;

  constructor(options: RateLimitOptions | undefined, now: () => number) {
    this.#options = options;
    this.#now = now;
  }

  /** Leaves every client this many requests in its current window. */
  leave(remaining: number): void {
    this.#remainingAtStart = remaining;
    for (const bucket of this.#buckets.values()) bucket.used = bucket.limit - remaining;
  }

  /** Ends every window at once: budgets are full again. */
  reset(): void {
    this.#remainingAtStart = undefined;
    this.#buckets.clear();
  }

  bucket(viewer: Viewer): Bucket {
    const key = budgetOf(viewer);
    const known = this.#buckets.get(key);
    if (known !== undefined && known.resetAt > this.#now()) return known;
    const limit = this.#limitOf(viewer);
    const used = known === undefined && this.#remainingAtStart !== undefined ? limit - this.#remainingAtStart : 0;
    const bucket = { limit, resetAt: this.#now() + windowMs, used };
    this.#buckets.set(key, bucket);
    return bucket;
  }

  isExhausted(bucket: Bucket): boolean {
    return this.#options !== undefined && bucket.used >= bucket.limit;
  }

  headers({ limit, used, resetAt }: Bucket): Readonly<Record<string, string>> {
    if (this.#options === undefined) return {};
    return {
      'x-ratelimit-limit': String(limit),
      'x-ratelimit-remaining': String(Math.max(0, limit - used)),
      'x-ratelimit-used': String(used),
      'x-ratelimit-reset': String(Math.ceil(resetAt / 1000)),
      'x-ratelimit-resource': 'core',
    };
  }

  #limitOf(viewer: Viewer): number {
    if (this.#options === undefined) return Number.MAX_SAFE_INTEGER;
    return viewer.kind === 'anonymous' ? this.#options.anonymous : this.#options.core;
  }
}
