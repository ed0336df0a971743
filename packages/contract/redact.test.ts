import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { redact, registerSecret } from './redact.ts';

const token = `ghp_${'a1B2'.repeat(9)}`;

describe('text on its way to people', () => {
  it.each([
    [
      'a password in an address',
      'fatal: https://ann:s3cret@git.example.com/shop.git not found',
      'fatal: https://***@git.example.com/shop.git not found',
    ],
    ['a password that holds an @', 'postgres://ann:s3@cret@db/shop', 'postgres://***@db/shop'],
    ['a token in place of a name', 'https://s3cret@git.example.com', 'https://***@git.example.com'],
    ['two addresses', 'a://u:p@h and b://v:q@i', 'a://***@h and b://***@i'],
    ['a header', 'Authorization: Bearer abc.def-ghi', 'Authorization: Bearer ***'],
    ['a header in JSON', '{"authorization":"Basic YW5uOnMzY3JldA=="}', '{"authorization":"Basic ***"}'],
    ['a query', 'GET /x?page=2&access_token=abc&sort=up', 'GET /x?page=2&access_token=***&sort=up'],
    ['a signed address', 'https://store/x?X-Amz-Signature=abc&y=1', 'https://store/x?X-Amz-Signature=***&y=1'],
    ['a GitHub token', `push with ${token} refused`, 'push with *** refused'],
    ['a GitHub token inside a word', `x${token}_y`, 'x***_y'],
    ['a fine-grained GitHub token', `github_pat_${'a_1'.repeat(10)}`, '***'],
    ['a GitLab token', `glpat-${'x-1'.repeat(8)}`, '***'],
  ])('loses %s', (_, text, expected) => {
    expect(redact(text)).toBe(expected);
  });

  it.each([
    'fatal: https://git.example.com/shop.git not found',
    'write to ann@example.com',
    'branch key=value does not exist',
    'token of the lease',
    'bearer of bad news',
    'authorization is not configured',
  ])('otherwise stays as it is: %s', (text) => {
    expect(redact(text)).toBe(text);
  });

  it('never shows a registered value, wherever it stands', () => {
    const secret = '$& s3cret (value) .*';
    registerSecret(secret);
    fc.assert(fc.property(fc.string(), fc.string(), (before, after) => !redact(`${before}${secret}${after}`).includes(secret)));
  });

  it('leaves no rest of a secret that begins with another one', () => {
    registerSecret('correct horse');
    registerSecret('correct horse battery');
    registerSecret('correct');
    expect(redact('it is correct horse battery')).toBe('it is ***');
  });

  it('does not blank out short words', () => {
    registerSecret('main');
    expect(redact('branch main')).toBe('branch main');
  });

  it('is the same however often it passes', () => {
    const piece = fc.oneof(
      fc.string(),
      fc.constantFrom('https://', 'u:p@', '?token=', '&key=x', 'authorization: bearer ', token, ' '),
    );
    fc.assert(
      fc.property(fc.array(piece), (pieces) => {
        const once = redact(pieces.join(''));
        expect(redact(once)).toBe(once);
      }),
    );
  });

  it.each(['a.', 'a://', '://', '?', '&key', 'authorization ', 'authorization:', '@', 'ghp_', ' '])(
    'is quick about a megabyte of %j',
    { timeout: 10_000 },
    (piece) => {
      const text = piece.repeat(1_000_000 / piece.length);
      expect(redact(text).length).toBeGreaterThan(0);
    },
  );
});
