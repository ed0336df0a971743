import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Failure, Fault } from './failures.ts';

export interface Received {
  readonly method: string;
  /** Path and query as they were sent: an encoded slash is still encoded. */
  readonly target: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Buffer;
}

export interface Answer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Uint8Array;
}

/** An answer, and how its transport fails. */
export interface Outcome {
  readonly answer: Answer;
  readonly fault: Fault | undefined;
}

const bodyLimit = 16 * 1024 * 1024;

/** An HTTP server on loopback whose answers can fail as on real networks. */
export class LoopbackServer implements AsyncDisposable {
  readonly #server: Server;
  readonly #closing = new AbortController();

  private constructor(handle: (request: Received) => Promise<Outcome>) {
    this.#server = createServer((request, response) => {
      this.#serve(request, response, handle).catch(() => response.destroy()); // The client went away.
    });
  }

  static async start(handle: (request: Received) => Promise<Outcome>): Promise<LoopbackServer> {
    const server = new LoopbackServer(handle);
    await new Promise<void>((resolve) => server.#server.listen(0, '127.0.0.1', resolve));
    return server;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#closing.abort();
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  async #serve(
    request: IncomingMessage,
    response: ServerResponse,
    handle: (request: Received) => Promise<Outcome>,
  ): Promise<void> {
    const body = await readBody(request);
    const headers = Object.fromEntries(Object.entries(request.headers).map(([name, value]) => [name, String(value)]));
    const { answer, fault } = await handle({ method: request.method ?? 'GET', target: request.url ?? '/', headers, body });
    await this.#send(request, response, answer, fault);
  }

  async #send(request: IncomingMessage, response: ServerResponse, answer: Answer, fault: Fault | undefined): Promise<void> {
    switch (fault?.kind) {
      case 'hang':
        return;
      case 'reset':
        request.socket.resetAndDestroy();
        return;
      case 'truncated':
        await sendHalf(request, response, answer);
        return;
      case 'slow':
        await this.#pause(fault.delayMs);
        write(request, response, answer);
        return;
      default:
        write(request, response, answer);
    }
  }

  #pause(delayMs: number): Promise<void> {
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, delayMs);
      this.#closing.signal.addEventListener('abort', () => (clearTimeout(timer), resolve()), { once: true });
    });
  }
}

/** Applies an injected failure to an answer. Empty pages are up to the code that renders pages. */
export const failing = (answer: Answer, failure: Failure | undefined): Outcome => {
  switch (failure?.kind) {
    case 'no-answer':
      return { answer, fault: { kind: 'hang' } };
    case 'truncated':
      return failure.ending === 'broken'
        ? { answer, fault: { kind: 'truncated' } }
        : { answer: { ...answer, body: half(answer.body) }, fault: undefined };
    case 'status':
      return { answer: errorPage(failure), fault: undefined };
    case 'reset':
    case 'slow':
      return { answer, fault: failure };
    default:
      return { answer, fault: undefined };
  }
};

const errorPage = ({ status, headers, body }: Extract<Failure, { kind: 'status' }>): Answer => ({
  status,
  headers: headers ?? { 'content-type': 'text/html; charset=utf-8' },
  body: Buffer.from(body ?? `<!DOCTYPE html><html><head><title>${status}</title></head></html>`),
});

const sendHalf = async (request: IncomingMessage, response: ServerResponse, { status, headers, body }: Answer): Promise<void> => {
  // A body of one byte would otherwise arrive whole.
  response.writeHead(status, { ...headers, 'content-length': String(Math.max(body.length, 2)) });
  await new Promise((resolve) => response.write(half(body), resolve));
  request.socket.destroy();
};

const half = (body: Uint8Array): Uint8Array => body.subarray(0, Math.floor(body.length / 2));

const write = ({ method }: IncomingMessage, response: ServerResponse, { status, headers, body }: Answer): void => {
  const bodiless = status === 204 || status === 304;
  response.writeHead(status, bodiless ? headers : { ...headers, 'content-length': String(body.length) });
  response.end(bodiless || method === 'HEAD' ? undefined : body);
};

const readBody = async (request: IncomingMessage): Promise<Buffer> => {
  const chunks: Buffer[] = [];
  let length = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    length += chunk.length;
    if (length > bodyLimit) throw new Error(`a request body of more than ${bodyLimit} bytes`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
};
