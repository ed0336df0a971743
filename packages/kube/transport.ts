import type { IncomingHttpHeaders } from 'node:http';
import { EphError, isEphError } from '@eph/contract';
import { Agent, type Dispatcher, ProxyAgent } from 'undici';
import type { Connection, Credentials } from './connection.ts';
import { LimitReached } from './pause.ts';

export interface TransportRequest {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  /** With its query. */
  readonly path: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string | undefined;
  /** For answers that go on for long: they do not take the place of others. */
  readonly isStream?: boolean;
}

export interface TransportAnswer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly body: Dispatcher.ResponseData['body'];
}

/** Requests to one API server, with the credentials of its connection. */
export interface Transport extends AsyncDisposable {
  /** Asks with renewed credentials if the first are refused. Throws `cluster.unreachable` without an answer. */
  send(request: TransportRequest, signal: AbortSignal): Promise<TransportAnswer>;
  /** For whoever connects otherwise. */
  readonly connection: Connection;
}

/** How many requests to one cluster are under way at once, apart from watches and logs. */
const concurrency = 32;
const connectTimeoutMs = 10_000;
/** A peer that is gone without a word is noticed by the kernel, too. */
const keepAliveMs = 30_000;
const dumpLimitBytes = 64 * 1024;

interface Agents {
  readonly key: string;
  readonly requests: Dispatcher;
  readonly streams: Dispatcher;
}

export const createTransport = (cluster: string, connection: Connection): Transport => {
  let agents: Agents | undefined;
  let closed = false;

  const agentsFor = (credentials: Credentials): Agents => {
    if (closed) throw new EphError('cluster.unreachable', `The connection to cluster ${cluster} is closed.`);
    const key = JSON.stringify([credentials.proxyUrl, Object.values(credentials.tls).map(String)]);
    if (agents?.key !== key) {
      // Ends when the requests that are under way do.
      void closeAgents(agents);
      agents = { key, requests: createAgent(credentials, concurrency), streams: createAgent(credentials) };
    }
    return agents;
  };

  const sendWith = async (credentials: Credentials, request: TransportRequest, signal: AbortSignal): Promise<TransportAnswer> => {
    const { requests, streams } = agentsFor(credentials);
    const { origin, pathname } = new URL(credentials.server);
    try {
      const { statusCode, headers, body } = await (request.isStream === true ? streams : requests).request({
        origin,
        path: `${pathname.replace(/\/$/, '')}${request.path}`,
        method: request.method,
        headers: { 'user-agent': 'eph', 'accept-encoding': 'identity', ...request.headers, ...credentials.headers },
        body: request.body ?? null,
        signal,
      });
      return { status: statusCode, headers, body };
    } catch (error) {
      throw toTransportError(cluster, error, signal);
    }
  };

  return {
    async send(request, signal) {
      const credentials = await connection.current(signal);
      const answer = await sendWith(credentials, request, signal);
      if (answer.status !== 401) return answer;
      await answer.body.dump({ limit: dumpLimitBytes, signal }).catch(() => undefined); // The status is all that it says.
      return await sendWith(await connection.renew(credentials, signal), request, signal);
    },
    connection,
    [Symbol.asyncDispose]: async () => {
      closed = true;
      await Promise.all([agents?.requests.destroy(), agents?.streams.destroy()]);
    },
  };
};

const createAgent = ({ tls, proxyUrl }: Credentials, connections?: number): Dispatcher => {
  const connect = { ...tls, timeout: connectTimeoutMs, keepAlive: true, keepAliveInitialDelay: keepAliveMs };
  const options = { connections: connections ?? null, allowH2: false, headersTimeout: 0, bodyTimeout: 0 };
  if (proxyUrl === undefined) return new Agent({ ...options, connect });
  return new ProxyAgent({ ...options, uri: proxyUrl, requestTls: connect });
};

const closeAgents = async (agents: Agents | undefined): Promise<void> => {
  await Promise.all([agents?.requests.close(), agents?.streams.close()]);
};

/** Codes of Node and OpenSSL for a certificate that is not that of the host, or that nobody trusted has signed. */
const certificateCodes = /^(ERR_TLS_CERT_|CERT_|DEPTH_ZERO_|SELF_SIGNED_|UNABLE_TO_|HOSTNAME_MISMATCH|INVALID_)/;

/** Why there is no answer, or no more of it. */
export const toTransportError = (cluster: string, error: unknown, signal: AbortSignal): unknown => {
  if (isEphError(error)) return error;
  const reason: unknown = signal.aborted ? signal.reason : error;
  if (reason instanceof LimitReached) return new EphError('cluster.unreachable', `Cluster ${cluster} does not answer in time.`);
  if (signal.aborted) return reason;
  const code = codeOf(error);
  if (code !== undefined && certificateCodes.test(code))
    return new EphError(
      'cluster.refused',
      `ephd does not trust the certificate of cluster ${cluster} (${code}). An operator must set certificate-authority in its kubeconfig.`,
    );
  const shown = code === undefined ? '' : ` (${code})`;
  return new EphError('cluster.unreachable', `Cluster ${cluster} could not be reached${shown}.`);
};

/** Only the code: messages contain ports and times, so every failure would look like a new one. */
const codeOf = (error: unknown): string | undefined => {
  for (let at: unknown = error; at instanceof Error; at = at.cause) {
    if ('code' in at && typeof at.code === 'string') return at.code;
  }
  return undefined;
};
