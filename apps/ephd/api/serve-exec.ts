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
import type { WebSocket } from 'ws';
import type { LongUse } from './long-use.ts';
import { closeSocket, endUnread, endWithoutAnswer, openSocket } from './web-socket.ts';

/** One that reads never has so much unread. */
const mostUnread = 2 * execWindow;

/** Starts the command on an open WebSocket: a browser can read a frame there, but not why an upgrade was refused. */
export const serveExec = (bindings: Partial<HttpBindings>, use: LongUse, start: () => Promise<ExecSession>): Response => {
  const socket = openSocket(bindings, { protocol: execProtocol, most: execWindow + 1 });
  void carry(socket, use, start);
  return RESPONSE_ALREADY_SENT;
};

const carry = async (socket: WebSocket, use: LongUse, start: () => Promise<ExecSession>): Promise<void> => {
  using _use = use;
  using _pings = endWithoutAnswer(socket);
  const send = (frame: ExecFrame): void => {
    socket.send(encodeFrame(frame));
    endUnread(socket, mostUnread);
  };
  socket.on('ping', () => endUnread(socket, mostUnread));
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
    closeSocket(socket);
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
