import { EphError } from '@eph/contract';
import { type Answer, onceAnswered } from '../forge-http/answer.ts';
import { withToken } from '../forge-http/base-url.ts';
import { createExchange } from '../forge-http/exchange.ts';
import {
  type AnswerCache,
  createAnswerCache,
  createForgeHttp,
  type ForgeApi,
  type ForgeApiOptions,
  type Listed,
  type ParseAnswer,
} from '../forge-http/forge-http.ts';
import type { Gate } from '../forge-http/gate.ts';
import { type DatedPage, type Listing, type Page, parseDate, readPages } from '../forge-http/read-pages.ts';
import { gitlabAnswers } from './answers.ts';
import { accountShape } from './shapes.ts';

/** The token is a personal, project or group token with the scope `api`. */
export interface GitlabClientOptions extends ForgeApiOptions {
  /** The full path, such as `group/sub/project`. */
  readonly path: string;
}

export interface GitlabApi extends ForgeApi {
  readonly gate: Gate;
  readonly webUrl: string;
  /** One page of a list; the first is `1`. Returns the same object while it and the total are unchanged. */
  readPage<T>(path: string, listed: Listed<T>, page: string, signal: AbortSignal): Promise<Answer<DatedPage<T>>>;
  /** `first` is the first page, if it was read already. */
  list<T>(path: string, listed: Listed<T>, signal: AbortSignal, first?: Answer<Page<T>>): Promise<Listing<T>>;
}

/** The API of one project. Paths begin after `/projects/{project}`. */
export interface GitlabClient extends GitlabApi {
  /** The clone URL with the token. */
  readonly location: string;
  /** The id of Eph's own account. */
  readonly readAccount: (signal: AbortSignal) => Promise<Answer<number>>;
}

const parseAccount: ParseAnswer<number> = (body) => accountShape.parse(body).id;

const pageSize = 100;
const cacheBytes = 16 * 1024 * 1024;

/** Paths begin after `/api/v4` and `root`. */
export const createGitlabApi = (options: ForgeApiOptions, what: string, root = '', cache?: AnswerCache): GitlabApi => {
  const { base, token, gate } = options;
  const shown = `${what} at ${base.host}`;
  const http = createForgeHttp({
    ...options,
    exchange: createExchange(gate),
    baseUrl: `${base.href}/api/v4${root}`,
    headers: { 'private-token': token },
    table: gitlabAnswers,
    shown,
    parsePosition,
    cache,
    // An entity tag covers only the body: if a merge request on another page is closed, this page is unchanged.
    countHeaders: ['x-total', 'x-next-page'],
  });

  const readPage: GitlabApi['readPage'] = (path, listed, page, signal) =>
    http.readPage(`${path}${path.includes('?') ? '&' : '?'}per_page=${pageSize}&page=${page}`, listed, signal);

  return {
    ...http,
    shown,
    gate,
    webUrl: base.href,
    readPage,

    list(path, listed, signal, first) {
      let known = first;
      const takePage = async (page: string) => {
        const answer = known ?? (await readPage(path, listed, page, signal));
        known = undefined;
        return answer;
      };
      return readPages({ first: '1', keyOf: listed.keyOf, shown: `${listed.what} of ${shown}`, readPage: takePage });
    },
  };
};

export const createGitlabClient = (options: GitlabClientOptions): GitlabClient => {
  const path = parsePath(options.path);
  const api = createGitlabApi(options, path, `/projects/${encodeURIComponent(path)}`, createAnswerCache(cacheBytes));
  const { read } = createGitlabApi(options, path);
  const address = `${api.webUrl}/${path.split('/').map(encodeURIComponent).join('/')}.git`;

  return {
    ...api,
    location: withToken(address, 'oauth2', options.token),
    readAccount: onceAnswered((signal) => read('/user', parseAccount, signal)),
  };
};

/** An answer of a proxy has no position. Beyond 10,000 items GitLab returns no total. */
const parsePosition = (headers: Headers): Omit<DatedPage<never>, 'items'> => {
  const next = headers.get('x-next-page');
  const total = headers.get('x-total');
  if (next === null || !/^\d{0,9}$/.test(next)) throw new Error('X-Next-Page is missing or invalid');
  if (total !== null && !/^\d{1,9}$/.test(total)) throw new Error('X-Total is invalid');
  return {
    next: next === '' ? undefined : next,
    total: total === null ? undefined : Number(total),
    readAtMs: parseDate(headers),
  };
};

const parsePath = (text: string): string => {
  if (!/^[\w.-]+(?:\/[\w.-]+)+$/.test(text) || text.split('/').some((part) => part === '.' || part === '..'))
    throw new EphError('config.invalid', `${JSON.stringify(text)} is not the path of a GitLab project, such as group/project.`);
  return text;
};
