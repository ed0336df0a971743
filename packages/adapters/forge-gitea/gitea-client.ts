import { type Answer, onceAnswered } from '../forge-http/answer.ts';
import { withToken } from '../forge-http/base-url.ts';
import { createExchange } from '../forge-http/exchange.ts';
import { createForgeHttp, type ForgeApi, type ForgeApiOptions, type Listed } from '../forge-http/forge-http.ts';
import type { Gate } from '../forge-http/gate.ts';
import { type DatedPage, parseDate, parseLinks, readPages } from '../forge-http/read-pages.ts';
import { giteaAnswers } from './answers.ts';
import { parseLogin } from './shapes.ts';

export interface GiteaClientOptions extends ForgeApiOptions {
  readonly owner: string;
  readonly repository: string;
}

/** Gitea sends no entity tags, so nothing is cached. Lists need `X-Total-Count`. */
export interface GiteaApi extends ForgeApi {
  readonly gate: Gate;
  readonly webUrl: string;
  /** One page of a list whose path has a `limit`; the first is `1`. */
  readPage<T>(path: string, listed: Listed<T>, page: string, signal: AbortSignal): Promise<Answer<DatedPage<T>>>;
}

/** The API of one repository. Paths begin after `/repos/{owner}/{repository}`. */
export interface GiteaClient extends GiteaApi {
  /** The clone URL with the token. */
  readonly location: string;
  /** Of Eph's own account. */
  readonly readLogin: (signal: AbortSignal) => Promise<Answer<string>>;
}

/** Gitea returns 50 unless configured otherwise; asking for more is harmless. */
const pageSize = 100;

/** Paths begin after `/api/v1` and `root`. */
export const createGiteaApi = (options: ForgeApiOptions, what: string, root = ''): GiteaApi => {
  const { base, token, gate } = options;
  const shown = `${what} at ${base.host}`;
  const http = createForgeHttp({
    ...options,
    exchange: createExchange(gate),
    baseUrl: `${base.href}/api/v1${root}`,
    headers: { authorization: `token ${token}` },
    table: giteaAnswers,
    shown,
    parsePosition,
  });

  const readPage: GiteaApi['readPage'] = async (path, listed, page, signal) => {
    const answer = await http.readPage(`${path}&page=${page}`, listed, signal);
    if (!answer.ok) return answer;
    const { hasNext, ...rest } = answer.value;
    return { ok: true, value: { ...rest, next: hasNext ? String(Number(page) + 1) : undefined } };
  };

  return {
    ...http,
    shown,
    gate,
    webUrl: base.href,
    readPage,

    list(path, listed, signal) {
      const limited = `${path}${path.includes('?') ? '&' : '?'}limit=${pageSize}`;
      let count = 0;
      return readPages({
        first: '1',
        keyOf: listed.keyOf,
        shown: `${listed.what} of ${shown}`,
        // The link to the next page counts by the requested limit, not by what Gitea returns.
        readPage: async (page) => {
          const answer = await readPage(limited, listed, page, signal);
          if (!answer.ok) return answer;
          const { items, total = 0 } = answer.value;
          count = page === '1' ? items.length : count + items.length;
          const next = items.length > 0 && count < total ? String(Number(page) + 1) : undefined;
          return { ok: true, value: { items, total, next } };
        },
      });
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
    readLogin: onceAnswered((signal) => read('/user', parseLogin, signal)),
  };
};

/** An answer of a proxy has no count. */
const parsePosition = (headers: Headers) => {
  const total = headers.get('x-total-count');
  if (total === null || !/^\d{1,9}$/.test(total)) throw new Error('X-Total-Count is missing or invalid');
  return { total: Number(total), hasNext: parseLinks(headers.get('link')).has('next'), readAtMs: parseDate(headers) };
};
