import type { IncomingHttpHeaders } from 'node:http';
import { EphError, isEphError } from '@eph/contract';
import type { Clock } from '@eph/engine/time/clock';
import type { Dispatcher } from 'undici';
import { parseRetryAfter } from '../forge-http/budget.ts';
import { networkCode } from '../forge-http/network-code.ts';
import { isServerFault } from './host-gate.ts';
import type { RegistryHost, Route } from './registry-hosts.ts';
import { TimeLimitError, withTimeLimit } from './time-limit.ts';

export interface RegistryRequest {
  readonly method: 'GET' | 'HEAD' | 'POST';
  readonly url: URL;
  readonly headers?: Readonly<Record<string, string>>;
  /** Sent to the origin of `url` only. */
  readonly authorization?: string | undefined;
  readonly body?: string;
  /** A longer answer is refused. */
  readonly limitBytes: number;
}

export interface RegistryAnswer extends Received {
  /** Whether another host answers, to which a redirect led. */
  readonly isElsewhere: boolean;
}

interface Received {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  /** Empty unless the status is 200. */
  readonly body: Buffer;
}

/**
 * One request and its answer. Redirects are followed, by the rules of the registry that is asked. Throws `registry.unreachable`
 * without a whole answer, and while a host is paused; `registry.refused` for an answer that must not be read; and the signal's
 * reason after an abort.
 */
export type Exchange = (on: RegistryHost, request: RegistryRequest, signal: AbortSignal) => Promise<RegistryAnswer>;

const maxRedirects = 5;
const timeoutMs = 20_000;
/** Bodies of refusals are not read; the connection is used again after so much of one. */
const dumpLimitBytes = 64 * 1024;

const redirects: ReadonlySet<number> = new Set([301, 302, 303, 307, 308]);
const noBytes = Buffer.alloc(0);

export const createExchange = (clock: Clock): Exchange => {
  const receiveInTime = async ({ dispatcher, gate }: Route, request: RegistryRequest, signal: AbortSignal): Promise<Received> => {
    try {
      return await withTimeLimit(clock, timeoutMs, signal, (limited) => receive(dispatcher, request, limited));
    } catch (error) {
      signal.throwIfAborted();
      const fault = toExchangeError(error, request.url.host);
      if (fault.code === 'registry.unreachable') gate.observe(undefined);
      throw fault;
    }
  };

  const passGate = async (route: Route, request: RegistryRequest, signal: AbortSignal): Promise<Received> => {
    const release = await route.gate.enter(signal);
    try {
      const received = await receiveInTime(route, request, signal);
      const { status, headers } = received;
      const retryAfterMs = readRetryAfter(headers, clock.now());
      route.gate.observe(status, retryAfterMs);
      if (status === 429) throw unreachable(request.url.host, 'asks for a pause: there were too many requests', retryAfterMs);
      if (isServerFault(status)) throw unreachable(request.url.host, `answers with status ${status}`, retryAfterMs);
      return received;
    } finally {
      release();
    }
  };

  return async (on, request, signal) => {
    signal.throwIfAborted();
    let next = request;
    for (let hop = 0; ; hop += 1) {
      const received = await passGate(on.route(next.url), next, signal);
      if (!redirects.has(received.status)) return { ...received, isElsewhere: next.url.host !== request.url.host };
      if (hop === maxRedirects || request.method === 'POST')
        throw new EphError('registry.refused', `${request.url.host} redirects ephd again and again.`);
      next = redirected(next, received.headers.location);
    }
  };
};

const receive = async (dispatcher: Dispatcher, request: RegistryRequest, signal: AbortSignal): Promise<Received> => {
  const { url, authorization } = request;
  const { statusCode, headers, body } = await dispatcher.request({
    origin: url.origin,
    path: `${url.pathname}${url.search}`,
    method: request.method,
    headers: {
      'user-agent': 'eph',
      // What is compressed may become any size.
      'accept-encoding': 'identity',
      ...request.headers,
      ...(authorization === undefined ? {} : { authorization }),
    },
    body: request.body ?? null,
    // Otherwise every HEAD would need a connection of its own.
    reset: false,
    signal,
  });
  if (statusCode === 200 && request.method !== 'HEAD')
    return { status: statusCode, headers, body: await readBody(headers, body, url.host, request.limitBytes) };
  await body.dump({ limit: dumpLimitBytes, signal });
  return { status: statusCode, headers, body: noBytes };
};

const readBody = async (
  headers: IncomingHttpHeaders,
  body: Dispatcher.ResponseData['body'],
  host: string,
  limitBytes: number,
): Promise<Buffer> => {
  const refuse = (why: string): EphError => {
    // The rest is not wanted, so nobody has to know how it ends.
    body.on('error', () => undefined).destroy();
    return new EphError('registry.refused', `${host} ${why}.`);
  };
  const tooLarge = () => refuse(`sends more than ${limitBytes / 1024 / 1024} MiB, the most that ephd reads`);
  if ((headers['content-encoding'] ?? 'identity') !== 'identity')
    throw refuse('sends a compressed answer, which ephd did not ask for');
  if (Number(headers['content-length'] ?? 0) > limitBytes) throw tooLarge();
  const chunks: Buffer[] = [];
  let length = 0;
  for await (const chunk of body as AsyncIterable<Buffer>) {
    length += chunk.length;
    if (length > limitBytes) throw tooLarge();
    chunks.push(chunk);
  }
  return Buffer.concat(chunks, length);
};

/** Credentials do not follow to another origin. */
const redirected = ({ authorization, ...request }: RegistryRequest, location: string | undefined): RegistryRequest => {
  const url = location === undefined ? null : URL.parse(location, request.url.href);
  if (url === null || url.username !== '' || url.password !== '')
    throw new EphError('registry.refused', `${request.url.host} redirects to an invalid address.`);
  return { ...request, url, ...(url.origin === request.url.origin ? { authorization } : {}) };
};

const readRetryAfter = (headers: IncomingHttpHeaders, now: number): number | undefined => {
  const { 'retry-after': retryAfter, date } = headers;
  if (retryAfter === undefined) return undefined;
  return parseRetryAfter(new Headers({ 'retry-after': retryAfter, ...(date === undefined ? {} : { date }) }), now);
};

const unreachable = (host: string, why: string, retryAfterMs?: number): EphError =>
  new EphError('registry.unreachable', `${host} ${why}.`, { retryAfterMs });

/** Codes of Node and OpenSSL for a certificate that is not that of the host, or that nobody trusted has signed. */
const certificateCodes = /^(ERR_TLS_CERT_|CERT_|DEPTH_ZERO_|SELF_SIGNED_|UNABLE_TO_|HOSTNAME_MISMATCH|INVALID_)/;
const plainHttpCodes: ReadonlySet<string> = new Set(['ERR_SSL_WRONG_VERSION_NUMBER', 'ERR_SSL_PACKET_LENGTH_TOO_LONG']);

const toExchangeError = (error: unknown, host: string): EphError => {
  if (isEphError(error)) return error;
  if (error instanceof TimeLimitError) return unreachable(host, `did not answer within ${timeoutMs / 1_000} s`);
  const code = networkCode(error) ?? '';
  if (certificateCodes.test(code))
    return new EphError(
      'registry.refused',
      `ephd does not trust the certificate of ${host} (${code}). An operator can name who signed it with ca under registries in the file of ephd.`,
    );
  if (plainHttpCodes.has(code))
    return new EphError(
      'registry.refused',
      `${host} does not speak TLS. An operator can allow that with plain_http under registries in the file of ephd.`,
    );
  return unreachable(host, `could not be reached${code === '' ? '' : ` (${code})`}`);
};
