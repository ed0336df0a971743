import { randomUUID } from 'node:crypto';
import type { BlockList } from 'node:net';
import type { Duplex } from 'node:stream';
import {
  EphError,
  eventId,
  execProtocol,
  isEphError,
  type ProjectId,
  portProtocol,
  problemType,
  type Route,
  type RouteName,
  routes,
} from '@eph/contract';
import type { ExecSession } from '@eph/engine/provider/provider';
import type { Clock } from '@eph/engine/time/clock';
import type { HttpBindings } from '@hono/node-server';
import { type Context, Hono } from 'hono';
import { matchedRoutes } from 'hono/route';
import type { Logger } from 'pino';
import type { Access } from '../access/access.ts';
import type { Session, Sessions } from '../access/sessions.ts';
import { pageHeaders } from '../page/page.ts';
import { type Admission, admit, locate } from './admit.ts';
import type { ApiToken } from './api-token.ts';
import { type Attempt, type AuditOptions, recordAttempt } from './audit.ts';
import { authenticate, callerOf, RefusedToken } from './authenticate.ts';
import { findClientAddress } from './client-address.ts';
import type { Connections } from './connections.ts';
import { computeEtag, isKnown } from './etag.ts';
import type { Call, Caller, Handlers } from './handlers.ts';
import { LocatedRefusal } from './located-refusal.ts';
import { LongUse, type LongUses } from './long-use.ts';
import { checkOrigin, type OriginRules } from './origin.ts';
import { parseBody, parseQuery } from './parse-call.ts';
import { describeProblem } from './problems.ts';
import type { Quota, RateLimits } from './rate-limits.ts';
import { serveExec } from './serve-exec.ts';
import { servePort } from './serve-port.ts';
import { serveStream } from './serve-stream.ts';
import { requireUpgrade } from './web-socket.ts';

export interface ApiOptions extends Omit<Admission, 'access'>, AuditOptions {
  readonly handlers: Handlers;
  readonly access: Access;
  readonly sessions: Sessions;
  readonly token: Pick<ApiToken, 'accepts'>;
  readonly origins: OriginRules;
  /** Whose `X-Forwarded-For` counts. */
  readonly proxies: BlockList;
  readonly limits: RateLimits;
  readonly uses: LongUses;
  readonly connections: Pick<Connections, 'prove'>;
  /** Ends streams when ephd stops, so that their readers see an end and not a loss. */
  readonly closing: AbortSignal;
  /** Its timers should not keep the process alive. */
  readonly clock: Clock;
  readonly log: Logger;
}

interface Served {
  readonly Variables: { readonly attempt: Attempt };
  readonly Bindings: Partial<HttpBindings>;
}

export const createApi = (options: ApiOptions): Hono<Served> => {
  const api = new Hono<Served>();
  api.use(async (c, next) => {
    const requestId = randomUUID();
    const peer = c.env?.incoming?.socket.remoteAddress ?? '';
    const address = findClientAddress(peer, c.req.header('x-forwarded-for') ?? '', options.proxies);
    c.set('attempt', { requestId, method: c.req.method, address });
    c.header('x-request-id', requestId);
    // Answers hold what strangers wrote, such as logs; a browser must not take one for a page.
    c.header('x-content-type-options', 'nosniff');
    c.header('referrer-policy', 'no-referrer');
    const { host, origin, 'sec-fetch-site': site } = c.req.header();
    const check = checkOrigin({ host, origin, site }, options.origins);
    if (!check.ok) {
      learn(c, findRoute(c));
      throw new EphError('api.forbidden', check.because);
    }
    if (options.origins.allowed.length > 0) c.header('vary', 'origin', { append: true });
    if (check.origin === undefined) return await next();
    c.header('access-control-allow-origin', check.origin);
    c.header('access-control-expose-headers', 'etag, ratelimit, ratelimit-policy, retry-after, x-request-id');
    if (c.req.method !== 'OPTIONS') return await next();
    countRequest(c, options);
    return c.body(null, 204, {
      'access-control-allow-methods': 'GET, POST, PUT, DELETE',
      'access-control-allow-headers': 'authorization, content-type, if-none-match, last-event-id',
      'access-control-max-age': '600',
    });
  });
  for (const [name, route] of Object.entries(routes) as [RouteName, Route][]) serveRoute(api, name, route, options);
  for (const [path, served] of Map.groupBy(Object.values<Route>(routes), ({ path }) => path))
    refuseOtherMethods(api, path, served, options);
  api.notFound(async (c) => {
    // Whoever is not signed in does not learn what there is.
    await identify(c, options);
    throw new EphError('api.not_found', `${c.req.path} does not exist`);
  });
  api.onError((thrown, c) => {
    if (thrown instanceof RefusedToken && thrown.caller !== undefined) learn(c, { caller: thrown.caller });
    const { status, problem, retryAfterMs } = recordFailure(thrown, c, options);
    return c.body(JSON.stringify(problem), status, {
      'content-type': problemType,
      ...(retryAfterMs !== undefined && { 'retry-after': String(Math.ceil(retryAfterMs / 1_000)) }),
      ...(status === 401 && { 'www-authenticate': 'Bearer' }),
    });
  });
  return api;
};

const recordFailure = (thrown: unknown, c: Context<Served>, options: ApiOptions): ReturnType<typeof describeProblem> => {
  if (thrown instanceof LocatedRefusal) learn(c, thrown.located);
  const attempt = c.get('attempt');
  if (thrown instanceof LocatedRefusal && thrown.code !== 'api.forbidden') {
    recordProbe(thrown, attempt, options);
    return describeProblem(thrown, attempt.requestId);
  }
  const isRefusal = isEphError(thrown) && isRefused(thrown);
  const isFailedSignIn = attempt.caller === undefined && attempt.route?.audit !== undefined;
  const error = isEphError(thrown) && (isRefusal || isFailedSignIn) ? countRefusal(thrown, c, options) : thrown;
  const described = describeProblem(error, attempt.requestId);
  const { status, problem } = described;
  if (status === 500)
    options.log.error(
      { path: c.req.path, requestId: attempt.requestId, err: isEphError(error) ? error.message : error },
      'a request failed',
    );
  if (status !== 429 && (isRefusal || attempt.route?.audit !== undefined))
    recordAttempt(attempt, isRefusal || isFailedSignIn ? 'refused' : 'failed', problem.detail, options);
  return described;
};

/** Somebody asked for what they may not see. Neither the answer nor its headers tell it from what does not exist. */
const recordProbe = ({ message }: LocatedRefusal, attempt: Attempt, options: ApiOptions): void => {
  const { retryAfterMs } = options.limits.take('probes', attempt.caller, attempt.address);
  if (retryAfterMs === undefined) recordAttempt(attempt, 'refused', `hidden from the caller: ${message}`, options);
};

const learn = (c: Context<Served>, more: Partial<Attempt>): void => c.set('attempt', { ...c.get('attempt'), ...more });

/** Throws for everybody who does not prove who they are, or who asks too often. */
const identify = async (c: Context<Served>, options: ApiOptions): Promise<Caller> => {
  const caller = await authenticate(c.req.raw.headers, options);
  learn(c, { caller });
  if (c.env?.incoming !== undefined) options.connections.prove(c.env.incoming.socket);
  countRequest(c, options);
  return caller;
};

const countRequest = (c: Context<Served>, { limits }: ApiOptions): void => {
  const { caller, address, route } = c.get('attempt');
  const { retryAfterMs } = show(c, limits.take('requests', caller, address, route?.cost));
  if (retryAfterMs === undefined) return;
  const who = caller === undefined ? 'this address' : 'this token';
  throw new EphError('api.too_many', `${who} has sent too many requests`, { retryAfterMs });
};

/** Also where it then fails, since that is recorded, too. */
const countChange = (c: Context<Served>, { limits }: ApiOptions): void => {
  const { caller, address } = c.get('attempt');
  const { retryAfterMs } = show(c, limits.take('changes', caller, address));
  if (retryAfterMs !== undefined) throw new EphError('api.too_many', 'you have made too many changes', { retryAfterMs });
};

/** Beyond the limit, refusals are neither recorded nor logged. */
const countRefusal = (error: EphError, c: Context<Served>, { limits }: ApiOptions): EphError => {
  const { caller, address } = c.get('attempt');
  const { retryAfterMs } = show(c, limits.take('refusals', caller, address));
  if (retryAfterMs === undefined) return error;
  return new EphError('api.too_many', `too many requests were refused, and this one would be: ${error.message}`, {
    retryAfterMs,
  });
};

const show = (c: Context<Served>, quota: Quota): Quota => {
  for (const [name, value] of Object.entries(quota.headers)) c.header(name, value);
  return quota;
};

/** A token that ephd cannot judge yet is refused, too. */
const isRefused = (error: EphError): boolean =>
  error.code === 'api.unauthorized' || error.code === 'api.forbidden' || error instanceof RefusedToken;

const serveRoute = (api: Hono<Served>, name: RouteName, route: Route, options: ApiOptions): void => {
  const handle = options.handlers[name] as (call: unknown) => unknown;
  api.on(route.method, pathForHono(route.path), async (c) => {
    learn(c, { route });
    const caller = route.permission === null ? undefined : await identify(c, options);
    // A code that is valid signs in, whatever others send from this address.
    if (caller === undefined && route.audit === undefined) countRequest(c, options);
    if (caller !== undefined) {
      const located = locate(route, caller, c.req.param(), options);
      learn(c, located);
      admit(route, caller, located, options);
      if (route.audit !== undefined) countChange(c, options);
    }
    // Hono answers HEAD as GET and drops the body; a stream would go on unread.
    if (c.req.method === 'HEAD' && isLong(route)) throw methodNotAllowed(c, [route]);
    const { environment, project } = c.get('attempt');
    const call = {
      path: c.req.param(),
      query: parseQuery(route.query, new URL(c.req.url).searchParams),
      body: await parseBody(route.body, c.req.raw),
      environment,
      caller,
      lastEventId: readLastEventId(c.req.header('last-event-id')),
      addToAudit: (details: Attempt['details'] & {}) => learn(c, { details }),
      signIn: (session: Session) => learn(c, { caller: callerOf(session.caller, 'session', session, options.access) }),
    };
    const { answer: shape } = route;
    const use = isLong(route) && caller !== undefined ? new LongUse(route, caller, project, options) : undefined;
    const run = async (): Promise<unknown> => {
      const narrowTo = (only: ProjectId): void => {
        learn(c, { project: only });
        use?.narrowTo(only);
      };
      const answer = await handle({ ...call, narrowTo, signal: use?.signal ?? c.req.raw.signal });
      if (route.audit !== undefined) recordAttempt(c.get('attempt'), 'done', null, options);
      return answer;
    };
    try {
      if (shape.type === 'exec' && use !== undefined) {
        requireUpgrade(c.env, execProtocol);
        return serveExec(c.env, use, async () => (await begin(run, use, c, options)) as ExecSession);
      }
      if (shape.type === 'port' && use !== undefined) {
        requireUpgrade(c.env, portProtocol);
        return servePort(c.env, use, async () => (await begin(run, use, c, options)) as Duplex);
      }
      return send(c, route, await run(), use, options);
    } catch (error) {
      use?.[Symbol.dispose]();
      throw error;
    }
  });
};

/** On a connection that is a WebSocket already. */
const begin = async (run: () => Promise<unknown>, use: LongUse, c: Context<Served>, options: ApiOptions): Promise<unknown> => {
  try {
    return await run();
  } catch (error) {
    if (!use.isClientGone) recordFailure(error, c, options);
    throw error;
  }
};

/** As far as a request got that was refused before its route was served. */
const findRoute = (c: Context<Served>): Pick<Attempt, 'route'> => {
  const matched = matchedRoutes(c).map(({ method, path }) => `${method} ${path}`);
  const route = Object.values<Route>(routes).find(({ method, path }) => matched.includes(`${method} ${pathForHono(path)}`));
  return route === undefined ? {} : { route };
};

const pathForHono = (path: string): string => path.replace(/\{(\w+)\}/g, ':$1');

const isLong = ({ answer }: Route): boolean => ['stream', 'exec', 'port'].includes(answer.type);

const refuseOtherMethods = (api: Hono<Served>, path: string, served: readonly Route[], options: ApiOptions): void => {
  api.all(pathForHono(path), async (c) => {
    // Whoever is not signed in does not learn what there is.
    await identify(c, options);
    throw methodNotAllowed(c, served);
  });
};

const methodNotAllowed = (c: Context<Served>, served: readonly Route[]): EphError => {
  const allowed = served.flatMap((one) => (one.method === 'GET' && !isLong(one) ? ['GET', 'HEAD'] : [one.method])).join(', ');
  c.header('allow', allowed);
  return new EphError('api.method_not_allowed', `${c.req.path} takes ${allowed}, not ${c.req.method}`);
};

const send = (c: Context<Served>, route: Route, answer: unknown, use: LongUse | undefined, options: ApiOptions): Response => {
  const { answer: shape } = route;
  switch (shape.type) {
    case 'json':
      return route.etag ? sendTagged(c, answer) : c.json(answer as object, shape.status);
    case 'text':
      return c.text(answer as string, 200, { 'content-type': shape.contentType });
    case 'page':
      return c.body(answer as string, 200, pageHeaders);
    case 'none':
      return c.body(null, 204);
    case 'stream':
      if (use === undefined || c.env.outgoing === undefined) throw new Error('a stream needs a caller and a connection');
      return serveStream(c, answer as AsyncIterable<unknown>, use, c.env.outgoing, options);
    case 'exec':
    case 'port':
      throw new EphError('internal', 'a WebSocket has no answer');
  }
};

/** The answer depends on what the caller may see, and so does its tag. */
const sendTagged = (c: Context<Served>, answer: unknown): Response => {
  // Encoded once, for the tag and for the connection.
  const body = Buffer.from(JSON.stringify(answer));
  const etag = computeEtag(body);
  c.header('vary', 'authorization', { append: true });
  const headers = { etag, 'cache-control': 'private, no-cache' };
  if (isKnown(etag, c.req.header('if-none-match'))) return c.body(null, 304, headers);
  return c.body(body, 200, { ...headers, 'content-type': 'application/json' });
};

const readLastEventId = (text: string | undefined): Call['lastEventId'] => {
  if (text === undefined || text === '') return undefined;
  if (!/^\d{16}$/.test(text)) throw new EphError('api.bad_request', 'Last-Event-ID is not the id of an event');
  return eventId(text);
};
