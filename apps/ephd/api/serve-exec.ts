import type { EventEmitter } from 'node:events';
import { type IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Readable } from 'node:stream';
import {
  decodeFrame,
  EphError,
  type ExecFrame,
  ExecWindow,
  encodeFrame,
  execProtocol,
  execWindow,
  toEnd,
  toFailure,
} from '@eph/contract';
import type { ExecSession } from '@eph/engine/provider/provider';
import type { HttpBindings } from '@hono/node-server';
import { RESPONSE_ALREADY_SENT } from '@hono/node-server/utils/response';
import { type WebSocket, WebSocketServer } from 'ws';
import type { LongUse } from './long-use.ts';

const pingMs = 20_000;
const closeMs = 2_000;

/** An answer on a connection that may become a WebSocket. */
class UpgradeResponse extends ServerResponse {
  override shouldKeepAlive = false;
}

/** For all other requests, the server ignores the header, as HTTP allows. */
export const isExecUpgrade = ({ method, url = '', headers }: IncomingMessage): boolean =>
  method === 'GET' && headers.upgrade?.toLowerCase() === 'websocket' && /^[^?]*\/exec(\?|$)/.test(url);

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

/** Before the command is started. */
export const requireUpgrade = ({ incoming, outgoing }: Partial<HttpBindings>): void => {
  if (!(outgoing instanceof UpgradeResponse))
    throw new EphError('api.bad_request', 'exec needs a WebSocket, and this is none; does a proxy in between pass upgrades on?');
  const protocols = (incoming?.headers['sec-websocket-protocol'] ?? '').split(',').map((one) => one.trim());
  if (!protocols.includes(execProtocol))
    throw new EphError('api.bad_request', `this ephd speaks the protocol ${execProtocol}, which the request does not name`);
};

/** Starts the command on an open WebSocket: a browser can read a frame there, but not why an upgrade was refused. */
export const serveExec = (bindings: Partial<HttpBindings>, use: LongUse, start: () => Promise<ExecSession>): Response => {
  const socket = openSocket(bindings);
  void carry(socket, use, start);
  return RESPONSE_ALREADY_SENT;
};

const openSocket = ({ incoming, outgoing }: Partial<HttpBindings>): WebSocket => {
  const server = new WebSocketServer({
    noServer: true,
    clientTracking: false,
    maxPayload: execWindow + 1,
    // Of the protocols, one may be the token: it is never sent back.
    handleProtocols: () => execProtocol,
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

const carry = async (socket: WebSocket, use: LongUse, start: () => Promise<ExecSession>): Promise<void> => {
  using _use = use;
  using _pings = endWithoutAnswer(socket);
  const send = (frame: ExecFrame): void => {
    socket.send(encodeFrame(frame));
    endUnread(socket);
  };
  socket.on('ping', () => endUnread(socket));
  // What follows is the close.
  socket.on('error', () => undefined).once('close', () => use.clientHasGone());
  socket.pause();
  try {
    const session = await start();
    // A command that reads no more breaks it.
    session.input.on('error', () => undefined);
    const ended = Promise.withResolvers<never>();
    use.signal.addEventListener('abort', () => ended.reject(use.signal.reason), { once: true });
    const window = new ExecWindow();
    socket.on('message', (data, isBinary) => {
      const frame = isBinary && data instanceof Buffer ? decodeFrame(data) : undefined;
      if (frame === undefined || !receive(frame, session, window, send))
        ended.reject(new EphError('api.bad_request', 'this is no frame that ephd takes here'));
    });
    socket.resume();
    const pass = async (type: 'output' | 'errors', from: Readable): Promise<void> => {
      for await (const chunk of from) for await (const bytes of window.split(chunk as Buffer)) send({ type, bytes });
    };
    const finished = Promise.all([session.exited, pass('output', session.output), pass('errors', session.errors)]);
    const [code] = await Promise.race([finished, ended.promise]);
    send({ type: 'exit', code });
  } catch (error) {
    send({ type: 'failure', ...toEnd(toFailure(use.signal.aborted ? use.signal.reason : error)) });
  } finally {
    socket.close();
    // A paused one does not read that the client closes as well.
    socket.resume();
    const timer = setTimeout(() => socket.terminate(), closeMs);
    socket.once('close', () => clearTimeout(timer));
    // The command ends with its connection, whoever ended that.
    use.clientHasGone();
  }
};

/** Returns false for what a client does not send. */
const receive = (frame: ExecFrame, session: ExecSession, window: ExecWindow, send: (frame: ExecFrame) => void): boolean => {
  switch (frame.type) {
    case 'input': {
      const { input } = session;
      const { length } = frame.bytes;
      if (input.writableLength + length > execWindow) return false;
      if (length === 0) input.end();
      // Also called when the command reads no more: then the input is lost, as in a pipe.
      else input.write(frame.bytes, () => send({ type: 'taken', length }));
      return true;
    }
    case 'resize':
      session.resize(frame.columns, frame.rows);
      return true;
    case 'taken':
      window.grow(frame.length);
      return true;
    default:
      return false;
  }
};

/** A client that sends and does not read would fill the memory with what answers it. One that reads never has so much unread. */
const endUnread = (socket: WebSocket): void => {
  if (socket.bufferedAmount > 2 * execWindow) socket.terminate();
};

/** A client whose machine or network is gone closes nothing. */
const endWithoutAnswer = (socket: WebSocket): Disposable => {
  let hasAnswered = true;
  socket.on('pong', () => {
    hasAnswered = true;
  });
  const timer = setInterval(() => {
    if (!hasAnswered) return socket.terminate();
    hasAnswered = false;
    socket.ping();
  }, pingMs);
  return { [Symbol.dispose]: () => clearInterval(timer) };
};
