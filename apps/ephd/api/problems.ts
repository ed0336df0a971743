import {
  type Disposition,
  type ErrorCode,
  hints,
  type Problem,
  type ProblemStatus,
  problemTitles,
  toFailure,
} from '@eph/contract';

/** Where the disposition alone does not say it. */
const statusOf: Partial<Record<ErrorCode, ProblemStatus>> = {
  'api.not_found': 404,
  'api.method_not_allowed': 405,
  'api.bad_request': 400,
  'api.forbidden': 403,
  'api.unauthorized': 401,
  'api.too_large': 413,
  'api.too_many': 429,
  'forge.refused': 502,
};

const statusOfDisposition: { readonly [disposition in Disposition]: ProblemStatus | 500 } = {
  retry: 503,
  wait: 503,
  stall: 409,
  bug: 500,
};

/** What a client gets for an error. */
export const describeProblem = (
  error: unknown,
  requestId: string,
): {
  readonly status: ProblemStatus | 500;
  readonly problem: Problem;
  /** When it may help to ask again, if that is known. */
  readonly retryAfterMs?: number | undefined;
} => {
  const { code, message, disposition, retryAfterMs } = toFailure(error);
  const status = statusOf[code] ?? statusOfDisposition[disposition];
  const hint = hints[code];
  const title = status === 500 ? 'Failed' : problemTitles[status];
  const problem = {
    type: 'about:blank',
    title,
    status,
    detail: message,
    code,
    ...(hint !== null && { hint }),
    requestId,
  } as const;
  if (status === 429) return { status, problem, retryAfterMs: retryAfterMs ?? 1_000 };
  return { status, problem, ...(status === 503 && { retryAfterMs }) };
};
