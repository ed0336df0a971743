import type { IncomingMessage } from 'node:http';
import { EphError, parseJson } from '@eph/contract';
import type { Clock } from '@eph/engine/time/clock';
import { type RawData, WebSocket } from 'ws';
import type { Credentials } from './connection.ts';
import { Limit } from './pause.ts';
import { type Asked, toRefusal } from './refusal.ts';
import { type Transport, toTransportError } from './transport.ts';

/** The cluster that streams lead to. */
export interface ChannelSource {
  readonly cluster: string;
  readonly transport: Transport;
  readonly clock: Clock;
}

export interface ChannelRequest extends Omit<Asked, 'cluster'> {
  /** With its query. */
  readonly path: string;
  readonly protocols: readonly string[];
}

export interface ChannelHandlers {
  /** Something came on a channel. */
  received(channel: number, bytes: Buffer): void;
  /** Nothing more comes: undefined where both sides agreed, otherwise why. */
  closed(error: unknown): void;
}

/** Several streams over one web socket, as commands and ports of pods use it: the first byte of a message is the channel. */
export interface Channels {
  readonly protocol: string;
  /** Calls back when it is on its way. */
  send(channel: number, bytes: Uint8Array, done: (error?: Error | null) => void): void;
  /** Stops reading, so that the other side has to wait. */
  pause(): void;
  resume(): void;
  close(): void;
}

const openLimitMs = 30_000;
/** Balancers between end connections on which nothing happens. */
const pingMs = 30_000;
const refusalLimitBytes = 64 * 1024;
const messageLimitBytes = 32 * 1024 * 1024;

/**
 * The streams of `@kubernetes/client-node` neither wait for a slow reader nor survive a message that they do not know, so only its
 * credentials are used.
 */
export const openChannels = async (
  { transport, clock, cluster }: ChannelSource,
  wanted: ChannelRequest,
  handlers: ChannelHandlers,
  signal: AbortSignal,
): Promise<Channels> => {
  const { connection } = transport;
  const request = { ...wanted, cluster };
  const credentials = await connection.current(signal);
  const first = await connect(clock, request, credentials, signal);
  const opened =
    first === 'unauthorized' ? await connect(clock, request, await connection.renew(credentials, signal), signal) : first;
  if (opened === 'unauthorized') throw toRefusal(request, { status: 401, body: undefined });
  return carry(clock, cluster, opened, handlers, signal);
};

const connect = async (
  clock: Clock,
  request: ChannelRequest & Asked,
  { server, headers, tls, agent }: Credentials,
  signal: AbortSignal,
): Promise<WebSocket | 'unauthorized'> => {
  using limit = new Limit(clock, openLimitMs, signal);
  const socket = new WebSocket(`${server.replace(/^http/, 'ws')}${request.path}`, [...request.protocols], {
    headers,
    ...tls,
    ...(agent === undefined ? {} : { agent }),
    maxPayload: messageLimitBytes,
    perMessageDeflate: false,
  });
  const { promise, resolve, reject } = Promise.withResolvers<WebSocket | 'unauthorized'>();
  socket.once('open', () => {
    // Until somebody listens.
    socket.pause();
    resolve(socket);
  });
  socket.on('error', (error) => reject(toTransportError(request.cluster, error, limit.signal)));
  socket.once('unexpected-response', (_request, response: IncomingMessage) => {
    readRefusal(response).then(
      (text) => {
        const status = response.statusCode ?? 500;
        if (status === 401) resolve('unauthorized');
        else reject(toRefusal(request, { status, body: parseJson(text) }));
        socket.terminate();
      },
      (error: unknown) => reject(toTransportError(request.cluster, error, limit.signal)),
    );
  });
  limit.signal.addEventListener('abort', () => reject(toTransportError(request.cluster, limit.signal.reason, limit.signal)), {
    once: true,
  });
  try {
    limit.signal.throwIfAborted();
    return await promise;
  } catch (error) {
    socket.terminate();
    throw error;
  }
};

const readRefusal = async (response: IncomingMessage): Promise<string> => {
  let text = '';
  for await (const chunk of response.setEncoding('utf8') as AsyncIterable<string>) {
    text += chunk;
    if (text.length > refusalLimitBytes) break;
  }
  return text;
};

const carry = (clock: Clock, cluster: string, socket: WebSocket, handlers: ChannelHandlers, signal: AbortSignal): Channels => {
  let isAlive = true;
  let error: unknown;
  const ping = (): void => {
    if (!isAlive && !socket.isPaused) {
      error = new EphError('cluster.unreachable', `Cluster ${cluster} does not answer any more.`);
      socket.terminate();
      return;
    }
    isAlive = false;
    socket.ping();
    cancel = clock.after(pingMs, ping);
  };
  let cancel = clock.after(pingMs, ping);
  const abort = (): void => {
    error = signal.reason;
    socket.terminate();
  };
  signal.addEventListener('abort', abort, { once: true });
  socket.on('pong', () => (isAlive = true));
  socket.on('message', (data) => {
    isAlive = true;
    const bytes = toBuffer(data);
    const [channel] = bytes;
    if (channel !== undefined) handlers.received(channel, bytes.subarray(1));
  });
  socket.on('error', (failed) => (error ??= toTransportError(cluster, failed, signal)));
  socket.once('close', (code) => {
    cancel();
    signal.removeEventListener('abort', abort);
    const isClean = code === 1000 || code === 1005;
    handlers.closed(
      error ?? (isClean ? undefined : new EphError('cluster.unreachable', `Cluster ${cluster} broke a connection off.`)),
    );
  });
  if (signal.aborted) abort();
  socket.resume();
  return {
    protocol: socket.protocol,
    send: (channel, bytes, done) => socket.send(Buffer.concat([Buffer.of(channel), bytes]), (failed) => done(failed)),
    pause: () => socket.pause(),
    resume: () => socket.resume(),
    close: () => socket.close(),
  };
};

const toBuffer = (data: RawData): Buffer => {
  if (Array.isArray(data)) return Buffer.concat(data);
  return Buffer.isBuffer(data) ? data : Buffer.from(data);
};
