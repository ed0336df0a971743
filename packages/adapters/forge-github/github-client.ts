import type { Log } from '@eph/contract';
import { type Answer, noAnswer } from '../forge-http/answer.ts';
import { createForgeHttp, type ForgeApi, type Listed } from '../forge-http/forge-http.ts';
import { githubAnswers } from './answers.ts';
import { type GithubIdentity, githubHeaders } from './github-identity.ts';
import { type GithubPage, listPages, pageSize, parsePosition } from './pages.ts';

export interface GithubClientOptions {
  readonly identity: GithubIdentity;
  readonly owner: string;
  /** Without it, the client is for the owner. */
  readonly repository?: string;
  readonly now: () => number;
  readonly log: Log;
}

/** The API of one repository, with paths after `/repos/{owner}/{repository}`, or of an owner. Only `authorizeGit` throws. */
export interface GithubClient extends ForgeApi {
  /** The `Authorization` header for Git over HTTP, with the token of this moment. Throws `EphError`. */
  authorizeGit(): Promise<string>;
  readPage<T>(path: string, listed: Listed<T>, page: number, signal: AbortSignal): Promise<Answer<GithubPage<T>>>;
  /** As `read`, with a path from the root of the API. */
  readonly readFromRoot: ForgeApi['read'];
  readonly login: (signal: AbortSignal) => Promise<Answer<string>>;
}

export const createGithubClient = (options: GithubClientOptions): GithubClient => {
  const { identity, owner, repository, now, log } = options;
  const shown = `${repository === undefined ? owner : `${owner}/${repository}`} at ${identity.host}`;
  const root = repository === undefined ? '' : `/repos/${encodeURIComponent(owner)}/${encodeURIComponent(repository)}`;
  const settled = new WeakMap<object, readonly object[]>();

  const connect = (path: string) =>
    createForgeHttp({
      exchange: async (request, signal) => (await identity.accountFor(owner, repository)).exchange(request, signal),
      baseUrl: `${identity.baseUrl}${path}`,
      headers: githubHeaders,
      table: githubAnswers,
      shown,
      now,
      log,
      parsePosition,
      cache: identity.cache,
    });
  const http = connect(root);

  const readPage = <T>(path: string, listed: Listed<T>, page: number, signal: AbortSignal, isUnconditional = false) => {
    const query = `${path.includes('?') ? '&' : '?'}per_page=${pageSize}&page=${page}`;
    return http.readPage(`${path}${query}`, listed, signal, isUnconditional);
  };

  return {
    ...http,
    shown,
    readPage,
    readFromRoot: connect('').read,

    async authorizeGit() {
      const token = await (await identity.accountFor(owner, repository)).token();
      return `Basic ${Buffer.from(`x-access-token:${token}`).toString('base64')}`;
    },

    list: (path, listed, signal) =>
      listPages({
        keyOf: listed.keyOf,
        shown: `${listed.what} of ${shown}`,
        settled,
        readPage: (page, isUnconditional) => readPage(path, listed, page, signal, isUnconditional),
      }),

    async login(signal) {
      try {
        return { ok: true, value: await (await identity.accountFor(owner, repository)).login() };
      } catch (error) {
        return noAnswer(error, signal);
      }
    },
  };
};
