import { request as httpRequest, type IncomingHttpHeaders, type IncomingMessage } from 'node:http';
import { connect, type Socket } from 'node:net';
import { buffer } from 'node:stream/consumers';
import { expect } from 'vitest';

export interface Visit {
  readonly host?: string;
  readonly path?: string;
  readonly method?: string;
  readonly headers?: { readonly [name: string]: string };
  readonly body?: string | Buffer;
}

export interface Answer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly trailers: NodeJS.Dict<string>;
  readonly text: string;
}

/** One request on a connection of its own. */
export const visit = async (port: number, options: Visit = {}): Promise<Answer> => {
  const response = await beginVisit(port, options);
  const text = (await buffer(response)).toString('utf8');
  return { status: response.statusCode ?? 0, headers: response.headers, trailers: response.trailers, text };
};

/** The answer as soon as its head is there. */
export const beginVisit = (port: number, options: Visit = {}): Promise<IncomingMessage> =>
  new Promise((resolve, reject) => {
    const { host = 'shop.localhost', path = '/', method = 'GET', headers = {}, body } = options;
    const request = httpRequest({ host: '127.0.0.1', port, path, method, headers: { host, ...headers }, agent: false });
    request.on('response', resolve).on('error', reject);
    request.end(body);
  });

/** A client that sends exactly these bytes, and more through its socket. */
export class RawVisitor implements AsyncDisposable {
  readonly socket: Socket;
  readonly closed: Promise<void>;
  received = '';

  constructor(port: number, bytes = '') {
    this.socket = connect(port, '127.0.0.1');
    this.socket.setEncoding('latin1');
    this.socket.on('data', (text: string) => {
      this.received += text;
    });
    this.socket.on('error', () => undefined);
    this.closed = new Promise((resolve) => this.socket.once('close', () => resolve()));
    if (bytes !== '') this.socket.write(bytes, 'latin1');
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.socket.destroy();
    await this.closed;
  }
}

/** Sends these bytes and reads until the connection ends; `bytes` should ask for that. */
export const sendRaw = async (port: number, bytes: string): Promise<string> => {
  await using visitor = new RawVisitor(port, bytes);
  await visitor.closed;
  return visitor.received;
};

export const expectSoon = <T>(read: () => T): ReturnType<typeof expect.poll<T>> => {
  return expect.poll(read);
};
