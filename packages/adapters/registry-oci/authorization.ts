import { EphError, parseJson } from '@eph/contract';
import { LRUCache } from 'lru-cache';
import { z } from 'zod';
import { createSingleFlight } from '../forge-http/single-flight.ts';
import { type Challenge, parseChallenges } from './challenge.ts';
import type { CredentialsReader } from './credentials.ts';
import type { Credentials } from './docker-config.ts';
import type { Exchange, RegistryAnswer } from './exchange.ts';
import type { RegistryHost } from './registry-hosts.ts';

/** What is asked of a registry: rights are given for each repository, and by some registries for lists apart. */
export interface Subject {
  readonly on: RegistryHost;
  /** Without the host. */
  readonly path: string;
  readonly isList: boolean;
}

export interface Authorizer {
  /** What the last challenge led to, also where that has to be read anew. Undefined before the first. */
  current(subject: Subject, signal: AbortSignal): Promise<string | undefined>;
  /**
   * What a request needs that was answered with status 401: tokens as Docker gets them, or a password. Throws
   * `registry.refused` if there is no way to sign in.
   *
   * @param header `WWW-Authenticate` of the answer, or ''
   */
  answer(subject: Subject, header: string, signal: AbortSignal): Promise<string>;
  /** The registry refuses also what was signed in. */
  refusal(subject: Subject): EphError;
}

export interface AuthorizerOptions {
  readonly exchange: Exchange;
  readonly credentials: CredentialsReader;
  readonly now: () => number;
}

interface Authorization {
  /** The value of the header. */
  readonly value: string;
  readonly from: number;
  readonly until: number;
  readonly isAnonymous: boolean;
}

const maxSubjects = 2_000;
const tokenLimitBytes = 1024 * 1024;
/** For answers that name no time, as the specification says. */
const defaultLifetimeS = 60;
const longestLifetimeS = 3_600;
/** A request may be on its way for a while. */
const usedShare = 0.8;
/** Whether a helper of Docker has another one is asked so often. */
const passwordMs = 60_000;

const tokenShape = z.object({
  token: z.string().optional(),
  access_token: z.string().optional(),
  expires_in: z.number().optional().catch(undefined),
});

/** Nothing that could end a header. */
const tokenForm = /^[\x21-\x7e]{1,16384}$/;

export const createAuthorizer = ({ exchange, credentials, now }: AuthorizerOptions): Authorizer => {
  const known = new LRUCache<string, { readonly challenge: Challenge; readonly authorization: Authorization }>({
    max: maxSubjects,
  });
  const once = createSingleFlight<Authorization>();

  const keyOf = ({ on, path, isList }: Subject): string => `${on.key} ${path} ${isList}`;

  const readPassword = async (subject: Subject, signal: AbortSignal): Promise<Authorization> => {
    const found = await credentials.read(subject.on, signal);
    if (found?.type !== 'password') throw refuse(subject, true);
    return { value: toBasic(found), from: now(), until: now() + passwordMs, isAnonymous: false };
  };

  const readToken = async (subject: Subject, { parameters }: Challenge, signal: AbortSignal): Promise<Authorization> => {
    const { on, path } = subject;
    const realm = parseRealm(parameters.get('realm'), on.host);
    const asked = { service: parameters.get('service'), scope: parameters.get('scope') || `repository:${path}:pull` };
    const found = await credentials.read(on, signal);
    const answer = await exchange(on, toTokenRequest(realm, asked, found), signal);
    if (answer.status !== 200) {
      credentials.forget(on);
      throw refuseToken(answer, realm, subject, found === undefined);
    }
    return { ...parseToken(answer, realm, now()), isAnonymous: found === undefined };
  };

  const read = async (subject: Subject, challenge: Challenge, signal: AbortSignal): Promise<string> => {
    const { scheme, parameters } = challenge;
    // All that need the same share one request.
    const id = [subject.on.key, scheme === 'basic' ? '' : subject.path, ...parameters].join(' ');
    const authorization = await once(
      id,
      (any) => (scheme === 'basic' ? readPassword(subject, any) : readToken(subject, challenge, any)),
      signal,
    );
    known.set(keyOf(subject), { challenge, authorization });
    return authorization.value;
  };

  return {
    current: async (subject, signal) => {
      const before = known.get(keyOf(subject));
      if (before === undefined) return undefined;
      const { challenge, authorization } = before;
      const isValid = now() >= authorization.from && now() < authorization.until;
      return isValid ? authorization.value : await read(subject, challenge, signal);
    },
    answer: async (subject, header, signal) => {
      if (known.delete(keyOf(subject))) credentials.forget(subject.on);
      const offered = parseChallenges(header);
      const challenge = offered.find(({ scheme }) => scheme === 'bearer') ?? offered.find(({ scheme }) => scheme === 'basic');
      if (challenge === undefined)
        throw new EphError('registry.refused', `${subject.on.host} wants ephd to sign in, and does not say how.`);
      return await read(subject, challenge, signal);
    },
    refusal: (subject) => refuse(subject, known.get(keyOf(subject))?.authorization.isAnonymous ?? true),
  };
};

/** Registries do not tell strangers whether a repository exists. */
const refuse = ({ on, path }: Subject, isAnonymous: boolean): EphError => {
  const why = isAnonymous ? needs(on) : `the credentials that ephd has for ${on.host} may not read it.`;
  return new EphError(
    'registry.refused',
    `${on.host} does not show ${on.host}/${path}: the repository does not exist, or ${why}`,
  );
};

const needs = ({ host, access }: RegistryHost): string =>
  access === 'withheld'
    ? `it needs credentials, and this project may not use those for ${host}. An operator can change that with projects under registries in the file of ephd.`
    : `it needs credentials, and ephd has none for ${host}. An operator can add them under registries in the file of ephd.`;

const toBasic = ({ username, password }: { readonly username: string; readonly password: string }): string =>
  `Basic ${Buffer.from(`${username}:${password}`).toString('base64')}`;

const parseRealm = (text: string | undefined, host: string): URL => {
  const url = text === undefined ? null : URL.parse(text);
  if (url === null || url.username !== '' || url.password !== '')
    throw new EphError('registry.refused', `${host} names no valid address to get tokens at.`);
  return url;
};

/**
 * As Docker does it: the registry names its token server, on any host, and this server gets the credentials of the registry, which
 * could pass them on anyway. Which hosts may be asked, and that they speak TLS, is decided by `route` of the registry.
 */
const toTokenRequest = (
  realm: URL,
  { service, scope }: { readonly service: string | undefined; readonly scope: string },
  credentials: Credentials | undefined,
) => {
  if (credentials?.type === 'identity') {
    const grant = { grant_type: 'refresh_token', client_id: 'eph', refresh_token: credentials.token };
    const body = new URLSearchParams({ ...grant, service: service ?? '', scope }).toString();
    const headers = { 'content-type': 'application/x-www-form-urlencoded' };
    return { method: 'POST', url: realm, headers, body, limitBytes: tokenLimitBytes } as const;
  }
  const url = new URL(realm);
  if (service !== undefined) url.searchParams.append('service', service);
  for (const one of scope.split(' ')) url.searchParams.append('scope', one);
  const authorization = credentials && toBasic(credentials);
  return { method: 'GET', url, authorization, limitBytes: tokenLimitBytes } as const;
};

const refuseToken = ({ status }: RegistryAnswer, realm: URL, subject: Subject, isAnonymous: boolean): EphError => {
  if (status === 401 || status === 403) return refuse(subject, isAnonymous);
  return new EphError(
    'registry.refused',
    `${realm.host} gives out no token for ${subject.on.host}: it answers with status ${status}.`,
  );
};

const parseToken = ({ body }: RegistryAnswer, realm: URL, now: number): Omit<Authorization, 'isAnonymous'> => {
  const { data } = tokenShape.safeParse(parseJson(body.toString()));
  const token = data?.token || data?.access_token || '';
  if (!tokenForm.test(token)) throw new EphError('registry.refused', `${realm.host} sends no valid token.`);
  const given = data?.expires_in ?? 0;
  const lifetimeS = Math.min(given > 0 ? given : defaultLifetimeS, longestLifetimeS);
  return { value: `Bearer ${token}`, from: now, until: now + lifetimeS * usedShare * 1_000 };
};
