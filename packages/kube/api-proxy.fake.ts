import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { Agent, request as requestTls } from 'node:https';
import type { AddressInfo, Socket } from 'node:net';

/** What becomes of a request. */
export type Fault =
  /** The connection breaks before an answer. */
  | { readonly type: 'reset' }
  /** There is never an answer. */
  | { readonly type: 'stall' }
  /** Another one answers. */
  | {
      readonly type: 'answer';
      readonly status: number;
      readonly headers?: Readonly<Record<string, string>>;
      readonly body?: unknown;
    }
  /** The answer of the API server, of which so many bytes pass before the connection breaks. */
  | { readonly type: 'half'; readonly bytes: number }
  /** The lines of a watch, each as these. */
  | { readonly type: 'lines'; readonly rewrite: (line: string) => readonly string[] };

export interface ProxiedRequest {
  readonly method: string;
  readonly url: URL;
  readonly isWatch: boolean;
}

/**
 * Stands before a real API server and passes requests on, apart from those that it was told to disturb. It speaks plain HTTP, so
 * clients need a token.
 */
export class ApiProxy implements AsyncDisposable {
  readonly requests: ProxiedRequest[] = [];
  /** Decides before a request is passed on. */
  fault: (request: ProxiedRequest) => Fault | undefined = () => undefined;
  readonly #target: URL;
  readonly #agent: Agent;
  readonly #server: Server;
  readonly #watches = new Set<ServerResponse>();
  readonly #sockets = new Set<Socket>();

  private constructor(target: URL, authority: string) {
    this.#target = target;
    this.#agent = new Agent({ ca: authority, keepAlive: true });
    this.#server = createServer((request, response) => this.#handle(request, response));
    this.#server.on('connection', (socket) => {
      this.#sockets.add(socket);
      socket.once('close', () => this.#sockets.delete(socket));
    });
  }

  static async start(target: string, authority: string): Promise<ApiProxy> {
    const proxy = new ApiProxy(new URL(target), authority);
    proxy.#server.listen(0, '127.0.0.1');
    await once(proxy.#server, 'listening');
    return proxy;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  get openWatches(): number {
    return this.#watches.size;
  }

  count(matches: (request: ProxiedRequest) => boolean): number {
    return this.requests.filter(matches).length;
  }

  /** Breaks every connection off. */
  resetAll(): void {
    for (const socket of this.#sockets) socket.resetAndDestroy();
  }

  /** The watches that are open now go on, and nothing more comes. */
  silenceWatches(): void {
    for (const response of this.#watches) response.write = () => true;
  }

  /** Sends this to every open watch. */
  sendToWatches(text: string): void {
    for (const response of this.#watches) response.write(text);
  }

  endWatches(): void {
    for (const response of this.#watches) response.end();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.close();
    for (const socket of this.#sockets) socket.destroy();
    this.#agent.destroy();
    await once(this.#server, 'close');
  }

  #handle(request: IncomingMessage, response: ServerResponse): void {
    const url = new URL(request.url ?? '/', this.#target);
    const proxied = { method: request.method ?? '', url, isWatch: url.searchParams.get('watch') === '1' };
    this.requests.push(proxied);
    const fault = this.fault(proxied);
    if (fault?.type === 'reset') return request.socket.resetAndDestroy() && undefined;
    if (fault?.type === 'stall') return;
    if (fault?.type === 'answer') {
      response.writeHead(fault.status, { 'content-type': 'application/json', ...fault.headers });
      response.end(typeof fault.body === 'string' ? fault.body : JSON.stringify(fault.body ?? {}));
      return;
    }
    const passed = requestTls(url, {
      method: proxied.method,
      headers: { ...request.headers, host: url.host },
      agent: this.#agent,
    });
    passed.on('response', (answer) => this.#answer(proxied, answer, response, fault));
    passed.on('error', () => request.socket.resetAndDestroy());
    response.once('close', () => passed.destroy());
    request.pipe(passed);
  }

  #answer({ isWatch }: ProxiedRequest, answer: IncomingMessage, response: ServerResponse, fault: Fault | undefined): void {
    if (isWatch) {
      this.#watches.add(response);
      response.once('close', () => this.#watches.delete(response));
    }
    const { 'content-length': _, ...headers } = answer.headers;
    response.writeHead(answer.statusCode ?? 500, headers);
    response.flushHeaders();
    let left = fault?.type === 'half' ? fault.bytes : Number.POSITIVE_INFINITY;
    let rest = '';
    answer.on('data', (bytes: Buffer) => {
      if (fault?.type === 'lines') {
        const lines = `${rest}${bytes.toString()}`.split('\n');
        rest = lines.pop() ?? '';
        for (const line of lines) for (const sent of fault.rewrite(line)) response.write(`${sent}\n`);
        return;
      }
      response.write(bytes.subarray(0, left));
      left -= bytes.length;
      if (left <= 0) response.socket?.resetAndDestroy();
    });
    answer.on('end', () => response.end());
    answer.on('error', () => response.socket?.resetAndDestroy());
  }
}
