import { hash, randomUUID } from 'node:crypto';
import {
  EphError,
  type ErrorCode,
  hints,
  isEphError,
  type Problem,
  problemType,
  projectId,
  type Route,
  type RouteName,
  routes,
  toFailure,
} from '@eph/contract';
import type { EnvironmentRecord } from '@eph/engine/loop/record';
import { type Context, Hono } from 'hono';
import { streamSSE } from 'hono/streaming';
import type { ContentfulStatusCode } from 'hono/utils/http-status';
import type { Logger } from 'pino';
import type { ApiToken } from './api-token.ts';
import type { Call, Caller, Handlers } from './handlers.ts';
import { parseBody, parseQuery } from './parse-call.ts';

const statusOf: Partial<Record<ErrorCode, ContentfulStatusCode>> = {
  'api.not_found': 404,
  'api.bad_request': 400,
  'api.conflict': 409,
  'api.forbidden': 403,
  'api.unauthorized': 401,
  'api.standby': 503,
  'api.starting': 503,
  'api.too_large': 413,
  'feature.unavailable': 501,
  'store.unreachable': 503,
  'forge.unreachable': 503,
  'forge.incomplete': 503,
  'forge.refused': 502,
  'spec.unreadable': 503,
  'source.commit_missing': 503,
};

const titles: Readonly<Record<number, string>> = {
  400: 'Bad request',
  401: 'Not signed in',
  403: 'Not allowed',
  404: 'Not found',
  409: 'Conflict',
  413: 'Too large',
  501: 'Not possible here',
  502: 'Refused elsewhere',
  503: 'Not available now',
};

export interface ApiOptions {
  readonly handlers: Handlers;
  /** By id, name or alias, among those that the caller may see. Throws when there is none. */
  readonly find: (text: string, caller: Caller) => EnvironmentRecord;
  readonly hasProject: (id: string) => boolean;
  readonly token: Pick<ApiToken, 'accepts'>;
  /** Ends streams when ephd stops, so that their readers see an end and not a loss. */
  readonly closing: AbortSignal;
  readonly log: Logger;
}

interface Variables {
  readonly requestId: string;
}

type Served = Context<{ Variables: Variables }>;

export const createApi = (options: ApiOptions): Hono<{ Variables: Variables }> => {
  const { log } = options;
  const api = new Hono<{ Variables: Variables }>();
  api.use(async (c, next) => {
    c.set('requestId', randomUUID());
    c.header('x-request-id', c.get('requestId'));
    requireLocalCaller(c.req.header('host'));
    requireSameSite(c.req.header('origin'), c.req.header('sec-fetch-site'), c.req.header('host'));
    await next();
  });
  const all = Object.entries(routes) as [RouteName, Route][];
  // What nobody needs to sign in for comes first. After it, also what does not exist takes a token.
  const [open, closed] = [all.filter(([, one]) => one.permission === null), all.filter(([, one]) => one.permission !== null)];
  for (const [name, route] of open) serveRoute(api, name, route, options);
  api.use(async (c, next) => {
    authenticate(c, options);
    await next();
  });
  for (const [name, route] of closed) serveRoute(api, name, route, options);
  api.notFound((c) => {
    throw new EphError('api.not_found', `${c.req.path} does not exist`);
  });
  api.onError((error, c) => {
    const { code, message } = toFailure(error);
    const status = statusOf[code] ?? 500;
    const requestId = c.get('requestId');
    if (status === 500)
      log.error({ path: c.req.path, requestId, code, err: isEphError(error) ? undefined : error }, 'a request failed');
    const title = titles[status] ?? 'Failed';
    const hint = hints[code];
    const problem: Problem = { type: 'about:blank', title, status, detail: message, code, ...(hint && { hint }), requestId };
    return c.body(JSON.stringify(problem), status, {
      'content-type': problemType,
      ...(status === 401 && { 'www-authenticate': 'Bearer' }),
    });
  });
  return api;
};

const serveRoute = (api: Hono<{ Variables: Variables }>, name: RouteName, route: Route, options: ApiOptions): void => {
  const handle = options.handlers[name] as (call: Call) => unknown;
  api.on(route.method, route.path.replace(/\{(\w+)\}/g, ':$1'), async (c) => {
    const caller = route.permission === null ? nobody : authenticate(c, options);
    const environment = admit(route, caller, c, options);
    const call = {
      path: c.req.param(),
      query: parseQuery(route.query, new URL(c.req.url).searchParams),
      body: await parseBody(route.body, c.req.raw),
      environment,
      caller,
      signal: c.req.raw.signal,
    };
    if (route.answer.type === 'stream') return serveStream(c, call as unknown as Call, handle, options);
    const answer = await handle(call as unknown as Call);
    switch (route.answer.type) {
      case 'json':
        return route.etag ? sendTagged(c, answer) : c.json(answer as object, route.answer.status);
      case 'text':
        return c.text(answer as string, 200, { 'content-type': route.answer.contentType });
      case 'none':
        return c.body(null, 204);
    }
  });
};

/** The answer depends on what the caller may see, and so does its tag. */
const sendTagged = (c: Served, answer: unknown): Response => {
  const body = JSON.stringify(answer);
  const etag = `"${hash('sha1', body, 'base64url')}"`;
  const headers = { etag, vary: 'authorization', 'cache-control': 'private, no-cache' };
  if (c.req.header('if-none-match') === etag) return c.body(null, 304, headers);
  return c.body(body, 200, { ...headers, 'content-type': 'application/json' });
};

/** What the caller may not see does not exist. */
const admit = (route: Route, caller: Caller, c: Served, { find, hasProject }: ApiOptions): EnvironmentRecord | undefined => {
  const { permission, target } = route;
  if (permission === null) return undefined;
  if (target === 'environment') {
    const environment = find(c.req.param('id') ?? '', caller);
    if (!caller.may(permission, environment.project)) throw refused(permission);
    return environment;
  }
  if (target === 'project') {
    const project = c.req.param('project') ?? '';
    const isVisible = hasProject(project) && caller.may('environments.read', projectId(project));
    if (!isVisible) throw new EphError('api.not_found', `there is no project ${JSON.stringify(project)}`);
    if (!caller.may(permission, projectId(project))) throw refused(permission);
  }
  if (!caller.maySomewhere(permission)) throw refused(permission);
  return undefined;
};

const refused = (permission: string): EphError => new EphError('api.forbidden', `you do not have the permission ${permission}`);

const serveStream = async (
  c: Served,
  call: Call,
  handle: (call: Call) => unknown,
  { closing }: ApiOptions,
): Promise<Response> => {
  const gone = new AbortController();
  const signal = AbortSignal.any([gone.signal, closing]);
  const items = (await handle({ ...call, signal })) as AsyncIterable<unknown>;
  return streamSSE(c, async (stream) => {
    stream.onAbort(() => gone.abort());
    for await (const item of items) await stream.writeSSE({ data: JSON.stringify(item) });
  });
};

const nobody: Caller = { may: () => false, maySomewhere: () => false };

/** Whoever runs as the user of ephd can read the file with the token. */
const administrator: Caller = { may: () => true, maySomewhere: () => true };

const authenticate = (c: Served, { token }: ApiOptions): Caller => {
  if (token.accepts(c.req.header('authorization'))) return administrator;
  throw new EphError('api.unauthorized', 'this needs `Authorization: Bearer`, with the token from the file that ephd wrote');
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
