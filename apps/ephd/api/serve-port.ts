import type { Duplex } from 'node:stream';
import { EphError, portProtocol, toEnd, toFailure } from '@eph/contract';
import type { HttpBindings } from '@hono/node-server';
import { RESPONSE_ALREADY_SENT } from '@hono/node-server/utils/response';
import type { WebSocket } from 'ws';
import type { LongUse } from './long-use.ts';
import { closeSocket, endUnread, endWithoutAnswer, openSocket } from './web-socket.ts';

const mostInMessage = 1024 * 1024;
const mostUnread = 4 * 1024 * 1024;
/** Not every provider can pass on that a client sends no more, and then a component would keep the connection for ever. */
const silenceMs = 10_000;

/** Connects on an open WebSocket, where a client can read why that is not possible. */
export const servePort = (bindings: Partial<HttpBindings>, use: LongUse, connect: () => Promise<Duplex>): Response => {
  const socket = openSocket(bindings, { protocol: portProtocol, most: mostInMessage });
  void carry(socket, use, connect);
  return RESPONSE_ALREADY_SENT;
};

const carry = async (socket: WebSocket, use: LongUse, connect: () => Promise<Duplex>): Promise<void> => {
  using _use = use;
  using _pings = endWithoutAnswer(socket);
  socket.on('ping', () => endUnread(socket, mostUnread));
  // What follows is the close.
  socket.on('error', () => undefined).once('close', () => use.clientHasGone());
  socket.pause();
  let connection: Duplex | undefined;
  try {
    connection = await connect();
    connection.on('error', () => undefined);
    const ended = Promise.withResolvers<void>();
    use.signal.addEventListener('abort', () => ended.reject(use.signal.reason), { once: true });
    if (use.signal.aborted) ended.reject(use.signal.reason);
    using _incoming = passIncoming(socket, connection, ended);
    await Promise.race([passOutgoing(connection, socket), ended.promise]);
  } catch (error) {
    if (socket.readyState === socket.OPEN)
      socket.send(JSON.stringify(toEnd(toFailure(use.signal.aborted ? use.signal.reason : error))));
  } finally {
    connection?.destroy();
    closeSocket(socket);
    // The connection ends with its client, whoever ended that.
    use.clientHasGone();
  }
};

/** Each message waits until the one before is on its way. */
const passOutgoing = async (connection: Duplex, socket: WebSocket): Promise<void> => {
  for await (const chunk of connection)
    await new Promise<void>((resolve, reject) =>
      socket.send(chunk as Buffer, { binary: true }, (error) => (error ? reject(error) : resolve())),
    );
};

const passIncoming = (socket: WebSocket, connection: Duplex, ended: PromiseWithResolvers<void>): Disposable => {
  let timer: NodeJS.Timeout | undefined;
  const noteSilence = (): void => {
    timer = setTimeout(() => ended.resolve(), silenceMs);
  };
  socket.on('message', (data, isBinary) => {
    if (!isBinary || !(data instanceof Buffer) || timer !== undefined)
      return ended.reject(new EphError('api.bad_request', 'this is no message that ephd takes here'));
    if (data.length === 0) {
      connection.end();
      noteSilence();
      connection.on('data', () => timer?.refresh());
    } else if (!connection.write(data)) socket.pause();
  });
  connection.on('drain', () => socket.resume());
  socket.resume();
  return { [Symbol.dispose]: () => clearTimeout(timer) };
};
