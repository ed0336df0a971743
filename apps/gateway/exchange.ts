import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';
import type { EnvironmentName } from '@eph/contract';
import type { Dispatcher } from 'undici';
import { answerClosed, answerFailed, answerUnknown } from './answers.ts';
import { computeResponseHeaders, computeTrailers, type ReceivedHeaders } from './headers.ts';
import { awaitsContinue, hasBody, RequestBody } from './request-body.ts';
import type { OpenRoute, Routes, Upstream } from './routes.ts';
import type { UpstreamPools } from './upstream-pools.ts';

export interface ExchangeContext {
  readonly routes: Routes;
  readonly pools: UpstreamPools;
  /** True while the gateway stops: answers then close their connection. */
  closing: boolean;
}

export interface Forwarding {
  readonly route: OpenRoute;
  readonly path: string;
  readonly headers: string[];
  readonly cookieHost: string;
  /** Present when the request asks for a WebSocket; called if the upstream agrees. */
  readonly onUpgrade: ((environment: EnvironmentName, headers: readonly string[], upstream: Duplex) => void) | undefined;
}

/** Answers up to this size are sent in one write with their head, which saves 6 % CPU. As text, because Node joins only text. */
const joinedBytes = 8 * 1024;

const clientLeft = new Error('the client left');

/**
 * One request forwarded to an upstream, and its answer. It implements undici's handler itself, because the layers above it
 * (stream, request, fetch) cost throughput and add nothing here.
 */
export class Exchange implements Dispatcher.DispatchHandler {
  readonly #context: ExchangeContext;
  readonly #request: IncomingMessage;
  readonly #response: ServerResponse;
  readonly #forwarding: Forwarding;
  readonly #body: RequestBody | null;
  #upstream: Upstream;
  /** Absent until the request is about to be written: until then, the upstream has seen nothing of it. */
  #controller: Dispatcher.DispatchController | undefined;
  #responseStarted = false;
  #length = Number.NaN;
  #retried = false;

  constructor(context: ExchangeContext, request: IncomingMessage, response: ServerResponse, forwarding: Forwarding) {
    this.#context = context;
    this.#request = request;
    this.#response = response;
    this.#forwarding = forwarding;
    this.#upstream = forwarding.route.upstream;
    this.#body = hasBody(request) ? new RequestBody(request, () => this.#sendContinue()) : null;
  }

  begin(): void {
    const { path, headers, onUpgrade } = this.#forwarding;
    const method = this.#request.method ?? 'GET';
    const upgrade = onUpgrade === undefined ? null : 'websocket';
    this.#controller = undefined;
    try {
      this.#context.pools.get(this.#upstream).dispatch({ path, headers, method, body: this.#body, upgrade }, this);
    } catch (error) {
      // An invalid address, such as a port out of range.
      this.onResponseError(null, error as Error);
    }
  }

  /** Must be called when the response is closed, for any reason. */
  clientClosed(): void {
    if (!this.#response.writableFinished) this.#controller?.abort(clientLeft);
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller;
    if (this.#response.destroyed) controller.abort(clientLeft);
  }

  onResponseStarted(): void {
    this.#responseStarted = true;
  }

  onResponseStart(_: Dispatcher.DispatchController, status: number, headers: ReceivedHeaders, statusText?: string): void {
    if (status < 200) return;
    if (this.#context.closing) this.#response.shouldKeepAlive = false;
    this.#length = Number(headers['content-length']);
    this.#response.writeHead(status, statusText, computeResponseHeaders(headers, this.#forwarding.cookieHost));
    process.nextTick(flushHead, this.#response);
  }

  onResponseData(controller: Dispatcher.DispatchController, chunk: Buffer): void {
    if (chunk.length === this.#length && chunk.length <= joinedBytes) {
      this.#response.end(chunk.toString('latin1'), 'latin1');
      return;
    }
    if (this.#response.write(chunk)) return;
    controller.pause();
    this.#response.once('drain', () => controller.resume());
  }

  onResponseEnd(controller: Dispatcher.DispatchController, trailers: ReceivedHeaders): void {
    if (Array.isArray(controller.rawTrailers) && controller.rawTrailers.length > 0) {
      this.#response.addTrailers(computeTrailers(trailers));
    }
    this.#response.end();
  }

  onRequestUpgrade(_: Dispatcher.DispatchController, _status: number, headers: ReceivedHeaders, upstream: Duplex): void {
    const { route, cookieHost, onUpgrade } = this.#forwarding;
    if (this.#response.destroyed) upstream.destroy();
    else onUpgrade?.(route.environment, computeResponseHeaders(headers, cookieHost), upstream);
  }

  onResponseError(_: Dispatcher.DispatchController | null, error: Error): void {
    if (this.#response.destroyed) return;
    if (this.#response.headersSent) {
      // Closing the connection is the only way left to show that the answer is incomplete.
      this.#response.destroy();
      return;
    }
    if (!this.#retried && this.#isWorthRetrying(error)) this.#retry(error);
    else this.#fail(error);
  }

  /**
   * Either the upstream saw nothing of the request, or it closed the connection without an answer to a repeatable request. The
   * latter happens when the upstream closes an idle connection while it is being reused.
   */
  #isWorthRetrying(error: Error): boolean {
    if (this.#controller === undefined) return true;
    const repeatable = this.#body === null && (this.#request.method === 'GET' || this.#request.method === 'HEAD');
    return repeatable && !this.#responseStarted && hangUps.has(codeOf(error));
  }

  /** The route may have changed: a replaced upstream stops listening once the new one gets the traffic. */
  #retry(error: Error): void {
    this.#retried = true;
    const route = this.#context.routes.find(this.#forwarding.route.environment);
    if (route === undefined) return answerUnknown(this.#response);
    if (route.state === 'closed') return answerClosed(this.#request, this.#response, route);
    const isReplaced = route.state === 'open' && !isSameUpstream(route.upstream, this.#upstream);
    if (route.state !== 'open' || (this.#controller === undefined && !isReplaced)) return this.#fail(error);
    this.#upstream = route.upstream;
    this.begin();
  }

  #fail(error: Error): void {
    this.#body?.destroy();
    answerFailed(this.#request, this.#response, this.#forwarding.route.environment, timeOuts.has(codeOf(error)) ? 504 : 502);
  }

  #sendContinue(): void {
    if (awaitsContinue(this.#request)) this.#response.writeContinue();
  }
}

/** Node holds the head back until there is a body, and a stream of events may have none for a long time. */
const flushHead = (response: ServerResponse): void => {
  if (!response.writableEnded) response.flushHeaders();
};

const hangUps: ReadonlySet<string> = new Set(['ECONNRESET', 'EPIPE', 'UND_ERR_SOCKET']);
const timeOuts: ReadonlySet<string> = new Set(['UND_ERR_HEADERS_TIMEOUT', 'UND_ERR_CONNECT_TIMEOUT', 'ETIMEDOUT']);

const codeOf = (error: Error): string => ('code' in error && typeof error.code === 'string' ? error.code : '');

const isSameUpstream = (one: Upstream, other: Upstream): boolean => one.host === other.host && one.port === other.port;
