import { describe, expect, it } from 'vitest';
import { EphError, type ErrorCode, errorCodes, failure, isEphError, toFailure } from './errors.ts';

const codes = Object.keys(errorCodes) as ErrorCode[];

describe('an error', () => {
  it.each(codes)('%s says what happens next', (code) => {
    const { disposition } = new EphError(code, 'it went wrong');
    expect(['retry', 'wait', 'stall', 'bug']).toContain(disposition);
    expect(failure(code, 'it went wrong')).toEqual({ code, message: 'it went wrong', disposition });
  });

  it.each(codes)('%s is a noun and what became of it', (code) => {
    expect(code).toMatch(/^(internal|[a-z]+\.[a-z_]+)$/);
  });

  it('keeps its cause and the time to wait', () => {
    const cause = new Error('ECONNRESET');
    const error = new EphError('forge.unreachable', 'no answer', { cause, retryAfterMs: 5000 });
    expect(error.cause).toBe(cause);
    expect(toFailure(error)).toEqual({
      code: 'forge.unreachable',
      message: 'no answer',
      disposition: 'retry',
      retryAfterMs: 5000,
    });
  });

  it('holds no secret, not even while it is thrown', () => {
    expect(new EphError('forge.refused', 'clone https://ann:s3cret@host/x').message).toBe('clone https://***@host/x');
    expect(failure('forge.refused', 'clone https://ann:s3cret@host/x').message).toBe('clone https://***@host/x');
    expect(toFailure(new Error('clone https://ann:s3cret@host/x')).message).toBe('Error: clone https://***@host/x');
  });

  it('is recognised when it comes from another copy of the module', () => {
    const foreign = Object.assign(new Error('no answer'), { [Symbol.for('eph.error')]: true, code: 'forge.unreachable' });
    expect(isEphError(foreign)).toBe(true);
    expect(toFailure(foreign)).toEqual({ code: 'forge.unreachable', message: 'no answer', disposition: 'retry' });
  });

  it.each([undefined, null, 'text', 7, {}, new Error('plain'), { code: 'forge.unreachable' }])(
    'is nothing else: %j',
    (thrown) => {
      expect(isEphError(thrown)).toBe(false);
    },
  );
});

describe('what nobody foresaw', () => {
  it.each<readonly [string, unknown, string]>([
    ['an error', new RangeError('too far'), 'RangeError: too far'],
    ['a string', 'oops', 'thrown: oops'],
    ['nothing', undefined, 'thrown: undefined'],
    ['null', null, 'thrown: null'],
    ['a symbol', Symbol('odd'), 'thrown: Symbol(odd)'],
    ['an object', { a: 1 }, 'thrown: [object Object]'],
    ['an object that is not printable', Object.create(null), 'thrown: [object Object]'],
  ])('is a bug, also when %s was thrown', (_, thrown, message) => {
    expect(toFailure(thrown)).toEqual({ code: 'internal', message, disposition: 'bug' });
  });

  it('is shown shortened when it is long', () => {
    const { message } = toFailure(new Error('long '.repeat(10_000)));
    expect(message).toHaveLength(2000);
    expect(message.endsWith('…')).toBe(true);
  });
});
