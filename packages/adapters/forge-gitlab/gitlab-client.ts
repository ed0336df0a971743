import { EphError } from '@eph/contract';
import type { z } from 'zod';
import type { Answer } from '../forge-http/answer.ts';
import { withToken } from '../forge-http/base-url.ts';
import { createConditionalFetch } from '../forge-http/conditional-fetch.ts';
import {
  createForgeHttp,
  type ForgeApiOptions,
  type ForgeHttp,
  type ParseAnswer,
  type ReadOptions,
} from '../forge-http/forge-http.ts';
import type { Gate } from '../forge-http/gate.ts';
import { type Listing, type Page, readPages } from '../forge-http/read-pages.ts';
import { gitlabAnswers } from './answers.ts';
import { createCountedFetch } from './counted-fetch.ts';
import { accountShape } from './shapes.ts';

/** The token is a personal, project or group token with the scope `api`. */
export interface GitlabClientOptions extends ForgeApiOptions {
  /** The full path, such as `group/sub/project`. */
  readonly path: string;
}

export interface GitlabApi extends ForgeHttp {
  /** The project or owner, for messages. */
  readonly shown: string;
  readonly gate: Gate;
  readonly webUrl: string;
  /** One page of a list; the first is `1`. Returns the same object while it and the total are unchanged. */
  readPage<T>(path: string, listed: Listed<T>, page: string, options: ReadOptions): Promise<Answer<Page<T>>>;
  list<T>(path: string, listed: Listed<T>, options: ReadOptions, first?: Answer<Page<T>>): Promise<Listing<T>>;
}

/** The API of one project. Paths begin after `/projects/{project}`. */
export interface GitlabClient extends GitlabApi {
  /** The clone URL with the token. */
  readonly location: string;
  readAccount(signal: AbortSignal): Promise<Answer<number>>;
}

export interface Listed<T> {
  readonly parsePage: ParseAnswer<Page<T>>;
  readonly keyOf: (item: T) => string | number;
  /** For messages. */
  readonly what: string;
}

/** Create each parser once: it is part of the cache key. */
export const parserOf =
  <T>(shape: z.ZodType<T>): ParseAnswer<T> =>
  (body) =>
    shape.parse(body);

/** For answers whose body is not needed. */
export const parseNothing: ParseAnswer<undefined> = () => undefined;

export const listOf = <T extends { readonly id: number }>(what: string, shape: z.ZodType<T>): Listed<T> =>
  listBy(what, shape, ({ id }) => id);

export const listBy = <T>(what: string, shape: z.ZodType<T>, keyOf: Listed<T>['keyOf']): Listed<T> => {
  const items = shape.array();
  return { what, keyOf, parsePage: (body, headers) => ({ items: items.parse(body), ...parsePosition(headers) }) };
};

const parseAccount: ParseAnswer<number> = (body) => accountShape.parse(body).id;

const pageSize = 100;

/** Paths begin after `/api/v4` and `root`. */
export const createGitlabApi = (options: ForgeApiOptions, what: string, root = ''): GitlabApi => {
  const { base, token, gate } = options;
  const shown = `${what} at ${base.host}`;
  const http = createForgeHttp({
    ...options,
    fetch: createCountedFetch(createConditionalFetch(gate)),
    baseUrl: `${base.href}/api/v4${root}`,
    authorize: (headers) => headers.set('private-token', token),
    table: gitlabAnswers,
    shown,
  });

  const readPage: GitlabApi['readPage'] = (path, { parsePage }, page, readOptions) => {
    const query = `${path.includes('?') ? '&' : '?'}per_page=${pageSize}&page=${page}`;
    return http.read(`${path}${query}`, parsePage, readOptions);
  };

  return {
    ...http,
    shown,
    gate,
    webUrl: base.href,
    readPage,

    list(path, listed, readOptions, first) {
      let known = first;
      const takePage = async (page: string) => {
        const answer = known ?? (await readPage(path, listed, page, readOptions));
        known = undefined;
        return answer;
      };
      return readPages({ first: '1', keyOf: listed.keyOf, shown: `${listed.what} of ${shown}`, readPage: takePage });
    },
  };
};

export const createGitlabClient = (options: GitlabClientOptions): GitlabClient => {
  const path = parsePath(options.path);
  const api = createGitlabApi(options, path, `/projects/${encodeURIComponent(path)}`);
  const { read } = createGitlabApi(options, path);
  const address = `${api.webUrl}/${path.split('/').map(encodeURIComponent).join('/')}.git`;
  let account: Answer<number> | undefined;

  return {
    ...api,
    location: withToken(address, 'oauth2', options.token),

    async readAccount(signal) {
      account = account?.ok === true ? account : await read('/user', parseAccount, { signal });
      return account;
    },
  };
};

/** An answer of a proxy has no position. Beyond 10,000 items GitLab returns no total. */
const parsePosition = (headers: Headers): Omit<Page<never>, 'items'> => {
  const next = headers.get('x-next-page');
  const total = headers.get('x-total');
  if (next === null || !/^\d{0,9}$/.test(next)) throw new Error('X-Next-Page is missing or invalid');
  if (total !== null && !/^\d{1,9}$/.test(total)) throw new Error('X-Total is invalid');
  return { next: next === '' ? undefined : next, total: total === null ? undefined : Number(total) };
};

const parsePath = (text: string): string => {
  if (!/^[\w.-]+(?:\/[\w.-]+)+$/.test(text) || text.split('/').some((part) => part === '.' || part === '..'))
    throw new EphError('config.invalid', `${JSON.stringify(text)} is not the path of a GitLab project, such as group/project.`);
  return text;
};
