import { budgetOf, type Viewer } from '../state/viewer.ts';

export interface RateLimitOptions {
  /** Requests per hour of a person or an installation. */
  readonly core: number;
  /** Searches per minute. */
  readonly search: number;
  /** Requests per hour of all unauthenticated clients together. */
  readonly anonymous: number;
}

export const githubRateLimits: RateLimitOptions = { core: 5000, search: 30, anonymous: 60 };

type Resource = 'core' | 'search';

interface Bucket {
  readonly limit: number;
  readonly resource: Resource;
  readonly resetAt: number;
  used: number;
}

const windowMs: Readonly<Record<Resource, number>> = { core: 3_600_000, search: 60_000 };

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

  get enabled(): boolean {
    return this.#options !== undefined;
  }

  /** Leaves every client this many requests in its current window. */
  leave(remaining: number): void {
    this.#remainingAtStart = remaining;
    for (const bucket of this.#buckets.values()) if (bucket.resource === 'core') bucket.used = bucket.limit - remaining;
  }

  /** Ends every window at once: budgets are full again. */
  reset(): void {
    this.#remainingAtStart = undefined;
    this.#buckets.clear();
  }

  bucket(viewer: Viewer, resource: Resource): Bucket {
    const key = `${budgetOf(viewer)} ${resource}`;
    const known = this.#buckets.get(key);
    if (known !== undefined && known.resetAt > this.#now()) return known;
    const limit = this.#limitOf(viewer, resource);
    const isFirst = known === undefined;
    const used = isFirst && resource === 'core' && this.#remainingAtStart !== undefined ? limit - this.#remainingAtStart : 0;
    const bucket = { limit, resource, resetAt: this.#now() + windowMs[resource], used };
    this.#buckets.set(key, bucket);
    return bucket;
  }

  isExhausted(bucket: Bucket): boolean {
    return this.enabled && bucket.used >= bucket.limit;
  }

  headers({ limit, used, resetAt, resource }: Bucket): Readonly<Record<string, string>> {
    if (!this.enabled) return {};
    return {
      'x-ratelimit-limit': String(limit),
      'x-ratelimit-remaining': String(Math.max(0, limit - used)),
      'x-ratelimit-used': String(used),
      'x-ratelimit-reset': String(Math.ceil(resetAt / 1000)),
      'x-ratelimit-resource': resource,
    };
  }

  #limitOf(viewer: Viewer, resource: Resource): number {
    if (this.#options === undefined) return Number.MAX_SAFE_INTEGER;
    if (resource === 'search') return this.#options.search;
    return viewer.kind === 'anonymous' ? this.#options.anonymous : this.#options.core;
  }
}
