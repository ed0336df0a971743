import { type IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { EnvironmentName } from '@eph/contract';
import { answerClosed, answerMalformed, answerMoved, answerUnknown } from './answers.ts';
import type { Destination, FindDestination, OpenDestination } from './destination.ts';
import { Exchange, type ExchangeContext, type Forwarding } from './exchange.ts';
import { computeRequestHeaders } from './headers.ts';
import { hasBody } from './request-body.ts';
import { openTunnel } from './tunnel.ts';

export interface ServedRequest {
  /** The status sent to the client; 499 when it left before that, 101 when a WebSocket opened. */
  readonly status: number;
  readonly environment: EnvironmentName | undefined;
  readonly ms: number;
}

export interface GatewayContext extends ExchangeContext {
  readonly findDestination: FindDestination;
  readonly onRequest: ((request: ServedRequest) => void) | undefined;
}

export const serve = (
  context: GatewayContext,
  request: IncomingMessage,
  response: ServerResponse,
  onUpgrade?: Forwarding['onUpgrade'],
): void => {
  const begunAt = performance.now();
  const destination = context.findDestination(request);
  const forwarding = destination.kind === 'open' ? computeForwarding(request, destination, onUpgrade) : undefined;
  const exchange = forwarding && new Exchange(context, request, response, forwarding);
  response.once('close', () => {
    exchange?.clientClosed();
    const status = response.headersSent ? response.statusCode : 499;
    context.onRequest?.({ status, environment: environmentOf(destination), ms: performance.now() - begunAt });
  });
  if (exchange) exchange.begin();
  else answerHere(request, response, destination);
};

/**
 * Requests for any other upgrade are served without it: a tunnel for `h2c` would carry requests past the routing, and after a
 * body it is unclear where the tunnel begins.
 */
export const asksForWebSocket = (request: IncomingMessage): boolean =>
  request.method === 'GET' && request.headers.upgrade?.toLowerCase() === 'websocket' && !hasBody(request);

/** A request for a WebSocket. If the upstream refuses, its answer is passed on like any other. */
export const serveUpgrade = (context: GatewayContext, request: IncomingMessage, head: Buffer): void => {
  const client = request.socket;
  const response = createUpgradeResponse(request, client);
  const begunAt = performance.now();
  serve(context, request, response, (environment, headers, upstream) => {
    response.detachSocket(client);
    openTunnel(client, head, headers, upstream);
    context.onRequest?.({ status: 101, environment, ms: performance.now() - begunAt });
  });
};

/** Node provides upgrade requests with a bare socket. With a response they take the same path as all others. */
const createUpgradeResponse = (request: IncomingMessage, client: Socket): ServerResponse => {
  const response = new ServerResponse(request);
  response.shouldKeepAlive = false;
  response.assignSocket(client);
  response.once('finish', () => client.destroySoon());
  // Node's server does this for its own responses.
  client.on('drain', () => response.emit('drain'));
  client.on('error', () => response.destroy());
  return response;
};

const computeForwarding = (
  request: IncomingMessage,
  { route, host, cookieHost, path }: OpenDestination,
  onUpgrade: Forwarding['onUpgrade'],
): Forwarding | undefined => {
  const headers = computeRequestHeaders(request.rawHeaders, {
    host,
    clientAddress: request.socket.remoteAddress ?? 'unknown',
    connection: request.headers.connection,
  });
  return headers && { route, path, headers, cookieHost, onUpgrade };
};

const answerHere = (request: IncomingMessage, response: ServerResponse, destination: Destination): void => {
  switch (destination.kind) {
    case 'closed':
      return answerClosed(request, response, destination.route);
    case 'moved':
      return answerMoved(response, destination.location);
    case 'unknown':
      return answerUnknown(response);
    // Without headers to forward: the request names two hosts.
    case 'open':
    case 'malformed':
      return answerMalformed(response);
  }
};

const environmentOf = (destination: Destination): EnvironmentName | undefined =>
  destination.kind === 'open' || destination.kind === 'closed' ? destination.route.environment : undefined;
