import type { Log } from '@eph/contract';
import { type Answer, classifyAnswer, invalidAnswer, noAnswer, type Refusal, unwrap } from '../forge-http/answer.ts';
import type { Listing } from '../forge-http/read-pages.ts';
import { githubAnswers, isThrottle } from './answers.ts';
import type { GithubIdentity } from './github-identity.ts';
import { type GithubPage, listPages, pageSize, parsePage } from './pages.ts';

export interface GithubClientOptions {
  readonly identity: GithubIdentity;
  readonly owner: string;
  /** Without it, the client is for the owner. */
  readonly repository?: string;
  readonly now: () => number;
  readonly log: Log;
}

export type Parameters = Readonly<Record<string, unknown>>;

/** A route as in GitHub's documentation; `owner` and `repo` are filled in. */
export interface Query<T> {
  readonly route: string;
  readonly parameters?: Parameters;
  /** Parses the body; throws if it is invalid. Pass the same function each time: it is part of the cache key. */
  readonly parse: (body: unknown) => T;
}

export interface ListQuery<T> extends Query<readonly T[]> {
  readonly keyOf: (item: T) => string | number;
  /** For messages. */
  readonly what: string;
}

export interface ReadOptions {
  readonly signal: AbortSignal;
  /** Sends its own request instead of sharing one that is under way. */
  readonly fresh?: boolean;
  /** Ignores the cached entity tag, so that all headers are new. */
  readonly unconditional?: boolean;
}

/** The API of one repository, or of an owner. Only `authorizeGit` throws. */
export interface GithubClient {
  /** The repository or the owner, for messages. */
  readonly shown: string;
  /** The `Authorization` header for Git over HTTP, with the token of this moment. Throws `EphError`. */
  authorizeGit(): Promise<string>;
  /** Returns the same object as long as GitHub says that nothing changed. */
  read<T>(query: Query<T>, options: ReadOptions): Promise<Answer<T>>;
  list<T>(query: ListQuery<T>, options: ReadOptions): Promise<Listing<T>>;
  readPage<T>(query: ListQuery<T>, page: number, options: ReadOptions): Promise<Answer<GithubPage<T>>>;
  /** A write: never cached or shared. */
  send(route: string, parameters: Parameters, signal: AbortSignal): Promise<Answer<unknown>>;
  send<T>(route: string, parameters: Parameters, signal: AbortSignal, parse: Query<T>['parse']): Promise<Answer<T>>;
  login(signal: AbortSignal): Promise<Answer<string>>;
}

interface Reply {
  readonly headers: Readonly<Record<string, string | number | undefined>>;
  readonly data: unknown;
}

export const createGithubClient = (options: GithubClientOptions): GithubClient => {
  const { identity, owner, repository, now, log } = options;
  const name = repository === undefined ? owner : `${owner}/${repository}`;
  const shown = `${name} at ${identity.host}`;
  const known = repository === undefined ? {} : { owner, repo: repository };
  const account = () => identity.accountFor(owner, repository);
  const settled = new WeakMap<object, readonly object[]>();

  const request = async (route: string, { headers, ...parameters }: Parameters): Promise<Reply> => {
    const { octokit } = await account();
    const versioned = { 'x-github-api-version': '2022-11-28', ...(headers as object | undefined) };
    return await octokit.request(route, { ...known, ...parameters, headers: versioned });
  };

  const requestWithRenewal = async (route: string, parameters: Parameters): Promise<Reply> => {
    try {
      return await request(route, parameters);
    } catch (error) {
      if (answerOf(error)?.status !== 401 || !(await (await account()).renew())) throw error;
      return await request(route, parameters);
    }
  };

  const toRefusal = (error: unknown, signal: AbortSignal): Refusal => {
    const answer = answerOf(error);
    if (answer === undefined) return noAnswer(causeOf(error), signal);
    const status = isThrottle(answer) ? 429 : answer.status;
    const refusal = classifyAnswer(githubAnswers, { ...answer, status }, shown, now());
    if (!isSignIn(answer.url)) return refusal;
    // The App may have been reinstalled. A failed sign-in says nothing about the resource.
    identity.forget(owner, repository);
    return refusal.meaning === 'gone' ? { ...refusal, meaning: 'refused' } : refusal;
  };

  const attempt = async <T>(signal: AbortSignal, work: () => Promise<Answer<T>>): Promise<Answer<T>> => {
    try {
      return await work();
    } catch (error) {
      return toRefusal(error, signal);
    }
  };

  const decode = <T>(route: string, parse: () => T): Answer<T> => {
    try {
      return { ok: true, value: parse() };
    } catch (error) {
      log.warn({ forge: shown, route, reason: String(error) }, 'invalid answer from a forge');
      return invalidAnswer(`${shown}: GitHub sent an invalid answer.`);
    }
  };

  /** `made` identifies how the value was parsed: one query may be cached in several forms. */
  const readCached = async <T>(
    { route, parameters = {} }: Omit<Query<T>, 'parse'>,
    made: { readonly by: unknown; readonly from: (reply: Reply) => T },
    { signal, fresh = false, unconditional = false }: ReadOptions,
  ): Promise<Answer<T>> => {
    const { cache, freshFetch } = await account();
    const key = `${name} ${route} ${JSON.stringify(parameters)}`;
    const found = unconditional ? undefined : cache.get(key);
    const before = found?.parse === made.by ? found : undefined;
    try {
      const reply = await requestWithRenewal(route, {
        ...parameters,
        headers: before === undefined ? {} : { 'if-none-match': before.tag },
        request: { signal, ...(fresh ? { fetch: freshFetch } : {}) },
      });
      const answer = decode(route, () => made.from(reply));
      const tag = reply.headers['etag'];
      if (!answer.ok || tag === undefined) cache.delete(key);
      else cache.set(key, { tag: String(tag), parse: made.by, value: answer.value }, sizeOf(answer.value) + key.length);
      return answer;
    } catch (error) {
      // Cached by the same parse function, so it has its type.
      if (before !== undefined && answerOf(error)?.status === 304) return { ok: true, value: before.value as T };
      throw error;
    }
  };

  const readPage: GithubClient['readPage'] = (query, page, readOptions) => {
    const { route, parameters, parse } = query;
    const paged = { route, parameters: { ...parameters, per_page: pageSize, page } };
    const from = ({ data, headers }: Reply) => parsePage(parse(data), String(headers['link'] ?? ''));
    return attempt(readOptions.signal, () => readCached(paged, { by: parse, from }, readOptions));
  };

  return {
    shown,
    readPage,

    async authorizeGit() {
      const { signal } = new AbortController();
      const token = await attempt(signal, async () => ({ ok: true, value: await (await account()).token() }));
      return `Basic ${Buffer.from(`x-access-token:${unwrap(token)}`).toString('base64')}`;
    },

    read: (query, readOptions) =>
      attempt(readOptions.signal, () =>
        readCached(query, { by: query.parse, from: ({ data }) => query.parse(data) }, readOptions),
      ),

    list: (query, readOptions) =>
      listPages({
        keyOf: query.keyOf,
        shown: `${query.what} of ${shown}`,
        settled,
        readPage: (page, unconditional) => readPage(query, page, { ...readOptions, unconditional }),
      }),

    send: <T>(route: string, parameters: Parameters, signal: AbortSignal, parse?: Query<T>['parse']) =>
      attempt<unknown>(signal, async () => {
        const { data } = await requestWithRenewal(route, { ...parameters, request: { signal } });
        return parse === undefined ? { ok: true, value: data } : decode(route, () => parse(data));
      }),

    login: (signal) => attempt(signal, async () => ({ ok: true, value: await (await account()).login() })),
  };
};

const sizeOf = (value: unknown): number => (JSON.stringify(value) ?? '').length;

interface UnsuccessfulAnswer {
  readonly url: string;
  readonly status: number;
  readonly headers: Headers;
  readonly body: string;
}

/** The answer behind an octokit error. Checked by shape, because octokit may be loaded twice. */
const answerOf = (error: unknown): UnsuccessfulAnswer | undefined => {
  if (!(error instanceof Error) || !('response' in error)) return undefined;
  const { response } = error as { readonly response?: Reply & { readonly status: number; readonly url: string } };
  if (response === undefined) return undefined;
  const headers = Object.entries(response.headers).map(([name, value]): [string, string] => [name, String(value)]);
  const { status, url } = response;
  return { status, url, headers: new Headers(headers), body: JSON.stringify(response.data) ?? '' };
};

/** Requests that octokit sends itself to authenticate. */
const isSignIn = (url: string): boolean =>
  /\/app\/installations\/\d+\/access_tokens$|\/(?:repos\/[^/]+|orgs|users)\/[^/]+\/installation$/.test(url);

const causeOf = (error: unknown): unknown => {
  const isWrapped = error instanceof Error && 'request' in error && error.cause !== undefined;
  return isWrapped ? error.cause : error;
};
