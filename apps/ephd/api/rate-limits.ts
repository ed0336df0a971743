import { isIPv6 } from 'node:net';
import { printPerson } from '@eph/contract';
import { type Rate, TokenBucket } from '@eph/engine/time/token-bucket';
import type { Caller } from './handlers.ts';

/**
 * `requests` is far more than a dashboard in several tabs, the CI of a large team or `eph list` in a loop need. `refusals` is less,
 * because the audit history keeps each of them and drops the oldest: a flood would push out what matters. For the same reason,
 * `changes` counts what goes into that history, such as links to the dashboard: who makes 100,000 of them takes a day. `probes`
 * are requests for what the caller may not see. They are counted apart, and no answer shows it, since that would tell what exists.
 */
const rates = {
  requests: { perSecond: 100, burst: 2_000 },
  changes: { perSecond: 1, burst: 1_000 },
  refusals: { perSecond: 1 / 3, burst: 200 },
  probes: { perSecond: 1 / 3, burst: 200 },
} as const satisfies Readonly<Record<string, Rate>>;

const mostKeys = 10_000;

const policy = Object.entries(rates)
  .filter(([name]) => name !== 'probes')
  .map(([name, { perSecond, burst }]) => `"${name}";q=${burst};w=${Math.round(burst / perSecond)}`)
  .join(', ');

export interface Quota {
  /** Undefined where the request is within the limit. */
  readonly retryAfterMs: number | undefined;
  /** As draft-ietf-httpapi-ratelimit-headers-10 has them. */
  readonly headers: Readonly<Record<'ratelimit-policy' | 'ratelimit', string>>;
}

/**
 * Counts requests of each token, changes of each person, and of each address requests without a valid token. A token that is valid is never refused for what
 * others do from its address, which a whole office may share. So every token is looked at, however often the address failed: the
 * limit of refusals bounds logs and history, and does not have to stop guesses, since tokens have 256 bits or a signature.
 */
export class RateLimits {
  readonly #now: () => number;
  readonly #buckets = {
    requests: new Map<string, TokenBucket>(),
    changes: new Map<string, TokenBucket>(),
    refusals: new Map<string, TokenBucket>(),
    probes: new Map<string, TokenBucket>(),
  };

  constructor(now: () => number) {
    this.#now = now;
  }

  take(limit: keyof typeof rates, caller: Caller | undefined, address: string, cost = 1): Quota {
    const bucket = this.#find(limit, caller === undefined ? `address ${networkOf(address)}` : ownerOf(limit, caller));
    const { perSecond, burst } = bucket.rate;
    const isWithin = bucket.left >= cost;
    if (isWithin) bucket.take(cost);
    const remaining = bucket.left;
    return {
      retryAfterMs: isWithin ? undefined : ((cost - remaining) / perSecond) * 1_000,
      headers: {
        'ratelimit-policy': policy,
        ratelimit: `"${limit}";r=${Math.floor(remaining)};t=${Math.ceil((burst - remaining) / perSecond)}`,
      },
    };
  }

  #find(limit: keyof typeof rates, key: string): TokenBucket {
    const buckets = this.#buckets[limit];
    const bucket = buckets.get(key) ?? new TokenBucket(rates[limit], this.#now);
    // The last of the map is the one that was used last.
    buckets.delete(key);
    buckets.set(key, bucket);
    const [oldest] = buckets.keys();
    if (buckets.size > mostKeys && oldest !== undefined) buckets.delete(oldest);
    return bucket;
  }
}

/** Whoever has several tokens has one history. */
const ownerOf = (limit: keyof typeof rates, caller: Caller): string => {
  const { identity } = caller;
  if (limit !== 'changes') return keyOf(caller);
  return identity.kind === 'person' ? printPerson(identity.person) : identity.kind;
};

/** Equal for what comes with the same token, or in sessions of the same one. */
export const keyOf = ({ how, identity }: Caller): string =>
  `${how} ${identity.kind === 'person' ? (identity.token?.id ?? JSON.stringify(identity.person)) : identity.kind}`;

/** Whoever has one IPv6 address has 2^64 of them. */
const networkOf = (address: string): string => {
  if (!isIPv6(address)) return address;
  const [head = [], tail = []] = address.split('::').map((part) => part.split(':').filter((group) => group !== ''));
  return [...head, ...Array<string>(Math.max(0, 8 - head.length - tail.length)).fill('0'), ...tail].slice(0, 4).join(':');
};
