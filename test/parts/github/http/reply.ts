import type { GithubState } from '../state/github-state.ts';
import type { Repository } from '../state/repository.ts';
import type { Viewer } from '../state/viewer.ts';
import { budgetOf } from '../state/viewer.ts';
import { type Headers, Problem, type RenderedAnswer } from './answer.ts';
import type { RateLimits } from './rate-limits.ts';
import type { Match } from './router.ts';

export interface Reply {
  readonly status: number;
  readonly headers: Headers;
  readonly body: Buffer;
  readonly modifiedAt: number | undefined;
  readonly operation: string | undefined;
  readonly budget: string | undefined;
  readonly points: number;
}

interface Named {
  readonly id: string;
}

interface Answered extends Named {
  readonly viewer: Viewer;
  readonly match: Match;
  readonly repository: Repository | undefined;
}

const limitDocumentation = 'https://docs.github.com/rest/using-the-rest-api/rate-limits-for-the-rest-api';

/** Adds the common headers of GitHub and charges the rate limit. */
export class ReplyWriter {
  readonly #github: GithubState;
  readonly #limits: RateLimits;
  readonly #enterprise: boolean;

  constructor(github: GithubState, limits: RateLimits, enterprise: boolean) {
    this.#github = github;
    this.#limits = limits;
    this.#enterprise = enterprise;
  }

  reply(asked: Answered, answer: RenderedAnswer): Reply {
    const modifiedAt = answer.kind === 'empty' ? undefined : answer.modifiedAt;
    const modified = modifiedAt === undefined ? {} : { 'last-modified': new Date(modifiedAt).toUTCString() };
    const content = answer.kind === 'empty' ? {} : { 'content-type': 'application/json; charset=utf-8' };
    return this.#finish(asked, asked.viewer, asked.match, 1, {
      status: answer.status,
      headers: { ...content, ...modified, ...answer.headers },
      body: bodyOf(answer),
      modifiedAt,
    });
  }

  /** A 304 is free for authenticated clients. */
  notModified(asked: Answered, etag: string, modifiedAt: number | undefined): Reply {
    const modified = modifiedAt === undefined ? {} : { 'last-modified': new Date(modifiedAt).toUTCString() };
    const points = asked.viewer.kind === 'anonymous' ? 1 : 0;
    const headers = { etag, ...modified };
    return this.#finish(asked, asked.viewer, asked.match, points, { status: 304, headers, body: Buffer.alloc(0), modifiedAt });
  }

  problem(asked: Named, viewer: Viewer | undefined, match: Match | undefined, problem: Problem, points = 1): Reply {
    const documentation = match?.operation.documentation ?? 'https://docs.github.com/rest';
    const body = {
      message: problem.message,
      ...(problem.errors === undefined ? {} : { errors: problem.errors }),
      ...(problem.headers['location'] === undefined ? {} : { url: problem.headers['location'] }),
      documentation_url: problem.status === 401 ? 'https://docs.github.com/rest' : documentation,
      status: String(problem.status),
    };
    const headers = { 'content-type': 'application/json; charset=utf-8', ...problem.headers };
    const partial = { status: problem.status, headers, body: Buffer.from(JSON.stringify(body)), modifiedAt: undefined };
    return this.#finish(asked, viewer, match, viewer === undefined ? 0 : points, partial);
  }

  /** A refusal because of a limit. Its text holds the request's id, so it differs every time. */
  overLimit(asked: Named, viewer: Viewer, match: Match | undefined, secondsAway: number | undefined): Reply | undefined {
    if (secondsAway !== undefined) {
      const problem = new Problem(403, secondaryLimitMessage(asked.id, this.#github.now()), undefined, {
        'retry-after': String(secondsAway),
      });
      return this.problem(asked, viewer, match, problem, 0);
    }
    if (!this.#limits.isExhausted(this.#limits.bucket(viewer))) return undefined;
    const who = viewer.kind === 'anonymous' ? '127.0.0.1' : budgetOf(viewer).replace(':', ' ID ');
    const message = `API rate limit exceeded for ${who}. ${supportText(asked.id, this.#github.now())}`;
    const reply = this.problem(asked, viewer, match, new Problem(403, message), 0);
    return { ...reply, body: withDocumentation(reply.body, limitDocumentation) };
  }

  #finish(
    asked: Named,
    viewer: Viewer | undefined,
    match: Match | undefined,
    points: number,
    reply: Pick<Reply, 'status' | 'headers' | 'body' | 'modifiedAt'>,
  ): Reply {
    const bucket = viewer === undefined ? undefined : this.#limits.bucket(viewer);
    if (bucket !== undefined) bucket.used += points;
    return {
      ...reply,
      headers: {
        ...this.#commonHeaders(asked, viewer, match),
        ...(bucket === undefined ? {} : this.#limits.headers(bucket)),
        ...reply.headers,
      },
      operation: match?.operation.id,
      budget: viewer === undefined ? undefined : budgetOf(viewer),
      points: viewer === undefined ? 0 : points,
    };
  }

  #commonHeaders(asked: Named, viewer: Viewer | undefined, match: Match | undefined): Headers {
    const access = match?.route?.access;
    const permissions = access?.kind === 'repository' ? access.permissions : undefined;
    return {
      'x-github-request-id': asked.id,
      'x-github-media-type': 'github.v3; format=json',
      'x-github-api-version-selected': '2022-11-28',
      'cache-control': 'private, max-age=60, s-maxage=60',
      vary: 'Accept, Authorization, Cookie, X-GitHub-OTP,Accept-Encoding, Accept, X-Requested-With',
      ...(this.#enterprise ? { 'x-github-enterprise-version': '3.19.0' } : { server: 'github.com' }),
      ...(viewer?.kind === 'user' ? scopeHeaders(viewer) : {}),
      ...(permissions === undefined
        ? {}
        : { 'x-accepted-github-permissions': permissions.map((one) => one.replace(':', '=')).join('; ') }),
    };
  }
}

export const secondaryLimitMessage = (requestId: string, now: number): string =>
  `You have exceeded a secondary rate limit. Please wait a few minutes before you try again. ${supportText(requestId, now)}`;

const supportText = (requestId: string, now: number): string => {
  const time = new Date(now).toISOString().slice(0, 19).replace('T', ' ');
  return `If you reach out to GitHub Support for help, please include the request ID ${requestId} and timestamp ${time} UTC.`;
};

const withDocumentation = (body: Buffer, url: string): Buffer =>
  Buffer.from(JSON.stringify({ ...(JSON.parse(body.toString()) as object), documentation_url: url }));

const scopeHeaders = ({ token }: Extract<Viewer, { kind: 'user' }>): Headers => ({
  'x-oauth-scopes': token.kind === 'personal' ? token.scopes.join(', ') : '',
  ...(token.expiresAt === undefined
    ? {}
    : { 'github-authentication-token-expiration': new Date(token.expiresAt).toISOString().replace(/T(.*)\..*/, ' $1 UTC') }),
});

const bodyOf = (answer: RenderedAnswer): Buffer =>
  answer.kind === 'empty' ? Buffer.alloc(0) : Buffer.from(JSON.stringify(answer.body));
