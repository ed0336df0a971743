import { EphError, type Wish, type WishAnswer, wishSchema } from '@eph/contract';
import { Hono } from 'hono';
import { bodyLimit } from 'hono/body-limit';
import type { Unwished, Wishes } from './wishes.ts';

export interface WishRoutesOptions {
  readonly wishes: Wishes;
  /** By id, name or alias. Throws when there is none. */
  readonly find: (text: string) => Unwished;
}

const mostBytes = 16 * 1024;

const tooLarge = { error: { code: 'api.bad_request', message: `a wish has at most ${mostBytes} bytes` } };

/** `POST /environments` and `DELETE /environments/{id}[?force=true]`: answered once Git has it; the loop does the rest. */
export const createWishRoutes = ({ wishes, find }: WishRoutesOptions): Hono =>
  new Hono()
    .post('/environments', bodyLimit({ maxSize: mostBytes, onError: (c) => c.json(tooLarge, 413) }), async (c) => {
      const wish = parseWish(await c.req.text());
      return c.json((await wishes.bringUp(wish, c.req.raw.signal)) satisfies WishAnswer, 202);
    })
    .delete('/environments/:id', async (c) => {
      const { project, ref } = find(c.req.param('id'));
      const force = c.req.query('force') === 'true';
      return c.json((await wishes.takeDown({ project, ref }, force, c.req.raw.signal)) satisfies WishAnswer, 202);
    });

const parseWish = (text: string): Wish => {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    throw new EphError('api.bad_request', 'the body is not JSON', { cause: error });
  }
  const parsed = wishSchema.safeParse(value);
  if (parsed.success) return parsed.data;
  const issue = parsed.error.issues[0];
  const where = issue === undefined || issue.path.length === 0 ? '' : `${issue.path.join('.')}: `;
  throw new EphError('api.bad_request', `the wish cannot be understood: ${where}${issue?.message ?? 'unknown'}`);
};
