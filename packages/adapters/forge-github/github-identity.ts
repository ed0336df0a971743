import { EphError, type Log, registerSecret } from '@eph/contract';
import { createAppAuth } from '@octokit/auth-app';
import { Octokit } from '@octokit/core';
import { type BoundedCache, createBoundedCache } from '../forge-http/bounded-cache.ts';
import type { Budget } from '../forge-http/budget.ts';
import { createConditionalFetch } from '../forge-http/conditional-fetch.ts';
import { createGate, type Gate } from '../forge-http/gate.ts';
import { isThrottle } from './answers.ts';
import { appShape, installationShape, userShape } from './shapes.ts';

export type GithubAuth =
  | { readonly token: string }
  | {
      readonly appId: number | string;
      /** As GitHub hands it out, in PEM. */
      readonly privateKey: string;
      /** The one that a repository belongs to is looked up if this is left out. */
      readonly installationId?: number;
    };

export interface GithubIdentityOptions {
  /** Of the API: `https://api.github.com`, or `https://github.example.com/api/v3`. */
  readonly baseUrl: string;
  readonly auth: GithubAuth;
  readonly now: () => number;
  readonly random: () => number;
  readonly log: Log;
  readonly fetch?: typeof fetch;
  /** For one request and its whole answer. */
  readonly timeoutMs?: number;
  /** A pause of GitHub's up to this long is waited for. */
  readonly maxWaitMs?: number;
}

/** Who Eph is at one GitHub. Make one for all repositories that use the same credentials: tokens, limits and memory are shared. */
export interface GithubIdentity {
  readonly host: string;
  /** An App sees the repositories that it is installed on, a person those of everybody. */
  readonly isApp: boolean;
  /** What acts in a repository, or for an owner. Throws `EphError`, or what octokit throws. */
  accountFor(owner: string, repository?: string): Promise<GithubAccount>;
  /** Looks up anew next time what acts there. */
  forget(owner: string, repository?: string): void;
  /** What is left of the rate limit, by account, as far as known. */
  budgets(): readonly { readonly account: string; readonly budget: Budget }[];
}

/** A person with a token, or one installation of an App: what GitHub counts requests of. */
export interface GithubAccount {
  readonly octokit: Octokit;
  /** Plain downloads, without credentials. */
  readonly fetch: typeof fetch;
  /** Its answers are never older than the question. */
  readonly freshFetch: typeof fetch;
  /** What was made of answers with an entity tag. */
  readonly cache: BoundedCache<CachedAnswer>;
  /** The login of what it writes. */
  login(): Promise<string>;
  /** Gets another token where that is possible and was not done a moment ago. Whether it did. */
  renew(): Promise<boolean>;
}

export interface CachedAnswer {
  readonly tag: string;
  /** What made the value of the answer. */
  readonly parse: unknown;
  readonly value: unknown;
}

/** Enough for some hundred thousand pull requests. What does not fit costs budget on every pass. */
const answerCacheBytes = 64 * 1024 * 1024;
/** As large as GitHub hands out files. */
const bodyLimitBytes = 110 * 1024 * 1024;
const renewPauseMs = 60_000;

export const createGithubIdentity = (options: GithubIdentityOptions): GithubIdentity => {
  const { auth, now, log } = options;
  const { href: baseUrl, host } = parseBaseUrl(options.baseUrl);
  const gates = new Map<string, Gate>();

  /** One octokit with a gate of its own. */
  const connect = (account: string, authentication: object) => {
    const { random, fetch = globalThis.fetch, timeoutMs, maxWaitMs } = options;
    const gate = createGate({ shown: host, now, random, log, isThrottle, ...(maxWaitMs === undefined ? {} : { maxWaitMs }) });
    gates.set(account, gate);
    // Answers are kept after they were parsed: a page of pull requests shrinks to a fiftieth.
    const limits = { bodyLimitBytes, cacheLimitBytes: 0, ...(timeoutMs === undefined ? {} : { timeoutMs }) };
    const conditionalFetch = createConditionalFetch({ gate, fetch, ...limits });
    const freshFetch: typeof fetch = (input, init) => conditionalFetch(input, { ...init, cache: 'no-cache' });
    const octokit = new Octokit({
      baseUrl,
      userAgent: 'eph',
      request: { fetch: conditionalFetch },
      log: octokitLog(log),
      ...authentication,
    });
    return { octokit, fetch, freshFetch, cache: createBoundedCache<CachedAnswer>(answerCacheBytes) };
  };

  return {
    host,
    isApp: !('token' in auth),
    ...('token' in auth ? createPerson(connect, auth.token) : createApp(connect, auth, now)),
    budgets: () =>
      [...gates].flatMap(([account, gate]) => {
        const budget = gate.budget();
        return budget === undefined ? [] : [{ account, budget }];
      }),
  };
};

type Connection = Omit<GithubAccount, 'login' | 'renew'>;
type Connect = (account: string, authentication: object) => Connection;

type Accounts = Pick<GithubIdentity, 'accountFor' | 'forget'>;

const createPerson = (connect: Connect, token: string): Accounts => {
  registerSecret(token);
  const connection = connect('token', { auth: token });
  const login = once(async () => userShape.parse((await connection.octokit.request('GET /user')).data).login);
  const account = { ...connection, login, renew: () => Promise.resolve(false) };
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
    const account = { ...connection, login, renew };
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

/** Asked for once, and again only after a failure. */
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
  warn: (message: string) => log.warn({ reason: message }, 'octokit has something to say'),
  error: (message: string) => log.warn({ reason: message }, 'octokit has something to say'),
});

const parseBaseUrl = (text: string): { readonly href: string; readonly host: string } => {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url === undefined || !/^https?:$/.test(url.protocol) || url.username !== '' || url.password !== '')
    throw new EphError(
      'config.invalid',
      `${JSON.stringify(text)} is not the address of an API of GitHub, such as https://api.github.com.`,
    );
  return { href: `${url.origin}${url.pathname}`.replace(/\/+$/, ''), host: url.host };
};
