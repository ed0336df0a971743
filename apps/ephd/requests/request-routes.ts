import { type EnvironmentRequest, EphError, environmentRequestSchema, type RequestAnswer } from '@eph/contract';
import { Hono } from 'hono';
import { bodyLimit } from 'hono/body-limit';
import type { EnvironmentRequests, RemovalRequest } from './environment-requests.ts';

export interface RequestRoutesOptions {
  readonly requests: EnvironmentRequests;
  /** By id, name or alias. Throws when there is none. */
  readonly find: (text: string) => RemovalRequest;
}

const maxBytes = 16 * 1024;

const tooLarge = { error: { code: 'api.bad_request', message: `a request may have at most ${maxBytes} bytes` } };

/** `POST /environments` and `DELETE /environments/{id}[?force=true]`: answered once it is written to Git. */
export const createRequestRoutes = ({ requests, find }: RequestRoutesOptions): Hono =>
  new Hono()
    .post('/environments', bodyLimit({ maxSize: maxBytes, onError: (c) => c.json(tooLarge, 413) }), async (c) => {
      const request = parseRequest(await c.req.text());
      return c.json((await requests.bringUp(request, c.req.raw.signal)) satisfies RequestAnswer, 202);
    })
    .delete('/environments/:id', async (c) => {
      const { project, ref } = find(c.req.param('id'));
      const force = c.req.query('force') === 'true';
      return c.json((await requests.takeDown({ project, ref }, force, c.req.raw.signal)) satisfies RequestAnswer, 202);
    });

const parseRequest = (text: string): EnvironmentRequest => {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    throw new EphError('api.bad_request', 'the body is not JSON', { cause: error });
  }
  const parsed = environmentRequestSchema.safeParse(value);
  if (parsed.success) return parsed.data;
  const issue = parsed.error.issues[0];
  const where = issue === undefined || issue.path.length === 0 ? '' : `${issue.path.join('.')}: `;
  throw new EphError('api.bad_request', `the request is invalid: ${where}${issue?.message ?? 'unknown'}`);
};
