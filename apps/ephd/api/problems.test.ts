import { EphError, errorCodes, problemSchema } from '@eph/contract';
import { describe, expect, it } from 'vitest';
import { describeProblem } from './problems.ts';

describe('the answer to an error', () => {
  it.each(Object.entries(errorCodes))('is a bug of ephd only for bugs: %s, %s', (code, disposition) => {
    const { status, problem } = describeProblem(new EphError(code as keyof typeof errorCodes, 'of the test'), 'request');
    expect(status === 500).toBe(disposition === 'bug');
    expect(problemSchema.parse(problem)).toMatchObject({ status, code, detail: 'of the test', requestId: 'request' });
  });

  it.each([
    ['forge.refused', 'An operator of ephd has to check'],
    ['api.not_found', '`eph list` shows'],
    ['access.unavailable', 'may be valid after ephd was started again'],
  ] as const)('says what to do about it: %s', (code, hint) => {
    expect(describeProblem(new EphError(code, ''), '').problem.hint).toContain(hint);
  });

  it('leaves that to its message where every message says it', () => {
    expect(describeProblem(new EphError('api.conflict', 'open a pull request'), '').problem).not.toHaveProperty('hint');
  });

  it.each([
    ['provider.unreachable', 503],
    ['spec.invalid', 409],
    ['forge.refused', 502],
    ['api.bad_request', 400],
  ] as const)('has a status that says who can help: %s, %i', (code, status) => {
    expect(describeProblem(new EphError(code, ''), '').status).toBe(status);
  });

  it.each([
    ['api.too_many', 1_500, 1_500],
    ['api.too_many', undefined, 1_000],
    ['forge.unreachable', 60_000, 60_000],
    ['forge.unreachable', undefined, undefined],
    ['forge.refused', 60_000, undefined],
  ] as const)('says when to ask again where that helps and is known: %s', (code, retryAfterMs, expected) => {
    expect(describeProblem(new EphError(code, '', { retryAfterMs }), '').retryAfterMs).toBe(expected);
  });
});
