import { EphError, type ErrorCode, isEphError, toFailure } from '@eph/contract';
import { Hono } from 'hono';
import type { ContentfulStatusCode } from 'hono/utils/http-status';
import type { Logger } from 'pino';

const statusOf: Partial<Record<ErrorCode, ContentfulStatusCode>> = {
  'api.not_found': 404,
  'api.bad_request': 400,
  'api.conflict': 409,
  'api.forbidden': 403,
  'api.standby': 503,
  'store.unreachable': 503,
  'forge.unreachable': 503,
  'forge.incomplete': 503,
  'forge.refused': 502,
  'spec.unreadable': 503,
  'source.commit_missing': 503,
};

/** `root` is served at `/`, `v1` at `/api/v1`. */
export const createApi = ({ root, v1 }: Readonly<Record<'root' | 'v1', readonly Hono[]>>, log: Logger, version: string): Hono => {
  const api = new Hono();
  api.use(async (c, next) => {
    requireLocalCaller(c.req.header('host'), c.req.header('origin'));
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
    return c.json({ error: { code, message } }, status);
  });
  return api;
};

/**
 * There is no login yet, so only programs of this machine may use the API: ephd listens on loopback, and a web page in a browser
 * of this machine must not reach it through its own name (DNS rebinding) or by sending a form (cross-site requests).
 */
const requireLocalCaller = (host: string | undefined, origin: string | undefined): void => {
  if (!/^(localhost|127\.0\.0\.1|\[::1\])(:\d+)?$/i.test(host ?? ''))
    throw new EphError('api.forbidden', 'ephd answers only requests to localhost and 127.0.0.1');
  if (origin !== undefined && origin !== `http://${host}`)
    throw new EphError('api.forbidden', 'ephd does not answer requests from other sites');
};
