import { request } from 'node:http';
import { connect } from 'node:net';
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
  kind.kind === 'http' ? probeHttp(kind.path, port, timeoutMs, signal, accepted) : probeTcp(port, timeoutMs, signal, accepted);

const probeHttp = (
  path: string,
  port: number,
  timeoutMs: number,
  signal: AbortSignal,
  accepted: () => void,
): Promise<ProbeAnswer> =>
  new Promise((resolve) => {
    const outgoing = request({ host: loopback, port, path, agent: false, signal, headers: { 'user-agent': 'eph-probe' } });
    outgoing.once('socket', (socket) => socket.once('connect', accepted));
    const timer = setTimeout(() => {
      resolve(notReady(`GET ${path} on port ${port} did not answer within ${timeoutMs / 1000} s`));
      outgoing.destroy();
    }, timeoutMs);
    outgoing.once('close', () => clearTimeout(timer));
    outgoing.on('error', (error) => resolve(notReady(`GET ${path} on port ${port} failed: ${explain(error)}`)));
    outgoing.once('response', (response) => {
      const status = response.statusCode ?? 0;
      resolve(status >= 200 && status < 400 ? ready : notReady(`GET ${path} on port ${port} answered ${status}`));
      let read = 0;
      response.on('data', (chunk: Buffer) => {
        read += chunk.length;
        if (read > bodyLimit) response.destroy();
      });
      // The status is known; the rest does not matter.
      response.on('error', () => undefined);
    });
    outgoing.end();
  });

const probeTcp = (port: number, timeoutMs: number, signal: AbortSignal, accepted: () => void): Promise<ProbeAnswer> =>
  new Promise((resolve) => {
    const socket = connect({ host: loopback, port, signal, timeout: timeoutMs });
    const finish = (answer: ProbeAnswer): void => {
      resolve(answer);
      socket.destroy();
    };
    socket.once('connect', () => {
      accepted();
      finish(ready);
    });
    socket.once('timeout', () => finish(notReady(`port ${port} did not accept a connection within ${timeoutMs / 1000} s`)));
    socket.on('error', (error) => finish(notReady(`port ${port}: ${explain(error)}`)));
  });

const explain = (error: Error): string => {
  const code = 'code' in error ? error.code : undefined;
  if (code === 'ECONNREFUSED') return `nothing listens on ${loopback}`;
  if (code === 'ECONNRESET') return 'the connection was closed without an answer';
  return error.message;
};
