import { createBoundedCache } from './bounded-cache.ts';
import { createExchange, type Received } from './exchange.ts';
import type { Gate } from './gate.ts';
import { createSingleFlight } from './single-flight.ts';

export interface ConditionalFetchOptions {
  /** Shared by everything that uses the same identity at the same forge. */
  readonly gate: Gate;
  readonly fetch?: typeof fetch;
  /** For one request and its whole answer. */
  readonly timeoutMs?: number;
  readonly bodyLimitBytes?: number;
  readonly cacheLimitBytes?: number;
}

interface CacheEntry {
  readonly received: Received;
  readonly validator: readonly [header: string, value: string];
}

/**
 * A `fetch` for the API of a forge, used by one identity. Clients that take a `fetch` of their own can be built on it.
 *
 * - An answer is handed over only when the whole of it has arrived. Otherwise an `EphError` is thrown, also while the gate is closed.
 * - What has an entity tag is kept and asked for again with it: an unchanged answer costs nothing and looks as it did the first time.
 *   A request that brings a validator of its own is left alone and sees the status 304.
 * - Equal GETs under way become one. `cache: 'no-cache'` begins a request of its own, for whoever must not get an answer that is older
 *   than the question; `'no-store'` also ignores what is kept.
 * - Redirects are followed on the same server only.
 */
export const createConditionalFetch = (options: ConditionalFetchOptions): typeof fetch => {
  const { gate, fetch = globalThis.fetch, timeoutMs = 30_000, bodyLimitBytes = 32 * 1024 * 1024 } = options;
  const exchange = createExchange({ fetch, gate, timeoutMs, bodyLimitBytes });
  const cache = createBoundedCache<CacheEntry>(options.cacheLimitBytes ?? 32 * 1024 * 1024);
  const shareRequest = createSingleFlight<Received>();

  const read = async (request: Request, key: string, signal: AbortSignal): Promise<Received> => {
    if (hasValidator(request) || request.cache === 'no-store') return await exchange(request, signal);
    const before = cache.get(key);
    const received = await exchange(before === undefined ? request : withHeader(request, before.validator), signal);
    if (received.status === 304 && before !== undefined) return refreshed(before.received, received.headers);
    const validator = received.status === 200 ? validatorOf(received.headers) : undefined;
    if (validator === undefined) cache.delete(key);
    else cache.set(key, { received, validator }, received.body.length + key.length + headersBytes);
    return received;
  };

  return async (input, init) => {
    const request = new Request(input, init);
    const { signal } = request;
    if (request.method !== 'GET') return toResponse(await exchange(request, signal));
    const key = keyOf(request);
    if (request.cache !== 'default') return toResponse(await read(request, key, signal));
    return toResponse(await shareRequest(key, (shared) => read(request, key, shared), signal));
  };
};

/** What an answer depends on. The identity is not part of it: a token that was renewed finds what the one before it left. */
const keyOf = ({ url, headers }: Request): string =>
  [url, ...['accept', 'if-none-match', 'if-modified-since'].map((name) => headers.get(name) ?? '')].join('\n');

const hasValidator = ({ headers }: Request): boolean => headers.has('if-none-match') || headers.has('if-modified-since');

/** Roughly what the headers of an answer take up. */
const headersBytes = 1_024;

/** Two changes in one second have the same date; it tells apart only what is long past. As RFC 9110, section 8.8.2.2, has it. */
const minAgeMs = 60_000;

const validatorOf = (headers: Headers): CacheEntry['validator'] | undefined => {
  if (/\bno-store\b/i.test(headers.get('cache-control') ?? '')) return undefined;
  const tag = headers.get('etag');
  if (tag !== null) return ['if-none-match', tag];
  const modified = headers.get('last-modified');
  const ageMs = Date.parse(headers.get('date') ?? '') - Date.parse(modified ?? '');
  return modified !== null && ageMs >= minAgeMs ? ['if-modified-since', modified] : undefined;
};

const withHeader = (request: Request, [name, value]: readonly [string, string]): Request => {
  const headers = new Headers(request.headers);
  headers.set(name, value);
  return new Request(request, { headers });
};

/** The kept answer with what the new one says about budget and dates. */
const refreshed = (received: Received, headers: Headers): Received => {
  const merged = new Headers(received.headers);
  for (const [name, value] of headers) merged.set(name, value);
  return { ...received, headers: merged };
};

const statusesWithoutBody = new Set([101, 204, 205, 304]);

const toResponse = ({ status, statusText, headers, body, url }: Received): Response => {
  const response = new Response(statusesWithoutBody.has(status) ? null : body, { status, statusText, headers });
  // A response that was not made by `fetch` has no address, and clients look at it.
  return Object.defineProperty(response, 'url', { value: url });
};
