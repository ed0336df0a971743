import { createBoundedCache } from './bounded-cache.ts';
import { createExchange, type Received } from './exchange.ts';
import type { Gate } from './gate.ts';
import { createSingleFlight } from './single-flight.ts';

export interface ConditionalFetchOptions {
  /** Shared by all clients with the same identity at the same forge. */
  readonly gate: Gate;
  readonly fetch?: typeof fetch;
  readonly timeoutMs?: number;
  readonly bodyLimitBytes?: number;
  readonly cacheLimitBytes?: number;
}

interface CacheEntry {
  readonly received: Received;
  readonly validator: readonly [header: string, value: string];
}

/**
 * A `fetch` for the API of a forge, used by one identity. Clients that accept a custom `fetch` can use it.
 *
 * - It returns only complete answers. Otherwise, and while the gate is closed, it throws `EphError`.
 * - Answers with an entity tag are cached and revalidated: an unchanged answer costs nothing. A request with its own
 *   validator is not changed and gets status 304.
 * - Concurrent equal GETs share one request. `cache: 'no-cache'` always sends its own, for callers that need an answer
 *   newer than their call; `'no-store'` also ignores the cache.
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

/** The identity is not part of the key, so that a renewed token can use the same entries. */
const keyOf = ({ url, headers }: Request): string =>
  [url, ...['accept', 'if-none-match', 'if-modified-since'].map((name) => headers.get(name) ?? '')].join('\n');

const hasValidator = ({ headers }: Request): boolean => headers.has('if-none-match') || headers.has('if-modified-since');

const headersBytes = 1_024;

/** RFC 9110, section 8.8.2.2: a modification date is a strong validator only if it is old enough. */
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

/** The cached answer with the new headers, such as rate limit and date. */
const refreshed = (received: Received, headers: Headers): Received => {
  const merged = new Headers(received.headers);
  for (const [name, value] of headers) merged.set(name, value);
  return { ...received, headers: merged };
};

const statusesWithoutBody = new Set([101, 204, 205, 304]);

const toResponse = ({ status, statusText, headers, body, url }: Received): Response => {
  const response = new Response(statusesWithoutBody.has(status) ? null : body, { status, statusText, headers });
  // A constructed response has no `url`, and clients read it.
  return Object.defineProperty(response, 'url', { value: url });
};
