import type { IncomingHttpHeaders } from 'node:http';
import type { Conformance, ParsedRequest } from '../openapi/conformance.ts';
import { NonconformingError } from '../openapi/conformance.ts';
import type { Credentials } from '../state/credentials.ts';
import type { GithubState } from '../state/github-state.ts';
import { fullName, type Repository } from '../state/repository.ts';
import { actorOf, budgetOf, maySee, type Viewer } from '../state/viewer.ts';
import { type Answer, notFound, Problem, type RenderedAnswer } from './answer.ts';
import { authorize } from './authorization.ts';
import { EntityTags, isUnchanged } from './conditional.ts';
import { cursorWindow, pageWindow, type Window } from './pagination.ts';
import type { RateLimits } from './rate-limits.ts';
import { type Reply, ReplyWriter } from './reply.ts';
import type { Match, Router } from './router.ts';
import type { SecondaryLimits } from './secondary-limits.ts';

export interface ApiRequest {
  readonly id: string;
  readonly method: string;
  /** Path and query as they arrived. */
  readonly url: URL;
  readonly headers: IncomingHttpHeaders;
  readonly body: Buffer;
  /** A failure that must be applied while the answer is rendered. */
  readonly emptyPage: boolean;
}

export interface ApiParts {
  readonly github: GithubState;
  readonly credentials: Credentials;
  readonly conformance: Conformance;
  readonly router: Router;
  readonly limits: RateLimits;
  readonly secondaryLimits: SecondaryLimits;
  readonly enterprise: boolean;
}

/** A request being processed. */
interface Asked extends ApiRequest {
  readonly match: Match;
  readonly viewer: Viewer;
  readonly parsed: ParsedRequest;
  readonly repository: Repository | undefined;
  readonly where: string;
}

/** From request to reply, without a socket. */
export class GithubApi {
  readonly #parts: ApiParts;
  readonly #tags = new EntityTags();
  readonly #writer: ReplyWriter;
  readonly #basePath: string;

  constructor(parts: ApiParts) {
    this.#parts = parts;
    this.#writer = new ReplyWriter(parts.github, parts.limits, parts.enterprise);
    this.#basePath = new URL(parts.github.urls.api).pathname.replace(/\/$/, '');
  }

  /** The path as the description knows it; links and redirects lead through `/repositories/{id}`, which it does not know. */
  describedPath(url: URL): string | undefined {
    if (!url.pathname.startsWith(`${this.#basePath}/`)) return undefined;
    const path = url.pathname.slice(this.#basePath.length);
    const byId = /^\/repositories\/(\d+)(\/.*)?$/.exec(path);
    if (byId === null) return path;
    const repository = this.#parts.github.repositories.get(Number(byId[1]));
    return repository === undefined ? undefined : `/repos/${fullName(repository)}${byId[2] ?? ''}`;
  }

  operationOf(method: string, url: URL): string | undefined {
    const path = this.describedPath(url);
    return path === undefined ? undefined : this.#parts.router.match(method, path)?.operation.id;
  }

  async answer(request: ApiRequest): Promise<Reply> {
    const path = this.describedPath(request.url);
    const match = path === undefined ? undefined : this.#parts.router.match(request.method, path);
    const viewer = this.#parts.credentials.recognise(request.headers.authorization);
    if ('refused' in viewer) return this.#replyToError(request, undefined, match, new Problem(401, viewer.refused));
    try {
      const secondsAway = this.#parts.secondaryLimits.enter(budgetOf(viewer), request.method);
      const refusal = this.#writer.overLimit(request, viewer, match, secondsAway);
      if (refusal !== undefined) return refusal;
      return await this.#answerChecked(request, viewer, match);
    } catch (error) {
      return this.#replyToError(request, viewer, match, error);
    } finally {
      this.#parts.secondaryLimits.leave();
    }
  }

  async #answerChecked(request: ApiRequest, viewer: Viewer, match: Match | undefined): Promise<Reply> {
    const where = `${request.method} ${request.url.pathname}${request.url.search}`;
    const refuse = (fault: string): Error => this.#parts.conformance.refuse({ kind: 'request', where, faults: [fault] });
    if (match === undefined) throw refuse('GitHub has no such operation');
    const named = `${where} (${match.operation.id})`;
    if (match.route === undefined) throw refuse(`the emulator does not have ${match.operation.id} yet`);
    const body = parseBody(request.body);
    const parts = { where: named, path: match.path, query: request.url.searchParams, body };
    const parsed = this.#parts.conformance.parseRequest(match.operation, parts);
    if (viewer.kind === 'installation' && viewer.installation.suspendedAt !== undefined)
      throw new Problem(403, 'This installation has been suspended');

    const isRead = request.method === 'GET' || request.method === 'HEAD';
    const repository = this.#findRepository(request, match, viewer);
    authorize(match.route.access, viewer, repository, isRead);
    const asked = { ...request, match, viewer, parsed, repository, where: named };
    return isRead ? this.#read(asked) : this.#writer.reply(asked, await this.#handle(asked));
  }

  /** Answers from the version of the state where possible: an unchanged list is not even rendered. */
  async #read(asked: Asked): Promise<Reply> {
    const { github } = this.#parts;
    const token = asked.headers.authorization ?? '';
    const key = `${token} ${asked.headers.accept ?? ''} ${asked.url.href}`;
    const version = asked.repository?.version ?? github.version;
    const condition = {
      ifNoneMatch: asked.headers['if-none-match'],
      ifModifiedSince: asked.headers['if-modified-since'],
    };
    const known = asked.emptyPage || asked.match.route?.changesWithTime === true ? undefined : this.#tags.recall(key, version);
    if (known !== undefined && isUnchanged(condition, known.etag, known.modifiedAt))
      return this.#writer.notModified(asked, known.etag, known.modifiedAt);

    const reply = this.#writer.reply(asked, await this.#handle(asked));
    if (reply.status !== 200) return reply;
    const etag = EntityTags.of(token, reply.body);
    const { modifiedAt } = reply;
    if (!asked.emptyPage) {
      this.#tags.remember(key, { version, etag, modifiedAt });
      if (isUnchanged(condition, etag, modifiedAt)) return this.#writer.notModified(asked, etag, modifiedAt);
    }
    return { ...reply, headers: { ...reply.headers, etag } };
  }

  /** The answer of the route, turned to plain JSON and compared with the description. */
  async #handle(asked: Asked): Promise<RenderedAnswer> {
    const { match, parsed, viewer, repository } = asked;
    const { github, credentials } = this.#parts;
    const answer = await match.route?.handle({
      github,
      credentials,
      viewer,
      ...parsed,
      repository,
      actor: actorOf(viewer),
    });
    if (answer === undefined) throw notFound();
    const rendered = await this.#render(asked, answer);
    const body = rendered.kind === 'json' ? rendered.body : undefined;
    this.#parts.conformance.checkAnswer(match.operation, asked.where, rendered.status, body);
    return rendered;
  }

  async #render(asked: Asked, answer: Answer): Promise<RenderedAnswer> {
    if (answer.kind !== 'page' && answer.kind !== 'cursor-page') return answer;
    if (asked.emptyPage) return { kind: 'json', status: 200, body: await answer.render(0, 0), headers: {} };
    const { from, to, link } = this.#windowOf(asked, answer);
    const body = await answer.render(from, to);
    return { kind: 'json', status: 200, body, headers: link === undefined ? {} : { link } };
  }

  #windowOf(asked: Asked, answer: Exclude<Answer, RenderedAnswer>): Window {
    const { query } = asked.parsed;
    const url = this.#linkBase(asked);
    return answer.kind === 'page' ? pageWindow(url, query, answer.total) : cursorWindow(url, query, answer.list);
  }

  #linkBase({ url, repository, match }: Asked): URL {
    if (repository === undefined || !match.operation.template.startsWith('/repos/')) return new URL(url);
    const rest = (this.describedPath(url) ?? '').split('/').slice(4).join('/');
    return new URL(`${this.#parts.github.urls.api}/repositories/${repository.id}/${rest}${url.search}`);
  }

  /** The repository of the path: 404 if it is hidden from the viewer, a redirect if it has moved. */
  #findRepository(request: ApiRequest, match: Match, viewer: Viewer): Repository | undefined {
    const { owner, repo } = match.path;
    if (owner === undefined || repo === undefined) return undefined;
    const { github } = this.#parts;
    const present = github.repository(owner, repo);
    // An App may look up its installation in repositories that it cannot see otherwise.
    const isForApps = match.route?.access.kind === 'app';
    if (present !== undefined && isForApps) return undefined;
    if (present !== undefined && maySee(viewer, present)) return present;
    const moved = present === undefined ? github.movedRepository(owner, repo) : undefined;
    if (moved === undefined || !(isForApps || maySee(viewer, moved))) throw notFound();
    const rest = (this.describedPath(request.url) ?? '').split('/').slice(4).join('/');
    const location = `${github.urls.api}/repositories/${moved.id}${rest === '' ? '' : `/${rest}`}${request.url.search}`;
    const isRead = request.method === 'GET' || request.method === 'HEAD';
    throw new Problem(isRead ? 301 : 307, isRead ? 'Moved Permanently' : 'Temporary Redirect', undefined, { location });
  }

  #replyToError(request: ApiRequest, viewer: Viewer | undefined, match: Match | undefined, error: unknown): Reply {
    if (error instanceof Problem) return this.#replyToProblem(request, viewer, match, error);
    if (error instanceof NonconformingError) {
      const status = error.violation.kind === 'request' ? 400 : 500;
      return this.#writer.problem(request, viewer, match, new Problem(status, error.message));
    }
    // A bug of the emulator, which must fail the test instead of looking like a failure of GitHub.
    const text = error instanceof Error ? (error.stack ?? error.message) : String(error);
    const where = `${request.method} ${request.url.pathname}`;
    const bug = this.#parts.conformance.refuse({ kind: 'answer', where, faults: [text] });
    return this.#writer.problem(request, viewer, match, new Problem(500, bug.message));
  }

  #replyToProblem(request: ApiRequest, viewer: Viewer | undefined, match: Match | undefined, problem: Problem): Reply {
    const reply = this.#writer.problem(request, viewer, match, problem);
    if (match === undefined) return reply;
    try {
      const body: unknown = JSON.parse(reply.body.toString());
      this.#parts.conformance.checkAnswer(match.operation, `${request.method} ${request.url.pathname}`, reply.status, body);
      return reply;
    } catch (error) {
      return this.#replyToError(request, viewer, match, error);
    }
  }
}

const parseBody = (body: Buffer): unknown => {
  if (body.length === 0) return undefined;
  try {
    return JSON.parse(body.toString()) as unknown;
  } catch {
    throw new Problem(400, 'Problems parsing JSON');
  }
};
