import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer, type IncomingMessage, request, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { basename, dirname } from 'node:path';
import type { GitlabEmulator } from '../../../test/parts/gitlab/gitlab-emulator.ts';

/** What a client gets instead of the answer of the server behind. */
export interface Substitute {
  readonly status: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
}

/** Stands between GitLab and its client, as proxies do: it counts requests, can be cut off, gives answers of its own, and serves Git. */
export class GitlabFront implements AsyncDisposable {
  /** `GET /projects/acme%2Fshop/merge_requests?page=1`: the method, and the path behind `/api/v4` where there is that. */
  readonly requests: string[] = [];
  isCut = false;
  /** Asked for every request; nothing means that the server behind answers. */
  substitute: (line: string, body: string) => Substitute | undefined = () => undefined;
  readonly #gitlab: GitlabEmulator;
  readonly #server: Server;

  private constructor(gitlab: GitlabEmulator) {
    this.#gitlab = gitlab;
    this.#server = createServer((incoming, outgoing) => {
      // Only a client that went away, or a test that ended, keeps a request from being answered.
      this.#serve(incoming, outgoing).catch(() => outgoing.destroy());
    });
  }

  static async start(gitlab: GitlabEmulator): Promise<GitlabFront> {
    const front = new GitlabFront(gitlab);
    front.#server.listen(0, '127.0.0.1');
    await once(front.#server, 'listening');
    return front;
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

  async #serve(incoming: IncomingMessage, outgoing: ServerResponse): Promise<void> {
    if (this.isCut) {
      incoming.socket.destroy();
      return;
    }
    const chunks: Buffer[] = await incoming.toArray();
    const body = Buffer.concat(chunks);
    const line = `${incoming.method} ${(incoming.url ?? '').replace(/^\/api\/v4/, '')}`;
    this.requests.push(line);
    const substitute = this.substitute(line, body.toString());
    const project = /^\/([^?]+)\.git\//.exec(incoming.url ?? '')?.[1];
    if (substitute !== undefined) outgoing.writeHead(substitute.status, substitute.headers).end(substitute.body);
    else if (project !== undefined) await this.#serveGit(project, incoming, body, outgoing);
    else this.#forward(incoming, body, outgoing);
  }

  #forward({ method, url, headers }: IncomingMessage, body: Buffer, outgoing: ServerResponse): void {
    const target = new URL(this.#gitlab.url);
    const behind = request({ host: target.hostname, port: target.port, method, path: url, headers }, (answer) => {
      outgoing.writeHead(answer.statusCode ?? 502, answer.headers);
      answer.pipe(outgoing);
    });
    // The server behind broke off, and so does this answer.
    behind.on('error', () => outgoing.destroy()).end(body);
  }

  /** By Git's own program for it. Whoever has any token may fetch and push here. */
  async #serveGit(project: string, { url = '', method, headers }: IncomingMessage, body: Buffer, outgoing: ServerResponse) {
    if (!/^Basic \S+$/.test(headers.authorization ?? '')) {
      outgoing.writeHead(401, { 'www-authenticate': 'Basic realm="GitLab"' }).end();
      return;
    }
    const path = await this.#gitlab.read.repositoryPath(decodeURIComponent(project));
    const [target = '', query = ''] = url.split('?');
    const backend = spawn('git', ['-c', 'http.receivepack=true', '-c', 'uploadpack.allowAnySHA1InWant=true', 'http-backend'], {
      env: {
        PATH: process.env.PATH,
        GIT_CONFIG_NOSYSTEM: '1',
        GIT_CONFIG_GLOBAL: '/dev/null',
        GIT_PROJECT_ROOT: dirname(path),
        GIT_HTTP_EXPORT_ALL: '1',
        GIT_PROTOCOL: String(headers['git-protocol'] ?? ''),
        PATH_INFO: `/${basename(path)}${target.slice(`/${project}.git`.length)}`,
        QUERY_STRING: query,
        REQUEST_METHOD: method,
        CONTENT_TYPE: headers['content-type'] ?? '',
        CONTENT_LENGTH: String(body.length),
        HTTP_CONTENT_ENCODING: headers['content-encoding'] ?? '',
        REMOTE_USER: 'somebody',
      },
      stdio: ['pipe', 'pipe', 'ignore'],
    });
    // A Git that ends early has said why.
    backend.stdin.on('error', () => undefined).end(body);
    answerAsCgi(Buffer.concat(await backend.stdout.toArray()), outgoing);
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
