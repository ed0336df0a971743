import { request } from 'node:http';
import { connect } from 'node:net';
import { loopback } from './ports.ts';
import type { Probe } from './service.ts';

export type ProbeAnswer = { readonly ready: true } | { readonly ready: false; readonly why: string };

const ready: ProbeAnswer = { ready: true };
const notReady = (why: string): ProbeAnswer => ({ ready: false, why });

/** A streaming page has no end; this much of an answer is taken in so that the service is not cut off in mid-sentence. */
const bodyLimit = 64 * 1024;

/** Asks once whether a service is ready. Never throws. */
export const probe = (
  kind: Exclude<Probe, { kind: 'none' }>,
  port: number,
  timeoutMs: number,
  signal: AbortSignal,
): Promise<ProbeAnswer> =>
  kind.kind === 'http' ? probeHttp(kind.path, port, timeoutMs, signal) : probeTcp(port, timeoutMs, signal);

const probeHttp = (path: string, port: number, timeoutMs: number, signal: AbortSignal): Promise<ProbeAnswer> =>
  new Promise((resolve) => {
    const asked = request({ host: loopback, port, path, agent: false, signal, headers: { 'user-agent': 'eph-probe' } });
    const timer = setTimeout(() => {
      resolve(notReady(`GET ${path} on port ${port} did not answer within ${timeoutMs / 1000} s`));
      asked.destroy();
    }, timeoutMs);
    asked.once('close', () => clearTimeout(timer));
    asked.on('error', (error) => resolve(notReady(`GET ${path} on port ${port} failed: ${explain(error)}`)));
    asked.once('response', (response) => {
      const status = response.statusCode ?? 0;
      resolve(status >= 200 && status < 400 ? ready : notReady(`GET ${path} on port ${port} answered ${status}`));
      let taken = 0;
      response.on('data', (chunk: Buffer) => {
        taken += chunk.length;
        if (taken > bodyLimit) response.destroy();
      });
      // The answer is known; how the rest of it arrives does not matter.
      response.on('error', () => undefined);
    });
    asked.end();
  });

const probeTcp = (port: number, timeoutMs: number, signal: AbortSignal): Promise<ProbeAnswer> =>
  new Promise((resolve) => {
    const socket = connect({ host: loopback, port, signal, timeout: timeoutMs });
    const finish = (answer: ProbeAnswer): void => {
      resolve(answer);
      socket.destroy();
    };
    socket.once('connect', () => finish(ready));
    socket.once('timeout', () => finish(notReady(`port ${port} did not accept a connection within ${timeoutMs / 1000} s`)));
    socket.on('error', (error) => finish(notReady(`port ${port}: ${explain(error)}`)));
  });

const explain = (error: Error): string => {
  const code = 'code' in error ? error.code : undefined;
  if (code === 'ECONNREFUSED') return `nothing listens on ${loopback}`;
  if (code === 'ECONNRESET') return 'the connection was closed without an answer';
  return error.message;
};
