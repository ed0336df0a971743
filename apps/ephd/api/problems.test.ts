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
    ['provider.unreachable', 503],
    ['spec.invalid', 409],
    ['forge.refused', 502],
    ['api.bad_request', 400],
  ] as const)('has a status that says who can help: %s, %i', (code, status) => {
    expect(describeProblem(new EphError(code, ''), '').status).toBe(status);
  });
});
