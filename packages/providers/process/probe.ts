import { request } from 'node:http';
import { connect, type Socket } from 'node:net';
import { loopback } from './ports.ts';
import type { Probe } from './service.ts';

export type ProbeAnswer = { readonly ready: true } | { readonly ready: false; readonly why: string };

const ready: ProbeAnswer = { ready: true };
const notReady = (why: string): ProbeAnswer => ({ ready: false, why });

/** Of an answer, this much is read, so that most services can finish it; a stream may never end. */
const bodyLimit = 64 * 1024;

/** Probes a service once. Never throws. */
export const probe = (
  kind: Exclude<Probe, { kind: 'none' }>,
  port: number,
  timeoutMs: number,
  signal: AbortSignal,
  accepted: () => void,
): Promise<ProbeAnswer> =>
  new Promise((resolve) => {
    const what = kind.kind === 'http' ? `GET ${kind.path} on port ${port}` : `port ${port}`;
    const socket = connect({ host: loopback, port, signal });
    const finish = (answer: ProbeAnswer): void => {
      resolve(answer);
      socket.destroy();
    };
    const fail = (error: Error): void => finish(notReady(`${what}: ${explain(error)}`));
    const timer = setTimeout(() => finish(notReady(`${what} did not answer within ${timeoutMs / 1000} s`)), timeoutMs);
    socket.once('close', () => clearTimeout(timer));
    socket.on('error', fail);
    socket.once('connect', () => {
      // Made only now: it costs more than a connection, and a service that starts refuses many of those.
      if (kind.kind === 'http') ask(socket, kind.path, port, { answered: resolve, what, fail });
      // After the request is sent, so that the service works on its answer meanwhile.
      accepted();
      if (kind.kind === 'tcp') finish(ready);
    });
  });

interface Asking {
  readonly what: string;
  readonly answered: (answer: ProbeAnswer) => void;
  readonly fail: (error: Error) => void;
}

const ask = (socket: Socket, path: string, port: number, { what, answered, fail }: Asking): void => {
  const headers = { 'user-agent': 'eph-probe' };
  const outgoing = request({ host: loopback, port, path, headers, createConnection: () => socket });
  outgoing.on('error', fail);
  outgoing.once('response', (response) => {
    const status = response.statusCode ?? 0;
    answered(status >= 200 && status < 400 ? ready : notReady(`${what} answered ${status}`));
    let read = 0;
    response.on('data', (chunk: Buffer) => {
      read += chunk.length;
      if (read > bodyLimit) response.destroy();
    });
    // The status is known; the rest does not matter.
    response.on('error', () => undefined);
  });
  outgoing.end();
};

const explain = (error: Error): string => {
  const code = 'code' in error ? error.code : undefined;
  if (code === 'ECONNREFUSED') return `nothing listens on ${loopback}`;
  if (code === 'ECONNRESET') return 'the connection was closed without an answer';
  return error.message;
};
