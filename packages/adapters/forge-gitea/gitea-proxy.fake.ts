import { once } from 'node:events';
import { createServer, type IncomingMessage, request, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

/** What a client gets instead of the answer of the server behind. */
export interface Substitute {
  readonly status: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
}

/** A list as some proxies and broken replicas answer it. */
export const emptyList: Substitute = {
  status: 200,
  headers: { 'content-type': 'application/json', 'x-total-count': '0' },
  body: '[]',
};

/** Stands between a forge and its client, as proxies do: it counts requests, and can be cut off or give answers of its own. */
export class GiteaProxy implements AsyncDisposable {
  /** `GET /repos/acme/shop/pulls?page=1`: the method, and the path behind `/api/v1` where there is that. */
  readonly requests: string[] = [];
  isCut = false;
  /** Asked for every request; nothing means that the server behind answers. */
  substitute: (request: string) => Substitute | undefined = () => undefined;
  /** Asked for every request that the server behind answers: whether nobody hears of it. */
  losesAnswer: (request: string) => boolean = () => false;
  readonly #server: Server;
  readonly #port: number;

  private constructor(port: number) {
    this.#port = port;
    this.#server = createServer((incoming, outgoing) => this.#serve(incoming, outgoing));
  }

  static async start(port: number): Promise<GiteaProxy> {
    const proxy = new GiteaProxy(port);
    proxy.#server.listen(0, '127.0.0.1');
    await once(proxy.#server, 'listening');
    return proxy;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  /** The requests to the API since the last call. */
  takeApiRequests(): readonly string[] {
    return this.requests.splice(0).filter((line) => !line.includes('.git/'));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.close();
    this.#server.closeAllConnections();
    await once(this.#server, 'close');
  }

  #serve(incoming: IncomingMessage, outgoing: ServerResponse): void {
    if (this.isCut) {
      incoming.socket.destroy();
      return;
    }
    const line = `${incoming.method} ${(incoming.url ?? '').replace(/^\/api\/v1/, '')}`;
    this.requests.push(line);
    const substitute = this.substitute(line);
    if (substitute === undefined) this.#forward(incoming, outgoing, this.losesAnswer(line));
    else outgoing.writeHead(substitute.status, substitute.headers).end(substitute.body);
  }

  #forward(incoming: IncomingMessage, outgoing: ServerResponse, isLost: boolean): void {
    const { method, url, headers } = incoming;
    const behind = request({ host: '127.0.0.1', port: this.#port, method, path: url, headers }, (answer) => {
      if (isLost) {
        incoming.socket.destroy();
        return;
      }
      outgoing.writeHead(answer.statusCode ?? 502, answer.headers);
      answer.pipe(outgoing);
    });
    // The server behind went away, and so does this answer.
    behind.on('error', () => outgoing.destroy());
    incoming.pipe(behind);
  }
}
