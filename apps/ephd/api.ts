import { EphError, type ErrorCode, isEphError, toFailure } from '@eph/contract';
import { Hono } from 'hono';
import type { ContentfulStatusCode } from 'hono/utils/http-status';
import type { Logger } from 'pino';
import type { ApiToken } from './api-token.ts';

const statusOf: Partial<Record<ErrorCode, ContentfulStatusCode>> = {
  'api.not_found': 404,
  'api.bad_request': 400,
  'api.conflict': 409,
  'api.forbidden': 403,
  'api.unauthorized': 401,
  'api.standby': 503,
  'store.unreachable': 503,
  'forge.unreachable': 503,
  'forge.incomplete': 503,
  'forge.refused': 502,
  'spec.unreadable': 503,
  'source.commit_missing': 503,
};

export interface ApiOptions {
  /** Served at `/`, without the token. */
  readonly open: readonly Hono[];
  /** Served at `/`. */
  readonly root: readonly Hono[];
  /** Served at `/api/v1`. */
  readonly v1: readonly Hono[];
  readonly token: Pick<ApiToken, 'accepts'>;
  readonly log: Logger;
  readonly version: string;
}

export const createApi = ({ open, root, v1, token, log, version }: ApiOptions): Hono => {
  const api = new Hono();
  api.use(async (c, next) => {
    requireLocalCaller(c.req.header('host'));
    requireSameSite(c.req.header('origin'), c.req.header('sec-fetch-site'), c.req.header('host'));
    await next();
  });
  for (const routes of open) api.route('/', routes);
  api.use(async (c, next) => {
    if (!token.accepts(c.req.header('authorization')))
      throw new EphError('api.unauthorized', 'this needs `Authorization: Bearer`, with the token from the file that ephd wrote');
    await next();
  });
  for (const routes of root) api.route('/', routes);
  for (const routes of v1) api.route('/api/v1', routes);
  api.get('/api/v1/version', (c) => c.json({ version }));
  api.notFound((c) => c.json({ error: { code: 'api.not_found', message: `${c.req.path} does not exist` } }, 404));
  api.onError((error, c) => {
    const { code, message } = toFailure(error);
    const status = statusOf[code] ?? 500;
    if (status === 500) log.error({ path: c.req.path, code, err: isEphError(error) ? undefined : error }, 'a request failed');
    return c.json({ error: { code, message } }, status, status === 401 ? { 'www-authenticate': 'Bearer' } : {});
  });
  return api;
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
