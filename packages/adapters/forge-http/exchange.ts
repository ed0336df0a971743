import { EphError } from '@eph/contract';
import type { ReceivedAnswer } from './answer.ts';
import type { Gate } from './gate.ts';
import { networkCode } from './network-code.ts';

export type Exchange = (request: Request, signal: AbortSignal) => Promise<ReceivedAnswer>;

const maxRedirects = 5;
const timeoutMs = 30_000;
const bodyLimitBytes = 32 * 1024 * 1024;

/**
 * One request through the gate; redirects are followed on the same server only. Throws `EphError` without a complete
 * answer and while the gate is closed, and the signal's reason after an abort.
 */
export const createExchange = (gate: Gate): Exchange => {
  const receive = async (request: Request, signal: AbortSignal): Promise<ReceivedAnswer> => {
    const response = await fetch(request, { signal });
    const body = await readBody(response, bodyLimitBytes, signal);
    return { status: response.status, headers: response.headers, body };
  };

  const receiveInTime = async (request: Request, signal: AbortSignal): Promise<ReceivedAnswer> => {
    const limit = AbortSignal.timeout(timeoutMs);
    try {
      return await receive(request, AbortSignal.any([signal, limit]));
    } catch (error) {
      signal.throwIfAborted();
      gate.observe(undefined);
      throw toNetworkError(error, request, limit.aborted);
    }
  };

  const passGate = async (request: Request, signal: AbortSignal): Promise<ReceivedAnswer> => {
    const release = await gate.enter(signal);
    try {
      const received = await receiveInTime(request, signal);
      gate.observe(received);
      return received;
    } finally {
      release();
    }
  };

  return async (request, signal) => {
    let next = request;
    for (let redirects = 0; ; redirects += 1) {
      const again = redirects < maxRedirects ? next.clone() : undefined;
      const received = await passGate(new Request(next, { redirect: 'manual' }), signal);
      const target = redirectTarget(received, request);
      if (target === undefined || again === undefined) return received;
      next = new Request(target, again);
    }
  };
};

/**
 * The new address of a renamed repository. Only on the same server, so that the token is not sent elsewhere. A write is
 * redirected only with 301, 307 and 308, never turned into a GET.
 */
const redirectTarget = ({ status, headers }: ReceivedAnswer, { method, url }: Request): string | undefined => {
  const location = headers.get('location');
  const isFollowed = [301, 307, 308].includes(status) || (status === 302 && method === 'GET');
  if (location === null || !isFollowed || !URL.canParse(location, url)) return undefined;
  const target = new URL(location, url);
  return target.origin === new URL(url).origin ? target.href : undefined;
};

const readBody = async (response: Response, limitBytes: number, signal: AbortSignal): Promise<string> => {
  const chunks: Uint8Array[] = [];
  let length = 0;
  for await (const chunk of (response.body ?? []) as AsyncIterable<Uint8Array>) {
    signal.throwIfAborted();
    length += chunk.length;
    if (length > limitBytes) throw new EphError('forge.incomplete', `The answer is larger than ${limitBytes} bytes.`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks, length).toString();
};

const toNetworkError = (error: unknown, { url }: Request, isLate: boolean): EphError => {
  const { host } = new URL(url);
  if (error instanceof EphError) return new EphError(error.code, `${host}: ${error.message}`, { cause: error });
  const code = networkCode(error);
  const silence = `could not be reached${code === undefined ? '' : ` (${code})`}`;
  const why = isLate ? `did not answer within ${timeoutMs / 1_000} s` : silence;
  return new EphError('forge.unreachable', `${host} ${why}.`, { cause: error });
};
