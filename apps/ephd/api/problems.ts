import { type ErrorCode, hints, type Problem, toFailure } from '@eph/contract';
import type { ContentfulStatusCode } from 'hono/utils/http-status';

const statusOf: Partial<Record<ErrorCode, ContentfulStatusCode>> = {
  'api.not_found': 404,
  'api.bad_request': 400,
  'api.conflict': 409,
  'api.forbidden': 403,
  'api.unauthorized': 401,
  'api.standby': 503,
  'api.starting': 503,
  'api.too_large': 413,
  'api.too_many': 429,
  'feature.unavailable': 501,
  'isolation.missing': 501,
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
  429: 'Too many requests',
  501: 'Not possible here',
  502: 'Refused elsewhere',
  503: 'Not available now',
};

/** What a client gets for an error. */
export const describeProblem = (
  error: unknown,
  requestId: string,
): { readonly status: ContentfulStatusCode; readonly problem: Problem } => {
  const { code, message } = toFailure(error);
  const status = statusOf[code] ?? 500;
  const hint = hints[code];
  const title = titles[status] ?? 'Failed';
  return { status, problem: { type: 'about:blank', title, status, detail: message, code, ...(hint && { hint }), requestId } };
};
