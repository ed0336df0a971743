import { type Log, registerSecret } from '@eph/contract';
import { createAppAuth } from '@octokit/auth-app';
import { Octokit } from '@octokit/core';
import { parseBaseUrl } from '../forge-http/base-url.ts';
import { type BoundedCache, createBoundedCache } from '../forge-http/bounded-cache.ts';
import { createConditionalFetch } from '../forge-http/conditional-fetch.ts';
import type { ForgeServer, ForgeServerOptions } from '../forge-http/forge-server.ts';
import { budgetOf, createGate, type Gate } from '../forge-http/gate.ts';
import { isThrottle } from './answers.ts';
import { appShape, installationShape, tokenShape, userShape } from './shapes.ts';

export type GithubAuth =
  | { readonly token: string }
  | {
      readonly appId: number | string;
      readonly privateKey: string;
      /** Looked up per repository if absent. */
      readonly installationId?: number | undefined;
    };

export interface GithubIdentityOptions extends ForgeServerOptions {
  /** The API, such as `https://api.github.com` or `https://github.example.com/api/v3`. */
  readonly baseUrl: string;
  readonly auth: GithubAuth;
}

/** Eph's credentials at one GitHub. Share one among all repositories: tokens, rate limits and caches are per identity. */
export interface GithubIdentity {
  readonly baseUrl: string;
  readonly host: string;
  /** An App sees the repositories that it is installed on, a token those of its user. */
  readonly isApp: boolean;
  /** The account for a repository or an owner. Throws `EphError`, or an octokit error. */
  accountFor(owner: string, repository?: string): Promise<GithubAccount>;
  forget(owner: string, repository?: string): void;
  readonly budgets: ForgeServer['budgets'];
}

/** A user with a token, or one installation of an App: the unit of GitHub's rate limits. */
export interface GithubAccount {
  readonly octokit: Octokit;
  /** Never shares a request that is under way. */
  readonly freshFetch: typeof fetch;
  /** Parsed answers with an entity tag. */
  readonly cache: BoundedCache<CachedAnswer>;
  login(): Promise<string>;
  /** Valid for some minutes at least, unless it was revoked. */
  token(): Promise<string>;
  /** Renews the token if possible and not done recently; returns whether it did. */
  renew(): Promise<boolean>;
}

export interface CachedAnswer {
  readonly tag: string;
  readonly parse: unknown;
  readonly value: unknown;
}

/** Enough for several hundred thousand pull requests. What does not fit counts against the rate limit on every pass. */
const answerCacheBytes = 64 * 1024 * 1024;
const renewPauseMs = 60_000;

export const createGithubIdentity = (options: GithubIdentityOptions): GithubIdentity => {
  const { auth, now, log } = options;
  const { href: baseUrl, host } = parseBaseUrl(options.baseUrl, 'a GitHub API', 'https://api.github.com');
  const gates = new Map<string, Gate>();

  const connect = (account: string, authentication: object) => {
    const gate = createGate({ ...options, shown: host, isThrottle });
    gates.set(account, gate);
    const conditionalFetch = createConditionalFetch(gate);
    const freshFetch: typeof fetch = (input, init) => conditionalFetch(input, { ...init, cache: 'no-cache' });
    const octokit = new Octokit({
      baseUrl,
      userAgent: 'eph',
      request: { fetch: conditionalFetch },
      log: octokitLog(log),
      ...authentication,
    });
    return { octokit, freshFetch, cache: createBoundedCache<CachedAnswer>(answerCacheBytes) };
  };

  return {
    baseUrl,
    host,
    isApp: !('token' in auth),
    ...('token' in auth ? createPerson(connect, auth.token) : createApp(connect, auth, now)),
    budgets: () => [...gates].flatMap(([account, gate]) => budgetOf(account, gate)),
  };
};

type Connection = Omit<GithubAccount, 'login' | 'token' | 'renew'>;
type Connect = (account: string, authentication: object) => Connection;

type Accounts = Pick<GithubIdentity, 'accountFor' | 'forget'>;

const createPerson = (connect: Connect, token: string): Accounts => {
  registerSecret(token);
  const connection = connect('token', { auth: token });
  const login = once(async () => userShape.parse((await connection.octokit.request('GET /user')).data).login);
  const account = { ...connection, login, token: () => Promise.resolve(token), renew: () => Promise.resolve(false) };
  return { accountFor: () => Promise.resolve(account), forget: () => undefined };
};

const createApp = (
  connect: Connect,
  { appId, privateKey, installationId }: Exclude<GithubAuth, { readonly token: string }>,
  now: () => number,
): Accounts => {
  const app = connect('app', { authStrategy: createAppAuth, auth: { appId, privateKey } });
  const login = once(async () => `${appShape.parse((await app.octokit.request('GET /app')).data).slug}[bot]`);
  const accounts = new Map<number, GithubAccount>();
  const installations = new Map<string, () => Promise<number>>();

  const open = (id: number): GithubAccount => {
    const connection = connect(`installation ${id}`, {
      authStrategy: createAppAuth,
      auth: { appId, privateKey, installationId: id },
    });
    let renewedAt = Number.NEGATIVE_INFINITY;
    const renew = async () => {
      if (now() - renewedAt < renewPauseMs) return false;
      renewedAt = now();
      await connection.octokit.auth({ type: 'installation', refresh: true });
      return true;
    };
    const askForToken = async () => tokenShape.parse(await connection.octokit.auth({ type: 'installation' })).token;
    const account = { ...connection, login, token: askForToken, renew };
    accounts.set(id, account);
    return account;
  };

  const askForInstallation = async (route: string, names: Readonly<Record<string, string>>): Promise<number> =>
    installationShape.parse((await app.octokit.request(route, names)).data).id;

  const findInstallation = async (owner: string, repository?: string): Promise<number> => {
    if (repository !== undefined)
      return await askForInstallation('GET /repos/{owner}/{repo}/installation', { owner, repo: repository });
    try {
      return await askForInstallation('GET /orgs/{org}/installation', { org: owner });
    } catch (error) {
      if (!(error instanceof Error && 'status' in error && error.status === 404)) throw error;
      return await askForInstallation('GET /users/{username}/installation', { username: owner });
    }
  };

  return {
    async accountFor(owner, repository) {
      const name = nameOf(owner, repository);
      const find = installations.get(name) ?? once(() => findInstallation(owner, repository));
      installations.set(name, find);
      const id = installationId ?? (await find());
      return accounts.get(id) ?? open(id);
    },
    forget: (owner, repository) => void installations.delete(nameOf(owner, repository)),
  };
};

const nameOf = (owner: string, repository = ''): string => `${owner}/${repository}`;

/** Calls the function once, and again only after a failure. */
const once = <T>(ask: () => Promise<T>): (() => Promise<T>) => {
  let answer: Promise<T> | undefined;
  return () => {
    answer ??= ask().catch((error: unknown) => {
      answer = undefined;
      throw error;
    });
    return answer;
  };
};

const octokitLog = (log: Log) => ({
  debug: () => undefined,
  info: () => undefined,
  warn: (message: string) => log.warn({ reason: message }, 'octokit warning'),
  error: (message: string) => log.warn({ reason: message }, 'octokit warning'),
});
