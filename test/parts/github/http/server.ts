import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import type { FailureRule, FailureSubject, Failures } from '../../emulation/failures.ts';
import { parseGitRequest } from '../../emulation/git-request.ts';
import type { RequestLog } from '../../emulation/request-log.ts';
import type { GithubState } from '../state/github-state.ts';
import type { GithubApi } from './api.ts';
import type { Failure } from './failures.ts';
import { type GitHttp, operationOf } from './git-http.ts';
import { type Reply, secondaryLimitMessage } from './reply.ts';

export interface ServerParts {
  readonly github: GithubState;
  readonly api: GithubApi;
  readonly git: GitHttp;
  readonly failures: Failures<Failure>;
  readonly log: RequestLog;
  readonly nextRequestId: () => string;
}

/** Binds the port before there is a handler, since answers contain the address. */
export class Listener {
  readonly port: number;
  readonly #server: Server;

  private constructor(server: Server) {
    this.#server = server;
    this.port = (server.address() as AddressInfo).port;
  }

  static async bind(): Promise<Listener> {
    const server = createServer();
    // A client must not reuse a kept-alive connection that is just being closed.
    server.keepAliveTimeout = 120_000;
    await new Promise<void>((resolve, reject) => {
      server.once('error', reject);
      server.listen(0, '127.0.0.1', resolve);
    });
    return new Listener(server);
  }

  serve(handle: (request: IncomingMessage, response: ServerResponse) => void): void {
    this.#server.on('request', handle);
  }

  async close(): Promise<void> {
    const closed = new Promise((resolve) => this.#server.close(resolve));
    this.#server.closeAllConnections();
    await closed;
  }
}

/** Serves the API and Git, and injects failures into its answers. */
export class ApiServer {
  readonly #parts: ServerParts;
  readonly #stopping = new AbortController();

  constructor(parts: ServerParts) {
    this.#parts = parts;
  }

  stop(): void {
    this.#stopping.abort();
  }

  async serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { api, git, github } = this.#parts;
    const method = request.method ?? 'GET';
    const url = new URL(request.url ?? '/', new URL(github.urls.api).origin);
    const body = await readBody(request);
    const asked = parseGitRequest(method, request.url ?? '/');
    if (asked !== undefined) {
      const subject = { method, path: request.url ?? '/', operation: operationOf(asked) };
      return await this.#exchange(subject, request, response, () => git.answer(asked, request.headers, body));
    }
    const path = `${api.describedPath(url) ?? url.pathname}${url.search}`;
    const subject = { method, path, operation: api.operationOf(method, url) };
    await this.#exchange(subject, request, response, (id, rule) =>
      api.answer({
        id,
        method,
        url,
        headers: request.headers,
        body,
        emptyPage: rule?.failure.kind === 'empty-page',
      }),
    );
  }

  async #exchange(
    subject: FailureSubject,
    request: IncomingMessage,
    response: ServerResponse,
    answer: (id: string, rule: FailureRule<Failure> | undefined) => Promise<Reply>,
  ): Promise<void> {
    const { failures, log, github, nextRequestId } = this.#parts;
    const rule = failures.pick(subject);
    const id = nextRequestId();
    if (rule?.failure.kind === 'slow') await this.#wait(rule.failure.delayMs);
    const needsAnswer = rule === undefined || rule.takesEffect === true || keepsAnswer(rule);
    const reply = needsAnswer ? await answer(id, rule) : undefined;
    log.add({
      at: github.now(),
      id,
      method: subject.method,
      path: subject.path,
      operation: subject.operation,
      budget: reply?.budget,
      status: statusSeen(rule, reply),
      points: reply?.points ?? 0,
      conditional: 'if-none-match' in request.headers || 'if-modified-since' in request.headers,
      failure: rule?.failure.kind,
    });
    if (rule === undefined && reply !== undefined) this.#send(response, subject.method, reply, github.now());
    else if (rule !== undefined) this.#fail(rule, id, subject.method, reply, response);
  }

  #send(response: ServerResponse, method: string, reply: Reply, now: number): void {
    const headers = { ...reply.headers, date: new Date(now).toUTCString() };
    const length = reply.status === 304 || reply.status === 204 ? {} : { 'content-length': String(reply.body.length) };
    response.writeHead(reply.status, { ...headers, ...length }).end(method === 'HEAD' ? undefined : reply.body);
  }

  #fail(rule: FailureRule<Failure>, id: string, method: string, reply: Reply | undefined, response: ServerResponse): void {
    const { github } = this.#parts;
    const { failure } = rule;
    switch (failure.kind) {
      case 'no-answer':
        return;
      case 'reset':
        response.socket?.resetAndDestroy();
        return;
      case 'truncated':
        if (reply !== undefined) sendHalf(response, reply, failure.ending);
        return;
      case 'status':
        response.writeHead(failure.status, { 'content-type': 'text/html', 'x-github-request-id': id }).end(unicornPage(id));
        return;
      case 'secondary-limit': {
        const retry = failure.retryAfterSeconds === undefined ? {} : { 'retry-after': String(failure.retryAfterSeconds) };
        const headers = { 'content-type': 'application/json; charset=utf-8', 'x-github-request-id': id, ...retry };
        const documentation_url = 'https://docs.github.com/rest/using-the-rest-api/rate-limits-for-the-rest-api';
        const body = { documentation_url, message: secondaryLimitMessage(id, github.now()), status: String(failure.status) };
        response.writeHead(failure.status, headers).end(JSON.stringify(body));
        return;
      }
      case 'skewed-date':
        if (reply !== undefined) this.#send(response, method, reply, github.now() + failure.byMs);
        return;
      case 'slow':
      case 'empty-page':
        if (reply !== undefined) this.#send(response, method, reply, github.now());
    }
  }

  async #wait(ms: number): Promise<void> {
    try {
      await delay(ms, undefined, { signal: this.#stopping.signal });
    } catch (error) {
      // The emulator is stopping, and closes the connection anyway.
      if (!this.#stopping.signal.aborted) throw error;
    }
  }
}

const readBody = async (request: IncomingMessage): Promise<Buffer> => {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks);
};

/** Failures that change the answer rather than replace it. */
const keepsAnswer = ({ failure }: FailureRule<Failure>): boolean =>
  ['truncated', 'slow', 'skewed-date', 'empty-page'].includes(failure.kind);

const statusSeen = (rule: FailureRule<Failure> | undefined, reply: Reply | undefined): number => {
  const failure = rule?.failure;
  if (failure?.kind === 'no-answer' || failure?.kind === 'reset') return 0;
  if (failure?.kind === 'status' || failure?.kind === 'secondary-limit') return failure.status;
  return reply?.status ?? 0;
};

const sendHalf = (response: ServerResponse, reply: Reply, ending: 'broken' | 'clean'): void => {
  const half = reply.body.subarray(0, Math.floor(reply.body.length / 2));
  if (ending === 'clean') {
    response.writeHead(reply.status, { ...reply.headers, 'content-length': String(half.length) }).end(half);
    return;
  }
  response.writeHead(reply.status, { ...reply.headers, 'content-length': String(reply.body.length) });
  // Destroyed only after the first half was sent, or the client would see a plain reset.
  response.write(half, () => response.socket?.destroySoon());
};

const unicornPage = (id: string): string =>
  `<html><head><title>Unicorn! &middot; GitHub</title></head><body><p>No server is currently available to service your request.</p><p>${id}</p></body></html>`;
