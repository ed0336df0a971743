import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { redact, redactFields, registerSecret } from './redact.ts';

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
    ['a token of eph', `eph_${'eyJ'.repeat(8)}.${'a-'.repeat(10)}.${'b_'.repeat(10)}`, '***'],
    ['a session of eph', `ephs_${'a-'.repeat(20)}`, '***'],
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

  it.each([
    ['quotes', 'she said "s3cret-word"\\'],
    ['signs of an address', 's3cret/with+signs&more=1 ü'],
    ['a line break', 's3cret first line\ns3cret second line'],
  ])('never shows a registered value with %s as JSON, addresses or Base64 write it', (_, secret) => {
    registerSecret(secret);
    const base64 = ['', 'a', 'ab', 'abc', 'user:'].map((before) => Buffer.from(`${before}${secret}`).toString('base64'));
    const forms = [
      JSON.stringify({ a: [secret] }),
      `{"nested":${JSON.stringify(JSON.stringify({ a: 1 }))},"b":"${encodeURIComponent(secret)}"}`,
      `?q=${new URLSearchParams({ q: secret.replaceAll('*', '') }).toString()}`,
      ...base64,
      ...base64.map((text) => text.replaceAll('+', '-').replaceAll('/', '_').replaceAll('=', '')),
    ];
    for (const form of forms) {
      const left = redact(form);
      expect(left).toContain('***');
      expect(left).not.toContain('s3cret');
      // Of the first and last group some bits belong to what is around.
      expect(left.length).toBeLessThan(form.length - secret.length / 2);
    }
  });

  it('shows no line of a key, but the lines that every key has', () => {
    const body = ['MIIEvQIBADANBgkqhkiG9w0BAQEFAASC', 'BKcwggSjAgEAAoIBAQC7/+Gh4k2x9pQr', 'c2hvcnQ='];
    const key = `-----BEGIN PRIVATE KEY-----\n${body.join('\n')}\n-----END PRIVATE KEY-----\n`;
    registerSecret(key);
    for (const line of body) expect(redact(`line 2 is invalid: ${line}`)).toBe('line 2 is invalid: ***');
    expect(redact(encodeURIComponent(body[1] ?? ''))).toBe('***');
    const marker = 'expected -----BEGIN PRIVATE KEY----- first';
    expect(redact(marker)).toBe(marker);
    expect(redact(key.replaceAll('\n', '\r\n'))).not.toMatch(/MII|BKc|c2h/);
  });

  it.each([
    ['{"url":"https://git.example.com","by":"ann@example.com"}'],
    ["{'url':'https://git.example.com','by':'ann@example.com'}"],
    ['{"page":"/x?a","b":"key=1"}'],
  ])('keeps what is beyond a closing quote: %s', (text) => {
    expect(redact(text)).toBe(text);
  });

  it('keeps the fields after a secret', () => {
    expect(redact('{"url":"/x?password=abc","state":"ready"}')).toBe('{"url":"/x?password=***","state":"ready"}');
    expect(redact(`curl -H 'Authorization: Bearer abc' "https://u:p@h/x"`)).toBe(
      `curl -H 'Authorization: Bearer ***' "https://***@h/x"`,
    );
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

describe('data on its way to people', () => {
  it('loses secrets in every field, however deep, and keeps its shape', () => {
    registerSecret('deep "quoted" secret');
    const data = {
      list: ['deep "quoted" secret', 7, null, { more: 'is deep "quoted" secret' }],
      'deep "quoted" secret': true,
      headers: { authorization: 'Basic YW5uOnB3', 'x-api-key': 'abc', accept: 'text/html' },
      url: 'https://a.example',
      mail: 'ann@example.com',
      tokens: 3,
      at: new Date(0),
      page: new URL('https://ann:pw@a.example'),
    };
    expect(redactFields(data)).toEqual({
      list: ['***', 7, null, { more: 'is ***' }],
      '***': true,
      headers: { authorization: '***', 'x-api-key': '***', accept: 'text/html' },
      url: 'https://a.example',
      mail: 'ann@example.com',
      tokens: 3,
      at: new Date(0),
      page: 'https://***@a.example/',
    });
  });

  it('ends, also where it contains itself', () => {
    const circle: Record<string, unknown> = { name: 'circle' };
    circle['self'] = circle;
    expect(JSON.stringify(redactFields(circle))).toContain('…');
  });

  it('shows what an error says, without its secrets', () => {
    registerSecret('in-an-error-message');
    const failed = new Error('refused: in-an-error-message', { cause: 'x' });
    expect(redactFields({ failed })).toMatchObject({ failed: { message: 'refused: ***' } });
    expect(JSON.stringify(redactFields({ failed }))).not.toContain('in-an-error');
  });
});
