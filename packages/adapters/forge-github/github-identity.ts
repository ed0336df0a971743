import { sign } from 'node:crypto';
import { registerSecret } from '@eph/contract';
import { type ReceivedAnswer, toError, unwrap } from '../forge-http/answer.ts';
import { parseBaseUrl } from '../forge-http/base-url.ts';
import { createExchange, type Exchange } from '../forge-http/exchange.ts';
import { type AnswerCache, createAnswerCache, createForgeHttp, type ForgeApi, parserOf } from '../forge-http/forge-http.ts';
import type { ForgeServer, ForgeServerOptions } from '../forge-http/forge-server.ts';
import { budgetOf, createGate, type Gate } from '../forge-http/gate.ts';
import { parseDate } from '../forge-http/read-pages.ts';
import { githubAnswers, isThrottle } from './answers.ts';
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
  readonly cache: AnswerCache;
  /** The account for a repository or an owner. Throws `EphError`. */
  accountFor(owner: string, repository?: string): Promise<GithubAccount>;
  forget(owner: string, repository?: string): void;
  readonly budgets: ForgeServer['budgets'];
}

/** A user with a token, or one installation of an App: the unit of GitHub's rate limits. Everything throws `EphError`. */
export interface GithubAccount {
  /** Adds the token of the moment, and a new one if that was revoked. */
  readonly exchange: Exchange;
  login(): Promise<string>;
  /** Valid for some minutes at least, unless it was revoked. */
  token(): Promise<string>;
}

export const githubHeaders = {
  accept: 'application/vnd.github+json',
  'user-agent': 'eph',
  'x-github-api-version': '2022-11-28',
};

/** Enough for several hundred thousand pull requests. What does not fit counts against the rate limit on every pass. */
const answerCacheBytes = 64 * 1024 * 1024;
const renewPauseMs = 60_000;
const clockToleranceMs = 10_000;
/** Tokens of installations are valid for an hour. */
const maxTokenAgeMs = 50 * 60_000;

export const createGithubIdentity = (options: GithubIdentityOptions): GithubIdentity => {
  const { auth, now, log } = options;
  const { href: baseUrl, host } = parseBaseUrl(options.baseUrl, 'a GitHub API', 'https://api.github.com');
  const gates = new Map<string, Gate>();

  const connect: Connect = (account, token, renew) => {
    const gate = createGate({ ...options, shown: host, isThrottle });
    gates.set(account, gate);
    const exchange = withToken(createExchange(gate), token, renew);
    const shown = `Eph's account at ${host}`;
    const common = { baseUrl, headers: githubHeaders, table: githubAnswers, shown, now, log, parsePosition: () => ({}) };
    return { exchange, api: createForgeHttp({ exchange, ...common }) };
  };

  return {
    baseUrl,
    host,
    isApp: !('token' in auth),
    cache: createAnswerCache(answerCacheBytes),
    ...('token' in auth ? createPerson(connect, auth.token) : createApp(connect, auth, now)),
    budgets: () => [...gates].flatMap(([account, gate]) => budgetOf(account, gate)),
  };
};

type Connect = (
  account: string,
  token: () => Promise<string>,
  /** After a refusal: renews the token if possible and not done recently; returns whether it did. */
  renew?: (refusal: ReceivedAnswer) => Promise<boolean>,
) => { readonly exchange: Exchange; readonly api: Pick<ForgeApi, 'read' | 'send'> };

type Accounts = Pick<GithubIdentity, 'accountFor' | 'forget'>;

/** For what is shared by callers, any of which may give up. */
const { signal: never } = new AbortController();

const withToken = (
  exchange: Exchange,
  token: () => Promise<string>,
  renew: (refusal: ReceivedAnswer) => Promise<boolean> = () => Promise.resolve(false),
): Exchange => {
  const send: Exchange = async (request, signal) => {
    request.headers.set('authorization', `Bearer ${await token()}`);
    return await exchange(request, signal);
  };
  return async (request, signal) => {
    const again = request.clone();
    const answer = await send(request, signal);
    return answer.status === 401 && (await renew(answer)) ? await send(again, signal) : answer;
  };
};

const parseUser = parserOf(userShape);
const parseApp = parserOf(appShape);
const parseInstallation = parserOf(installationShape);
const parseToken = parserOf(tokenShape);

const createPerson = (connect: Connect, secret: string): Accounts => {
  registerSecret(secret);
  const token = () => Promise.resolve(secret);
  const { exchange, api } = connect('token', token);
  const login = once(async () => unwrap(await api.read('/user', parseUser, never)).login);
  return { accountFor: () => Promise.resolve({ exchange, login, token }), forget: () => undefined };
};

const createApp = (
  connect: Connect,
  { appId, privateKey, installationId }: Exclude<GithubAuth, { readonly token: string }>,
  now: () => number,
): Accounts => {
  let skewMs = 0;
  /** GitHub refuses what was signed at another time than its own, which is in every answer. */
  const adoptClock = async ({ headers }: ReceivedAnswer): Promise<boolean> => {
    const measuredMs = parseDate(headers) - now();
    const isOff = Math.abs(measuredMs - skewMs) > clockToleranceMs;
    if (isOff) skewMs = measuredMs;
    return isOff;
  };
  const { api } = connect('app', async () => signToken(appId, privateKey, now() + skewMs), adoptClock);
  const login = once(async () => `${unwrap(await api.read('/app', parseApp, never)).slug}[bot]`);
  const accounts = new Map<number, GithubAccount>();
  const installations = new Map<string, () => Promise<number>>();

  const open = (id: number): GithubAccount => {
    let issued: { readonly token: Promise<string>; readonly at: number } | undefined;
    let renewedAt = Number.NEGATIVE_INFINITY;

    const issue = async (): Promise<string> => {
      const answer = await api.send('POST', `/app/installations/${id}/access_tokens`, undefined, parseToken, never);
      if (answer.ok) return answer.value.token;
      issued = undefined;
      // The App may have been reinstalled.
      installations.clear();
      throw toError(answer);
    };
    const token = (): Promise<string> => {
      if (issued === undefined || Math.abs(now() - issued.at) > maxTokenAgeMs) issued = { token: issue(), at: now() };
      return issued.token;
    };
    const renew = async (): Promise<boolean> => {
      if (now() - renewedAt < renewPauseMs) return false;
      renewedAt = now();
      issued = undefined;
      await token();
      return true;
    };

    const account = { exchange: connect(`installation ${id}`, token, renew).exchange, login, token };
    accounts.set(id, account);
    return account;
  };

  const findInstallation = async (owner: string, repository?: string): Promise<number> => {
    const ask = (path: string) => api.read(`${path}/installation`, parseInstallation, never);
    const name = encodeURIComponent(owner);
    if (repository !== undefined) return unwrap(await ask(`/repos/${name}/${encodeURIComponent(repository)}`)).id;
    const ofOrganisation = await ask(`/orgs/${name}`);
    const isUser = !ofOrganisation.ok && ofOrganisation.meaning === 'gone';
    return unwrap(isUser ? await ask(`/users/${name}`) : ofOrganisation).id;
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

/** The token of an App itself: https://docs.github.com/en/apps/creating-github-apps/authenticating-with-a-github-app */
const signToken = (appId: number | string, privateKey: string, now: number): string => {
  const encode = (part: object): string => Buffer.from(JSON.stringify(part)).toString('base64url');
  // Half a minute ago: GitHub's clock may be behind. It accepts ten minutes at most.
  const issuedAt = Math.floor(now / 1_000) - 30;
  const unsigned = `${encode({ alg: 'RS256', typ: 'JWT' })}.${encode({ iat: issuedAt, exp: issuedAt + 540, iss: appId })}`;
  // In variables of the process environment, line breaks are often written as `\n`.
  const signature = sign('sha256', Buffer.from(unsigned), privateKey.replaceAll('\\n', '\n'));
  return `${unsigned}.${signature.toString('base64url')}`;
};

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
