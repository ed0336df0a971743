import { createServer, type Server } from 'node:http';
import { type AddressInfo, isIPv4, type Socket } from 'node:net';
import { EphError } from '@eph/contract';
import { createFindDestination } from './destination.ts';
import type { Routes } from './routes.ts';
import { asksForWebSocket, type GatewayContext, type ServedRequest, serve, serveUpgrade } from './serve.ts';
import { UpstreamPools } from './upstream-pools.ts';

export type { Route, Routes } from './routes.ts';
export type { ServedRequest } from './serve.ts';

export interface GatewayOptions {
  readonly routes: Routes;
  /** 0 takes a free one. */
  readonly port: number;
  readonly host?: string;
  /** Environments are reached at `<name>.<domain>`. */
  readonly domain?: string;
  /** How long an environment may take to begin its answer. The answer itself has no limit. */
  readonly answerTimeoutMs?: number;
  readonly connectTimeoutMs?: number;
  /** How long a client may take to send the head of a request. */
  readonly headTimeoutMs?: number;
  /** How long `close` waits for running answers. */
  readonly closeGraceMs?: number;
  /** Called after every request. Must be quick and must not throw. */
  readonly onRequest?: (request: ServedRequest) => void;
}

export interface Gateway extends AsyncDisposable {
  readonly port: number;
  /** Stops listening, lets running answers finish within the grace period, and ends the rest. */
  close(): Promise<void>;
}

const maxHeaderBytes = 32 * 1024;

export const createGateway = async (options: GatewayOptions): Promise<Gateway> => {
  const { routes, host = '127.0.0.1', domain = 'localhost', closeGraceMs = 5_000 } = options;
  requireLoopbackForLocalhost(host, domain);
  const context: GatewayContext = {
    routes,
    pools: new UpstreamPools({
      connectTimeoutMs: options.connectTimeoutMs ?? 5_000,
      answerTimeoutMs: options.answerTimeoutMs ?? 60_000,
      maxHeaderBytes,
      idleMs: 60_000,
      maxPools: 1_000,
    }),
    findDestination: createFindDestination(routes, domain),
    onRequest: options.onRequest,
    closing: false,
  };
  const upgraded = new Set<Socket>();
  const server = createHttpServer(options.headTimeoutMs ?? 20_000);
  server.on('request', (request, response) => serve(context, request, response));
  server.on('checkContinue', (request, response) => serve(context, request, response));
  server.on('upgrade', (request, _, head) => {
    upgraded.add(request.socket);
    request.socket.once('close', () => upgraded.delete(request.socket));
    serveUpgrade(context, request, head);
  });
  await listen(server, host, options.port);

  let stopped: Promise<void> | undefined;
  const close = (): Promise<void> => {
    context.closing = true;
    for (const socket of upgraded) socket.destroy();
    stopped ??= stop(server, closeGraceMs, context.pools);
    return stopped;
  };
  return { port: (server.address() as AddressInfo).port, close, [Symbol.asyncDispose]: close };
};

const createHttpServer = (headTimeoutMs: number): Server =>
  createServer({
    headersTimeout: headTimeoutMs,
    // Unlimited: an upload may be slow, and the head has its own limit.
    requestTimeout: 0,
    connectionsCheckingInterval: Math.min(headTimeoutMs, 5_000),
    maxHeaderSize: maxHeaderBytes,
    insecureHTTPParser: false,
    optimizeEmptyRequests: true,
    keepAlive: true,
    shouldUpgradeCallback: asksForWebSocket,
  });

const listen = (server: Server, host: string, port: number): Promise<void> =>
  new Promise((resolve, reject) => {
    server.once('error', (error: NodeJS.ErrnoException) => {
      const why = error.code === 'EADDRINUSE' ? 'the port is in use' : (error.code ?? error.message);
      const message = `The gateway cannot listen on ${host}:${port}: ${why}. Free it or choose another port.`;
      reject(new EphError('port.unavailable', message, { cause: error }));
    });
    server.listen(port, host, () => {
      server.removeAllListeners('error');
      // Such as a connection that could not be accepted for lack of file descriptors. It is closed; others are not affected.
      server.on('error', () => undefined);
      resolve();
    });
  });

const stop = async (server: Server, graceMs: number, pools: UpstreamPools): Promise<void> => {
  const closed = new Promise<void>((resolve) => server.close(() => resolve()));
  // `server.close` closes idle connections only once; those that are still answering become idle later.
  const idle = setInterval(() => server.closeIdleConnections(), 50);
  const grace = setTimeout(() => server.closeAllConnections(), graceMs);
  await closed;
  clearInterval(idle);
  clearTimeout(grace);
  await pools.destroy();
};

/** Names under `localhost` resolve to the client's own machine, so listening for others would be a mistake. */
const requireLoopbackForLocalhost = (host: string, domain: string): void => {
  const isLoopback = host === 'localhost' || host === '::1' || (isIPv4(host) && host.startsWith('127.'));
  const isLocalDomain = domain === 'localhost' || domain.endsWith('.localhost');
  if (isLoopback || !isLocalDomain) return;
  const message = `The gateway cannot listen on ${host}: *.${domain} is reachable from this machine only. Set a domain or listen on 127.0.0.1.`;
  throw new EphError('config.invalid', message);
};
