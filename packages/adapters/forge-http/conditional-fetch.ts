import { createExchange, type Received } from './exchange.ts';
import type { Gate } from './gate.ts';
import { createSingleFlight } from './single-flight.ts';

const limits = { timeoutMs: 30_000, bodyLimitBytes: 32 * 1024 * 1024 };

/**
 * A `fetch` for the API of a forge, used by one identity. Clients that accept a custom `fetch` can use it.
 *
 * - It returns only complete answers. Otherwise, and while the gate is closed, it throws `EphError`.
 * - It caches nothing. A request with a validator may get status 304: callers cache parsed answers, which are many times
 *   smaller.
 * - Concurrent equal GETs share one request, unless their `cache` is `'no-cache'`, for callers that need an answer newer
 *   than their call.
 * - Redirects are followed on the same server only.
 */
export const createConditionalFetch = (gate: Gate): typeof fetch => {
  const exchange = createExchange({ gate, ...limits });
  const shareRequest = createSingleFlight<Received>();

  return async (input, init) => {
    const request = new Request(input, init);
    const { signal } = request;
    if (request.method !== 'GET' || request.cache !== 'default') return toResponse(await exchange(request, signal));
    return toResponse(await shareRequest(keyOf(request), (shared) => exchange(request, shared), signal));
  };
};

const keyOf = ({ url, headers }: Request): string =>
  [url, ...['accept', 'if-none-match', 'if-modified-since'].map((name) => headers.get(name) ?? '')].join('\n');

const statusesWithoutBody = new Set([101, 204, 205, 304]);

const toResponse = ({ status, statusText, headers, body, url }: Received): Response => {
  const response = new Response(statusesWithoutBody.has(status) ? null : body, { status, statusText, headers });
  // A constructed response has no `url`, and clients read it.
  return Object.defineProperty(response, 'url', { value: url });
};
