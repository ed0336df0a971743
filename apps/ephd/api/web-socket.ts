import type { EventEmitter } from 'node:events';
import { type IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { EphError } from '@eph/contract';
import type { HttpBindings } from '@hono/node-server';
import { type WebSocket, WebSocketServer } from 'ws';

const pingMs = 20_000;
const closeMs = 2_000;

/** An answer on a connection that may become a WebSocket. */
class UpgradeResponse extends ServerResponse {
  override shouldKeepAlive = false;
}

/** For all other requests, the server ignores the header, as HTTP allows. */
export const isUpgrade = ({ method, url = '', headers }: IncomingMessage): boolean =>
  method === 'GET' && headers.upgrade?.toLowerCase() === 'websocket' && /^[^?]*\/(exec|port-forward)(\?|$)/.test(url);

/**
 * Sends upgrades through the same pipeline as all requests. `upgradeWebSocket` of @hono/node-server answers refusals without a body,
 * and leaves connections open that ask for another protocol.
 */
export const acceptUpgrades = (server: EventEmitter): void => {
  server.on('upgrade', (request: IncomingMessage, socket: Socket, head: Buffer) => {
    // Node has taken its own listener off.
    socket.on('error', () => undefined);
    if (head.length > 0) socket.unshift(head);
    const response = new UpgradeResponse(request);
    response.assignSocket(socket);
    response.once('finish', () => socket.end());
    server.emit('request', request, response);
  });
};

/** Before anything is done for the request. */
export const requireUpgrade = ({ incoming, outgoing }: Partial<HttpBindings>, protocol: string): void => {
  if (!(outgoing instanceof UpgradeResponse))
    throw new EphError(
      'api.bad_request',
      'this route needs a WebSocket, and this is none; does a proxy in between pass upgrades on?',
    );
  const protocols = (incoming?.headers['sec-websocket-protocol'] ?? '').split(',').map((one) => one.trim());
  if (!protocols.includes(protocol))
    throw new EphError('api.bad_request', `this ephd speaks the protocol ${protocol}, which the request does not name`);
};

export interface SocketOptions {
  readonly protocol: string;
  /** The largest message that a client may send. */
  readonly most: number;
}

export const openSocket = ({ incoming, outgoing }: Partial<HttpBindings>, { protocol, most }: SocketOptions): WebSocket => {
  const server = new WebSocketServer({
    noServer: true,
    clientTracking: false,
    maxPayload: most,
    // Of the protocols, one may be the token: it is never sent back.
    handleProtocols: () => protocol,
  });
  let opened: WebSocket | undefined;
  let fault = 'it has ended';
  server.once('wsClientError', ({ message }) => {
    fault = message;
  });
  const { socket } = incoming ?? {};
  if (incoming !== undefined && socket !== undefined)
    server.handleUpgrade(incoming, socket, Buffer.alloc(0), (webSocket) => {
      opened = webSocket;
      if (outgoing instanceof UpgradeResponse) outgoing.detachSocket(socket);
    });
  if (opened === undefined) throw new EphError('api.bad_request', `the connection cannot become a WebSocket: ${fault}`);
  return opened;
};

/** Closes it, and does not wait for long until the client has done so as well. */
export const closeSocket = (socket: WebSocket): void => {
  socket.close();
  // A paused one does not read that the client closes as well.
  socket.resume();
  const timer = setTimeout(() => socket.terminate(), closeMs);
  socket.once('close', () => clearTimeout(timer));
};

/** A client that sends and does not read would fill the memory with what answers it. */
export const endUnread = (socket: WebSocket, most: number): void => {
  if (socket.bufferedAmount > most) socket.terminate();
};

/** A client whose machine or network is gone closes nothing. */
export const endWithoutAnswer = (socket: WebSocket): Disposable => {
  let hasAnswered = true;
  const note = (): void => {
    hasAnswered = true;
  };
  // One that waits for its own reader does not see a ping, but can send its own.
  socket.on('pong', note).on('ping', note).on('message', note);
  const timer = setInterval(() => {
    // While it is paused, nothing is read, and no answer either.
    if (!hasAnswered && !socket.isPaused) return socket.terminate();
    hasAnswered = false;
    socket.ping();
  }, pingMs);
  return { [Symbol.dispose]: () => clearInterval(timer) };
};
