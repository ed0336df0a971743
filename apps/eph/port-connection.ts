import type { Socket } from 'node:net';
import {
  endSchema,
  fillPath,
  type PortQuery,
  parseJson,
  portProtocol,
  type Reply,
  readRefusal,
  routes,
  SessionFailure,
} from '@eph/contract';
import { type RawData, WebSocket } from 'ws';

export interface PortServer {
  /** Ends with a slash. */
  readonly address: URL;
  readonly token: string | undefined;
}

export interface PortInput extends PortQuery {
  /** Of an environment. */
  readonly id: string;
}

const openTimeoutMs = 10_000;
/** Whoever waits for its own reader reads no ping of ephd, so it sends some itself. */
const pingMs = 10_000;
const mostInMessage = 4 * 1024 * 1024;
const endOfInput = Buffer.alloc(0);

/**
 * Connects somebody to a port of a component, and resolves when that has ended. Throws if ephd could not connect, or the connection was
 * lost. Not with the WebSocket that Node has: it reads on while nobody takes what it has read.
 */
export const carryPort = async (server: PortServer, input: PortInput, visitor: Socket, signal: AbortSignal): Promise<void> => {
  const socket = await open(server, input, signal);
  const abort = (): void => socket.terminate();
  signal.addEventListener('abort', abort, { once: true });
  visitor.once('close', () => socket.close());
  let isAlive = true;
  const timer = setInterval(() => {
    if (!isAlive && !socket.isPaused) return socket.terminate();
    isAlive = false;
    socket.ping();
  }, pingMs);
  try {
    socket.on('pong', () => (isAlive = true)).on('ping', () => (isAlive = true));
    await pass(socket, visitor);
  } finally {
    clearInterval(timer);
    signal.removeEventListener('abort', abort);
    socket.terminate();
  }
};

const pass = async (socket: WebSocket, visitor: Socket): Promise<void> => {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  socket.on('message', (data, isBinary) => {
    if (!isBinary || !(data instanceof Buffer)) reject(readEnd(data));
    else if (!visitor.write(data)) socket.pause();
  });
  visitor.on('drain', () => socket.resume());
  visitor.on('data', (chunk) => {
    visitor.pause();
    socket.send(chunk, () => visitor.resume());
  });
  visitor.once('end', () => socket.send(endOfInput, () => undefined));
  socket.once('close', (code) => {
    if (code === 1000 || code === 1005 || visitor.destroyed) resolve();
    else reject(new Error('it was closed'));
  });
  socket.resume();
  visitor.resume();
  await promise;
};

const readEnd = (message: RawData): Error => {
  const { data } = endSchema.safeParse(parseJson(message instanceof Buffer ? message.toString() : ''));
  return data === undefined ? new Error('it sent what is no message of a connection') : new SessionFailure(data);
};

const open = async (
  { address, token }: PortServer,
  { id, component, port }: PortInput,
  signal: AbortSignal,
): Promise<WebSocket> => {
  signal.throwIfAborted();
  const query = new URLSearchParams({ ...(component !== undefined && { component }), port: String(port) });
  const url = new URL(`${fillPath(routes.forwardPort.path, { id }).slice(1)}?${query.toString()}`, address);
  url.protocol = url.protocol === 'https:' ? 'wss:' : 'ws:';
  const socket = new WebSocket(url, [portProtocol], {
    headers: token === undefined ? {} : { authorization: `Bearer ${token}` },
    handshakeTimeout: openTimeoutMs,
    maxPayload: mostInMessage,
    perMessageDeflate: false,
  });
  const { promise: opened, resolve, reject } = Promise.withResolvers<void>();
  socket.on('error', reject);
  socket.once('open', () => {
    // Until somebody listens.
    socket.pause();
    resolve();
  });
  socket.once('unexpected-response', (_request, response) => {
    const reply: Reply = {
      status: response.statusCode ?? 0,
      contentType: response.headers['content-type'] ?? '',
      text: async () => (await response.setEncoding('utf8').toArray()).join(''),
      chunks: () => response,
    };
    readRefusal(reply).then(reject, reject);
  });
  const abort = (): void => reject(signal.reason);
  signal.addEventListener('abort', abort, { once: true });
  try {
    await opened;
    return socket;
  } catch (error) {
    socket.terminate();
    throw error;
  } finally {
    signal.removeEventListener('abort', abort);
  }
};
