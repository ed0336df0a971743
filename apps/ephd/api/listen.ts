import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { createServer as createTlsServer, type Server as TlsServer } from 'node:https';
import type { AddressInfo, Socket } from 'node:net';
import { EphError, type Log } from '@eph/contract';
import type { Clock } from '@eph/engine/time/clock';
import { serve } from '@hono/node-server';
import { type CertificateFiles, followCertificate, readCertificate } from './certificate.ts';
import type { Connections } from './connections.ts';
import { acceptUpgrades, isUpgrade } from './web-socket.ts';

export interface ListenOptions {
  readonly fetch: Parameters<typeof serve>[0]['fetch'];
  readonly host: string;
  readonly port: number;
  readonly tls?: CertificateFiles | undefined;
  readonly connections: Connections;
  /** Commands and connections run over WebSockets. */
  readonly hasWebSockets?: true;
  readonly clock: Clock;
  readonly log: Log;
}

export interface Listener extends AsyncDisposable {
  readonly port: number;
}

/** A client that sends nothing, or slowly, holds a connection no longer than this. Answers may take as long as they like. */
const limits = {
  maxHeaderSize: 16 * 1024,
  headersTimeout: 5_000,
  requestTimeout: 30_000,
  keepAliveTimeout: 5_000,
  connectionsCheckingInterval: 1_000,
};

/** Streams that were aborted get this long to end properly. */
const closingMs = 200;

/** Serves HTTP, or HTTPS where there is a certificate. Fails where somebody else has the port. */
export const listen = async ({
  fetch,
  host,
  port,
  tls,
  connections,
  hasWebSockets,
  clock,
  log,
}: ListenOptions): Promise<Listener> => {
  const certificate = tls && (await readCertificate(tls));
  const common = { ...limits, ...(hasWebSockets && { shouldUpgradeCallback: isUpgrade }) };
  const secure = certificate && { ...common, ...certificate, handshakeTimeout: limits.headersTimeout };
  const options = secure ? { createServer: createTlsServer, serverOptions: secure } : { createServer, serverOptions: common };
  const server = await new Promise<Server | TlsServer>((resolve, reject) => {
    const starting = serve({ fetch, hostname: host, port, ...options }, () => resolve(starting)) as Server | TlsServer;
    starting.on('connection', (socket: Socket) => connections.add(socket));
    if (hasWebSockets) acceptUpgrades(starting);
    starting.prependListener('request', closeAfterBody);
    starting.once('error', (error: NodeJS.ErrnoException) => reject(explain(error, host, port)));
  });
  const following =
    tls && certificate && followCertificate(tls, certificate, { clock, log, use: (next) => replaceCertificate(server, next) });
  return {
    port: (server.address() as AddressInfo).port,
    async [Symbol.asyncDispose]() {
      following?.[Symbol.dispose]();
      const closed = Promise.withResolvers<void>();
      server.close(() => closed.resolve());
      setTimeout(() => server.closeAllConnections(), closingMs);
      await closed.promise;
    },
  };
};

/** The adapter leaves the body of a GET alone, and Node would read on for as long as a request may take. */
const closeAfterBody = ({ method = '', headers }: IncomingMessage, response: ServerResponse): void => {
  const hasBody = headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0;
  if (hasBody && ['GET', 'HEAD'].includes(method)) response.shouldKeepAlive = false;
};

/** Connections that exist keep the certificate that they began with. */
const replaceCertificate = (server: Server | TlsServer, next: { readonly cert: string; readonly key: string }): void => {
  if ('setSecureContext' in server) server.setSecureContext(next);
};

const explain = (error: NodeJS.ErrnoException, host: string, port: number): EphError =>
  new EphError(
    'config.invalid',
    error.code === 'EADDRINUSE'
      ? `port ${port} is taken on ${host}; another ephd may be running, or choose one with --port`
      : `ephd cannot listen on port ${port} of ${host}: ${error.message}`,
    { cause: error },
  );
