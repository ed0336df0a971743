import { EphError, parseJson } from '@eph/contract';
import type { Clock } from '@eph/engine/time/clock';
import type { KubeObserver, Verb } from './observer.ts';
import { Limit, LimitReached, pause } from './pause.ts';
import { type Asked, isAbsent, isBusy, retryAfterOf, toRefusal, type Unsuccessful } from './refusal.ts';
import { type Transport, type TransportAnswer, type TransportRequest, toTransportError } from './transport.ts';

export interface RestRequest extends Omit<TransportRequest, 'isStream'> {
  readonly verb: Verb;
  readonly kind: string;
  /** What it is about, for messages. */
  readonly shown: string;
  /** Of the object. Then the answer is undefined where the object does not exist. */
  readonly name?: string | undefined;
  /** A longer answer is refused. */
  readonly limitBytes: number;
  /** Hears how many bytes came. */
  readonly received?: (bytes: number) => void;
}

export interface OpenAnswer {
  readonly body: AsyncIterable<Uint8Array>;
}

/** Requests and answers in JSON, with a time-out, and with pauses that the server asks for. */
export interface RestClient {
  readonly cluster: string;
  request(request: RestRequest, signal: AbortSignal): Promise<unknown>;
  /** An answer that is read as it comes, until the signal aborts. Asked for once: whoever reads begins again. */
  open(request: Omit<RestRequest, 'limitBytes' | 'received'>, signal: AbortSignal): Promise<OpenAnswer>;
}

/** The API server gives up after a minute; slow admission webhooks come before that. */
const limitMs = 65_000;
/** As long as the server asks for no longer pause than this, its caller need not know. */
const longestPauseMs = 10_000;
const tries = 5;
/** A longer pause comes from a broken header. */
const longestRetryAfterMs = 10 * 60_000;
const refusalLimitBytes = 256 * 1024;
/** The API server takes no larger one. */
const requestLimitBytes = 3 * 1024 * 1024;

export interface RestOptions {
  readonly cluster: string;
  readonly transport: Transport;
  readonly clock: Clock;
  readonly random: () => number;
  readonly observer: KubeObserver;
}

export const createRestClient = ({ cluster, transport, clock, random, observer }: RestOptions): RestClient => {
  const observed = async <T>(
    { verb, kind }: { readonly verb: Verb; readonly kind: string },
    work: () => Promise<{ readonly status: number; readonly bytes: number; readonly value: T }>,
  ): Promise<T> => {
    const began = clock.now();
    const report = (status: number | 'failed', bytes: number): void =>
      observer.requested({ cluster, verb, kind, status, bytes, milliseconds: Math.max(0, clock.now() - began) });
    try {
      const { status, bytes, value } = await work();
      report(status, bytes);
      return value;
    } catch (error) {
      report('failed', 0);
      throw error;
    }
  };

  const readUnsuccessful = async (
    answer: TransportAnswer,
    signal: AbortSignal,
  ): Promise<Unsuccessful & { readonly bytes: number }> => {
    const { status, headers } = answer;
    const { text, length } = await readText(cluster, answer, refusalLimitBytes, signal);
    const body = parseJson(text);
    const header = [headers['retry-after'] ?? []].flat()[0];
    return { status, body, retryAfterMs: retryAfterOf(header, body, longestRetryAfterMs), bytes: length };
  };

  /** One try. */
  const attempt = (request: RestRequest, signal: AbortSignal) =>
    observed<{ readonly ok: unknown } | { readonly failed: Unsuccessful }>(request, async () => {
      using limit = new Limit(clock, limitMs, signal);
      const answer = await transport.send(request, limit.signal);
      const { status } = answer;
      if (!isSuccess(status)) {
        const failed = await readUnsuccessful(answer, limit.signal);
        return { status, bytes: failed.bytes, value: { failed } };
      }
      const { text, length } = await readText(cluster, answer, request.limitBytes, limit.signal);
      request.received?.(length);
      const body = parseJson(text);
      if (body === undefined)
        throw new EphError('cluster.unreachable', `Cluster ${cluster} answers with something that is not JSON.`);
      return { status, bytes: length, value: { ok: body } };
    });

  return {
    cluster,

    async request(request, signal) {
      checkSize(cluster, request);
      const asked: Asked = { ...request, cluster };
      for (let round = 1; ; round += 1) {
        const answer = await attempt(request, signal);
        if ('ok' in answer) return answer.ok;
        const { failed } = answer;
        if (isAbsent(asked, failed)) return undefined;
        const { status, retryAfterMs } = failed;
        // With this header, the server has not begun. Without it, nobody knows.
        const mayAskAgain = isBusy(status) && retryAfterMs !== undefined && retryAfterMs <= longestPauseMs && round < tries;
        if (!mayAskAgain) throw toRefusal(asked, failed);
        await pause(clock, retryAfterMs * (1 + random() / 4), signal);
        signal.throwIfAborted();
      }
    },

    open: (request, signal) =>
      observed(request, async () => {
        const opening = new AbortController();
        const both = AbortSignal.any([signal, opening.signal]);
        const cancel = clock.after(limitMs, () => opening.abort(new LimitReached('no answer')));
        try {
          const answer = await transport.send({ ...request, isStream: true }, both);
          const { status } = answer;
          if (!isSuccess(status)) throw toRefusal({ ...request, cluster }, await readUnsuccessful(answer, both));
          return { status, bytes: 0, value: { body: readStream(cluster, answer, signal) } };
        } finally {
          cancel();
        }
      }),
  };
};

const isSuccess = (status: number): boolean => status >= 200 && status < 300;

const checkSize = (cluster: string, { body, shown }: RestRequest): void => {
  if (body === undefined || Buffer.byteLength(body) <= requestLimitBytes) return;
  throw new EphError(
    'object.refused',
    `${shown} is larger than ${requestLimitBytes / 1024 / 1024} MiB, the most that cluster ${cluster} takes.`,
  );
};

/** Thrown for an answer that is larger than its limit, so that whoever lists can ask for less. */
export class AnswerTooLarge extends EphError {
  constructor(cluster: string, limitBytes: number) {
    super(
      'cluster.unreachable',
      `Cluster ${cluster} answers with more than ${limitBytes / 1024 / 1024} MiB, the most that ephd reads.`,
    );
  }
}

/** As text: of a page of a list, the bytes need not stay in memory, too. */
const readText = async (
  cluster: string,
  { body, headers }: TransportAnswer,
  limitBytes: number,
  signal: AbortSignal,
): Promise<{ readonly text: string; readonly length: number }> => {
  const refuse = (): AnswerTooLarge => {
    // The rest is not wanted, so nobody has to know how it ends.
    body.on('error', () => undefined).destroy();
    return new AnswerTooLarge(cluster, limitBytes);
  };
  if (Number(headers['content-length'] ?? 0) > limitBytes) throw refuse();
  const chunks: Buffer[] = [];
  let length = 0;
  try {
    for await (const chunk of body as AsyncIterable<Buffer>) {
      length += chunk.length;
      if (length > limitBytes) throw refuse();
      chunks.push(chunk);
    }
  } catch (error) {
    throw toTransportError(cluster, error, signal);
  }
  return { text: Buffer.concat(chunks, length).toString(), length };
};

async function* readStream(cluster: string, { body }: TransportAnswer, signal: AbortSignal): AsyncGenerator<Uint8Array, void> {
  try {
    for await (const chunk of body as AsyncIterable<Buffer>) yield chunk;
  } catch (error) {
    throw toTransportError(cluster, error, signal);
  }
}
