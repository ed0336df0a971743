import { spawn } from 'node:child_process';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { basename, dirname } from 'node:path';
import type { Origin } from './origin.fake.ts';

export interface HttpOriginOptions {
  /** `user:password` that every request must carry. */
  readonly credentials?: string;
  readonly readOnly?: boolean;
}

/** A repository served over HTTP by `git http-backend` on loopback. */
export class HttpOrigin implements AsyncDisposable {
  outage: number | undefined;
  /** The requests, such as `GET /origin/info/refs`; `LIST` if not sent by Git. */
  readonly requests: string[] = [];
  readonly #origin: Origin;
  readonly #options: HttpOriginOptions;
  readonly #server: Server;

  private constructor(origin: Origin, options: HttpOriginOptions) {
    this.#origin = origin;
    this.#options = options;
    this.#server = createServer((request, response) => this.#answer(request, response));
  }

  static async serve(origin: Origin, options: HttpOriginOptions = {}): Promise<HttpOrigin> {
    const served = new HttpOrigin(origin, options);
    await origin.git('config', 'http.receivepack', options.readOnly === true ? 'false' : 'true');
    await new Promise<void>((resolve) => served.#server.listen(0, '127.0.0.1', resolve));
    return served;
  }

  url(credentials?: string): string {
    const { port } = this.#server.address() as AddressInfo;
    return `http://${credentials === undefined ? '' : `${credentials}@`}127.0.0.1:${port}/${basename(this.#origin.path)}`;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  #answer(request: IncomingMessage, response: ServerResponse): void {
    const [path = '', query = ''] = (request.url ?? '').split('?');
    const isGit = request.headers['user-agent']?.startsWith('git/') === true;
    this.requests.push(`${isGit ? request.method : 'LIST'} ${path}`);
    const { credentials } = this.#options;
    const expected = credentials === undefined ? undefined : `Basic ${Buffer.from(credentials).toString('base64')}`;
    if (this.outage !== undefined) return void response.writeHead(this.outage).end();
    if (expected !== undefined && request.headers.authorization !== expected) {
      return void response.writeHead(401, { 'www-authenticate': 'Basic realm="git"' }).end();
    }
    this.#runBackend(path, query, request, response);
  }

  #runBackend(path: string, query: string, request: IncomingMessage, response: ServerResponse): void {
    const { headers } = request;
    const backend = spawn('git', ['http-backend'], {
      env: {
        PATH: process.env.PATH,
        GIT_CONFIG_NOSYSTEM: '1',
        GIT_CONFIG_GLOBAL: '/dev/null',
        GIT_PROJECT_ROOT: dirname(this.#origin.path),
        GIT_HTTP_EXPORT_ALL: '1',
        GIT_PROTOCOL: String(headers['git-protocol'] ?? ''),
        PATH_INFO: path,
        QUERY_STRING: query,
        REQUEST_METHOD: request.method,
        CONTENT_TYPE: headers['content-type'] ?? '',
        HTTP_CONTENT_ENCODING: headers['content-encoding'] ?? '',
        REMOTE_USER: 'somebody',
      },
      stdio: ['pipe', 'pipe', 'ignore'],
    });
    request.pipe(backend.stdin);
    const chunks: Buffer[] = [];
    backend.stdout.on('data', (chunk: Buffer) => chunks.push(chunk));
    backend.on('close', () => answerAsCgi(Buffer.concat(chunks), response));
  }
}

const answerAsCgi = (output: Buffer, response: ServerResponse): void => {
  const end = output.indexOf('\r\n\r\n');
  for (const line of output.toString('latin1', 0, end).split('\r\n')) {
    const [name = '', value = ''] = line.split(': ');
    if (name === 'Status') response.statusCode = Number(value.slice(0, 3));
    else response.setHeader(name, value);
  }
  response.end(output.subarray(end + 4));
};
