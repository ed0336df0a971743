import { z } from 'zod';
import type { ErrorCode } from '../errors.ts';

/** Every error of the API, as `application/problem+json` (RFC 9457). */
export const problemSchema = z.object({
  type: z.literal('about:blank'),
  /** What the status means. */
  title: z.string(),
  status: z.number().int(),
  /** What is wrong. */
  detail: z.string(),
  /** Stable: for programs. */
  code: z.string(),
  /** What to do about it; absent where `detail` says all. */
  hint: z.string().exactOptional(),
  /** Names this request in the log of ephd. */
  requestId: z.string(),
});
export type Problem = z.output<typeof problemSchema>;

export const problemType = 'application/problem+json';

/** What the status of an error means. 500 is a bug of ephd and no part of the API. */
export const problemTitles = {
  400: 'Bad request',
  401: 'Not signed in',
  403: 'Not allowed',
  404: 'Not found',
  405: 'Method not allowed',
  409: 'Conflict',
  413: 'Too large',
  429: 'Too many requests',
  501: 'Not possible here',
  502: 'Refused elsewhere',
  503: 'Not available now',
} as const;
export type ProblemStatus = keyof typeof problemTitles;

export const hints: Partial<Record<ErrorCode, string>> = {
  'api.unauthorized': 'Sign in with `eph auth login`, or send `Authorization: Bearer` with a token.',
  'api.forbidden': 'Ask an administrator for the role. `eph auth why` says which rule decides.',
  'api.not_found': '`eph list` shows what there is and you may see.',
  'api.standby': 'Ask again soon, or ask the ephd that leads.',
  'api.starting': 'Ask again soon.',
  'api.stopping': 'Ask again soon.',
  'api.too_many': 'Wait for the seconds in `Retry-After`.',
  'store.unreachable': 'Ask again soon. Only history is missing; environments do not depend on it.',
  'access.unavailable': 'Ask again soon. Until a revocation has succeeded, its token may be valid after ephd was started again.',
  internal: 'Report it with the request id; the log of ephd has more.',
};
