import { hash, randomUUID } from 'node:crypto';
import { EphError, eventId, isEphError, problemType, type Route, type RouteName, routes } from '@eph/contract';
import type { ExecSession } from '@eph/engine/provider/provider';
import type { HttpBindings } from '@hono/node-server';
import { type Context, Hono } from 'hono';
import type { Logger } from 'pino';
import type { Access } from '../access/access.ts';
import type { Sessions } from '../access/sessions.ts';
import { page, pageHeaders } from '../page/page.ts';
import { type Admission, admit, locate } from './admit.ts';
import type { ApiToken } from './api-token.ts';
import { type Attempt, type AuditOptions, recordAttempt } from './audit.ts';
import { authenticate, RefusedToken } from './authenticate.ts';
import type { Call, Handlers } from './handlers.ts';
import { LongUse } from './long-use.ts';
import { parseBody, parseQuery } from './parse-call.ts';
import { describeProblem } from './problems.ts';
import { requireUpgrade, serveExec } from './serve-exec.ts';
import { serveStream } from './serve-stream.ts';

export interface ApiOptions extends Omit<Admission, 'access'>, Omit<AuditOptions, 'log'> {
  readonly handlers: Handlers;
  readonly access: Access;
  readonly sessions: Sessions;
  readonly token: Pick<ApiToken, 'accepts'>;
  /** Ends streams when ephd stops, so that their readers see an end and not a loss. */
  readonly closing: AbortSignal;
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
    const address = c.env?.incoming?.socket.remoteAddress ?? '';
    c.set('attempt', { requestId, method: c.req.method, address });
    c.header('x-request-id', requestId);
    // Answers hold what strangers wrote, such as logs; a browser must not take one for a page.
    c.header('x-content-type-options', 'nosniff');
    c.header('referrer-policy', 'no-referrer');
    requireLocalCaller(c.req.header('host'));
    requireSameSite(c.req.header('origin'), c.req.header('sec-fetch-site'), c.req.header('host'));
    await next();
  });
  api.get('/', (c) => c.body(page, 200, pageHeaders));
  for (const [name, route] of Object.entries(routes) as [RouteName, Route][]) serveRoute(api, name, route, options);
  api.notFound(async (c) => {
    // Whoever is not signed in does not learn what there is.
    const caller = await authenticate(c.req.raw.headers, options);
    learn(c, { caller });
    throw new EphError('api.not_found', `${c.req.path} does not exist`);
  });
  api.onError((error, c) => {
    if (error instanceof RefusedToken && error.caller !== undefined) learn(c, { caller: error.caller });
    const { status, problem } = recordFailure(error, c, options);
    return c.body(JSON.stringify(problem), status, {
      'content-type': problemType,
      ...(status === 401 && { 'www-authenticate': 'Bearer' }),
    });
  });
  return api;
};

const recordFailure = (error: unknown, c: Context<Served>, options: ApiOptions): ReturnType<typeof describeProblem> => {
  const attempt = c.get('attempt');
  const described = describeProblem(error, attempt.requestId);
  const { status, problem } = described;
  if (status === 500)
    options.log.error(
      { path: c.req.path, requestId: attempt.requestId, err: isEphError(error) ? error.message : error },
      'a request failed',
    );
  const isRefusal = status === 401 || status === 403 || isHidden(error, c, options);
  if (isRefusal || attempt.route?.audit !== undefined)
    recordAttempt(attempt, isRefusal ? 'refused' : 'failed', problem.detail, options);
  return described;
};

const learn = (c: Context<Served>, more: Partial<Attempt>): void => c.set('attempt', { ...c.get('attempt'), ...more });

const serveRoute = (api: Hono<Served>, name: RouteName, route: Route, options: ApiOptions): void => {
  const handle = options.handlers[name] as (call: unknown) => unknown;
  const { access, closing } = options;
  api.on(route.method, route.path.replace(/\{(\w+)\}/g, ':$1'), async (c) => {
    learn(c, { route });
    const caller = route.permission === null ? undefined : await authenticate(c.req.raw.headers, options);
    if (caller !== undefined) {
      learn(c, { caller });
      const located = locate(route, caller, c.req.param(), options);
      learn(c, located);
      admit(route, caller, located, options);
    }
    const { environment, project } = c.get('attempt');
    const call = {
      path: c.req.param(),
      query: parseQuery(route.query, new URL(c.req.url).searchParams),
      body: await parseBody(route.body, c.req.raw),
      environment,
      caller,
      lastEventId: readLastEventId(c.req.header('last-event-id')),
      addToAudit: (details: Attempt['details'] & {}) => learn(c, { details }),
    };
    const { answer: shape } = route;
    const isLong = shape.type === 'stream' || shape.type === 'exec';
    if (shape.type === 'exec') requireUpgrade(c.env);
    const use = isLong && caller !== undefined ? new LongUse(route, caller, project, access, closing) : undefined;
    const run = async (): Promise<unknown> => {
      const answer = await handle({ ...call, signal: use?.signal ?? c.req.raw.signal });
      if (route.audit !== undefined) recordAttempt(c.get('attempt'), 'done', null, options);
      return answer;
    };
    try {
      if (shape.type === 'exec' && use !== undefined) return serveExec(c.env, use, () => startExec(run, use, c, options));
      return send(c, route, await run(), use);
    } catch (error) {
      use?.[Symbol.dispose]();
      throw error;
    }
  });
};

const startExec = async (
  run: () => Promise<unknown>,
  use: LongUse,
  c: Context<Served>,
  options: ApiOptions,
): Promise<ExecSession> => {
  try {
    return (await run()) as ExecSession;
  } catch (error) {
    if (!use.isClientGone) recordFailure(error, c, options);
    throw error;
  }
};

const send = (c: Context<Served>, route: Route, answer: unknown, use: LongUse | undefined): Response => {
  const { answer: shape } = route;
  switch (shape.type) {
    case 'json':
      return route.etag ? sendTagged(c, answer) : c.json(answer as object, shape.status);
    case 'text':
      return c.text(answer as string, 200, { 'content-type': shape.contentType });
    case 'none':
      return c.body(null, 204);
    case 'stream':
      return serveStream(c, answer as AsyncIterable<unknown>, use);
    case 'exec':
      throw new EphError('internal', 'exec has no answer');
  }
};

/** The answer depends on what the caller may see, and so does its tag. */
const sendTagged = (c: Context<Served>, answer: unknown): Response => {
  const body = JSON.stringify(answer);
  const etag = `"${hash('sha1', body, 'base64url')}"`;
  const headers = { etag, vary: 'authorization', 'cache-control': 'private, no-cache' };
  if (c.req.header('if-none-match') === etag) return c.body(null, 304, headers);
  return c.body(body, 200, { ...headers, 'content-type': 'application/json' });
};

const readLastEventId = (text: string | undefined): Call['lastEventId'] => {
  if (text === undefined || text === '') return undefined;
  if (!/^\d{16}$/.test(text)) throw new EphError('api.bad_request', 'Last-Event-ID is not the id of an event');
  return eventId(text);
};

/** For the caller it does not exist; the audit history says what they asked for. */
const isHidden = (error: unknown, c: Context<Served>, { find }: ApiOptions): boolean => {
  const { route, caller, environment } = c.get('attempt');
  if (route?.target !== 'environment' || caller === undefined || environment !== undefined || !isEphError(error)) return false;
  if (error.code !== 'api.not_found') return false;
  try {
    find(c.req.param('id') ?? '', { may: () => true });
    return true;
  } catch {
    return false;
  }
};

/** ephd listens on loopback; a web page must not reach it through a name of its own (DNS rebinding). */
const requireLocalCaller = (host: string | undefined): void => {
  if (!/^(localhost|127\.0\.0\.1|\[::1\])(:\d+)?$/i.test(host ?? ''))
    throw new EphError('api.forbidden', 'ephd answers only requests to localhost and 127.0.0.1');
};

/** Browsers send `Sec-Fetch-Site` with every method, `Origin` not with GET. Environments on `localhost` are same-site. */
const requireSameSite = (origin: string | undefined, site: string | undefined, host: string | undefined): void => {
  if ((origin !== undefined && origin !== `http://${host}`) || !['none', 'same-origin'].includes(site ?? 'none'))
    throw new EphError('api.forbidden', 'ephd does not answer requests from other sites');
};
