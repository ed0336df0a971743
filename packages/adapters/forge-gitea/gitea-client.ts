import type { Answer } from '../forge-http/answer.ts';
import { withToken } from '../forge-http/base-url.ts';
import { createConditionalFetch } from '../forge-http/conditional-fetch.ts';
import { createForgeHttp, type ForgeApiOptions, type ForgeHttp, type ParseAnswer } from '../forge-http/forge-http.ts';
import type { Gate } from '../forge-http/gate.ts';
import { type Listing, readPages } from '../forge-http/read-pages.ts';
import { giteaAnswers } from './answers.ts';

export interface GiteaClientOptions extends ForgeApiOptions {
  readonly owner: string;
  readonly repository: string;
}

/** Nothing here throws. Gitea sends no entity tags, so nothing is cached. */
export interface GiteaApi {
  /** The repository or owner, for messages. */
  readonly shown: string;
  readonly gate: Gate;
  readonly webUrl: string;
  readonly send: ForgeHttp['send'];
  readonly read: <T>(path: string, parse: ParseAnswer<T>, signal: AbortSignal) => Promise<Answer<T>>;
  /** All pages of a list with `X-Total-Count`. */
  list<T>(path: string, listed: Listed<T>, signal: AbortSignal): Promise<Listing<T>>;
}

/** The API of one repository. Paths begin after `/repos/{owner}/{repository}`. */
export interface GiteaClient extends GiteaApi {
  /** The clone URL with the token. */
  readonly location: string;
  readAccount<T>(parse: ParseAnswer<T>, signal: AbortSignal): Promise<Answer<T>>;
}

export interface Listed<T> {
  readonly parse: ParseAnswer<readonly T[]>;
  readonly keyOf: (item: T) => string | number;
  /** For messages. */
  readonly what: string;
}

export const listBy = <T>(what: string, parse: Listed<T>['parse'], keyOf: Listed<T>['keyOf']): Listed<T> => ({
  what,
  parse,
  keyOf,
});

/** Gitea returns 50 unless configured otherwise; asking for more is harmless. */
const pageSize = 100;

/** Paths begin after `/api/v1` and `root`. */
export const createGiteaApi = (options: ForgeApiOptions, what: string, root = ''): GiteaApi => {
  const { base, token, gate } = options;
  const shown = `${what} at ${base.host}`;
  const http = createForgeHttp({
    ...options,
    fetch: createConditionalFetch(gate),
    baseUrl: `${base.href}/api/v1${root}`,
    authorize: (headers) => headers.set('authorization', `token ${token}`),
    table: giteaAnswers,
    shown,
  });

  return {
    shown,
    gate,
    webUrl: base.href,
    send: http.send,
    read: (path, parse, signal) => http.read(path, parse, { signal, fresh: true }),

    list<T>(path: string, { parse, keyOf, what: items }: Listed<T>, signal: AbortSignal) {
      let count = 0;
      const readPage = async (page: string) => {
        const query = `${path.includes('?') ? '&' : '?'}limit=${pageSize}&page=${page}`;
        const parsePage: ParseAnswer<CountedPage<T>> = (body, headers) => parseCounted(parse(body, headers), headers);
        const answer = await http.read(`${path}${query}`, parsePage, { signal, fresh: true });
        if (!answer.ok) return answer;
        const { items: onPage, total } = answer.value;
        count = page === '1' ? onPage.length : count + onPage.length;
        const next = onPage.length > 0 && count < total ? String(Number(page) + 1) : undefined;
        return { ok: true as const, value: { items: onPage, total, next } };
      };
      return readPages({ first: '1', keyOf, shown: `${items} of ${shown}`, readPage });
    },
  };
};

export const createGiteaClient = (options: GiteaClientOptions): GiteaClient => {
  const { owner, repository, token } = options;
  const path = `${encodeURIComponent(owner)}/${encodeURIComponent(repository)}`;
  const name = `${owner}/${repository}`;
  const api = createGiteaApi(options, name, `/repos/${path}`);
  const { read } = createGiteaApi(options, name);
  return {
    ...api,
    location: withToken(`${api.webUrl}/${path}.git`, 'eph', token),
    readAccount: (parse, signal) => read('/user', parse, signal),
  };
};

interface CountedPage<T> {
  readonly items: readonly T[];
  readonly total: number;
}

/** An answer of a proxy has no count. */
export const parseCounted = <T>(items: readonly T[], headers: Headers): CountedPage<T> => {
  const total = headers.get('x-total-count');
  if (total === null || !/^\d{1,9}$/.test(total)) throw new Error('X-Total-Count is missing or invalid');
  return { items, total: Number(total) };
};
