import { describe, expect, it } from 'vitest';
import { computeEtag, isKnown } from './etag.ts';

const etag = computeEtag(Buffer.from('{"environments":[]}'));

describe('a tag', () => {
  it('is the same for the same answer only', () => {
    expect(etag).toMatch(/^"[\w-]{27}"$/);
    expect(computeEtag(Buffer.from('{"environments":[]}'))).toBe(etag);
    expect(computeEtag(Buffer.from('{"environments":[ ]}'))).not.toBe(etag);
  });

  it.each([
    [etag, true],
    [`W/${etag}`, true],
    [`"other", ${etag}`, true],
    [`"other",W/${etag} , "another"`, true],
    [' * ', true],
    [undefined, false],
    ['', false],
    ['"other"', false],
    ['"*"', false],
    [etag.slice(1, -1), false],
    [`"${etag}`, false],
    [`"a, ${etag.slice(1)}`, false],
  ])('is among %s: %s', (header, expected) => {
    expect(isKnown(etag, header)).toBe(expected);
  });
});
