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
  'feature.unavailable': 501,
  'isolation.missing': 501,
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
): { readonly status: ProblemStatus | 500; readonly problem: Problem } => {
  const { code, message, disposition } = toFailure(error);
  const status = statusOf[code] ?? statusOfDisposition[disposition];
  const hint = hints[code];
  const title = status === 500 ? 'Failed' : problemTitles[status];
  return {
    status,
    problem: { type: 'about:blank', title, status, detail: message, code, ...(hint !== null && { hint }), requestId },
  };
};
