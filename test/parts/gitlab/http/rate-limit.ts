import type { Answer } from '../../emulation/loopback-server.ts';

export interface RateLimitOptions {
  /** Requests of one user in one period. */
  readonly limit: number;
  readonly periodSeconds: number;
}

/**
 * Counts requests per user in fixed windows. A conditional request that is answered with 304 counts like any other: GitLab throttles
 * before it processes the request. https://docs.gitlab.com/administration/settings/user_and_ip_rate_limits/#response-headers
 */
export class RateLimit {
  #options: RateLimitOptions | undefined;
  readonly #now: () => number;
  #window = 0;
  readonly #observed = new Map<string, number>();

  constructor(options: RateLimitOptions | undefined, now: () => number) {
    this.#options = options;
    this.#now = now;
  }

  /** From now on; `undefined` lifts it. */
  set options(options: RateLimitOptions | undefined) {
    this.#options = options;
    this.#observed.clear();
  }

  /** Counts a request; returns an answer only if the limit is exceeded. */
  count(who: string): { readonly headers: Readonly<Record<string, string>>; readonly answer?: Answer } {
    if (this.#options === undefined) return { headers: {} };
    const { limit, periodSeconds } = this.#options;
    const seconds = Math.floor(this.#now() / 1000);
    const window = Math.floor(seconds / periodSeconds);
    if (window !== this.#window) this.#observed.clear();
    this.#window = window;
    const observed = (this.#observed.get(who) ?? 0) + 1;
    this.#observed.set(who, observed);
    const reset = (window + 1) * periodSeconds;
    const headers = {
      'ratelimit-name': who === '' ? 'throttle_unauthenticated_api' : 'throttle_authenticated_api',
      'ratelimit-limit': String(Math.ceil((limit * 60) / periodSeconds)),
      'ratelimit-observed': String(observed),
      'ratelimit-remaining': String(Math.max(0, limit - observed)),
      'ratelimit-reset': String(reset),
      'ratelimit-resettime': new Date(reset * 1000).toUTCString(),
    };
    return observed <= limit ? { headers } : { headers, answer: tooMany(headers, reset - seconds) };
  }
}

/** Plain text, unlike every other error. */
const tooMany = (headers: Readonly<Record<string, string>>, retryAfter: number): Answer => ({
  status: 429,
  headers: { ...headers, 'content-type': 'text/plain', 'retry-after': String(retryAfter) },
  body: Buffer.from('Retry later\n'),
});
