import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { dnsLabel } from '../ids.ts';
import { toDatabaseName, toDnsLabel, toDnsName, toImageName, toImageTag, toPath, toTagPattern } from './sanitize.ts';

const forms: readonly [string, (text: string) => string, RegExp, number][] = [
  ['a DNS label', toDnsLabel, dnsLabel, 63],
  ['a DNS name', toDnsName, /^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?(\.[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?)*$/, 253],
  ['an image tag', toImageTag, /^\w[\w.-]*$/, 128],
  ['a pattern of tags', toTagPattern, /^[\w*?][\w.*?-]*$/, 128],
  [
    'an image name',
    toImageName,
    /^([a-z0-9-]+(\.[a-z0-9-]+)*(:\d{1,5})?\/)?[a-z0-9]+((\.|_|__|-+)[a-z0-9]+)*(\/[a-z0-9]+((\.|_|__|-+)[a-z0-9]+)*)*$/,
    255,
  ],
  ['a database name', toDatabaseName, /^[a-z_][a-z0-9_]*$/, 63],
  ['a path', toPath, /^(\/|\/?(?!\.{1,}(\/|$))[\w.~-]+(\/(?!\.{1,}(\/|$))[\w.~-]+)*)$/, 1024],
];

/** Text as strangers write it: every kind of character, and the ones that mean something more often. */
const anyText = fc.oneof(
  fc.string({ unit: 'binary', maxLength: 400 }),
  fc.string({
    unit: fc.constantFrom('a', 'B', '7', '.', '/', '-', '_', ':', '*', '?', '~', '@', '%', ' ', 'ü', '日'),
    maxLength: 400,
  }),
  fc.array(fc.string({ maxLength: 80 }), { maxLength: 30 }).map((parts) => parts.join('.')),
  fc.array(fc.string({ maxLength: 80 }), { maxLength: 30 }).map((parts) => parts.join('/')),
);

describe.each(forms)('%s from any text', (_, sanitize, form, limit) => {
  it('is one, within its limit', () => {
    fc.assert(
      fc.property(anyText, (text) => {
        expect(sanitize(text)).toMatch(form);
        expect(sanitize(text).length).toBeLessThanOrEqual(limit);
      }),
      { numRuns: 2_000 },
    );
  });

  it('is the same for the same text, and stays as it is when it is one already', () => {
    fc.assert(
      fc.property(anyText, (text) => {
        expect(sanitize(text)).toBe(sanitize(text));
        expect(sanitize(sanitize(text))).toBe(sanitize(text));
      }),
    );
  });

  it('differs for texts that differ only where they are cut off', () => {
    const start = 'x'.repeat(60);
    const long = Array.from('abcdefgh').map((end) => sanitize(`${`${start}.`.repeat(30)}${end}`));
    expect(new Set(long).size).toBe(long.length);
    fc.assert(
      fc.property(fc.stringMatching(/^[a-z0-9]{1030,1100}$/), fc.stringMatching(/^[a-z0-9]{1,40}$/), (text, more) => {
        expect(sanitize(text)).not.toBe(sanitize(`${text}${more}`));
      }),
    );
  });

  it('differs for texts of letters it cannot show', () => {
    expect(new Set(['日本', '中国', '🚢', ''].map(sanitize)).size).toBe(4);
  });

  it.each(['-', '.', '/', '_', '~', 'a-', './', '-._', '日', 'ü'])('takes no long time for many %j', (unit) => {
    expect(sanitize(`a${unit.repeat(100_000)}`).length).toBeLessThanOrEqual(limit);
    expect(sanitize(`${unit.repeat(100_000)}a`).length).toBeLessThanOrEqual(limit);
  });
});

describe('a text', () => {
  it.each([
    ['feature/Login-Page', 'feature-login-page'],
    ['--a__b--', 'a-b'],
    ['release/v1.2.3', 'release-v1-2-3'],
    ['xn--80ak6aa92e', 'xn-80ak6aa92e'],
    ['preview/../../etc', 'preview-etc'],
    ['shop.evil.com', 'shop-evil-com'],
    ['Überraschung', 'uberraschung'],
    ['a'.repeat(63), 'a'.repeat(63)],
  ])('%j becomes the DNS label %j', (text, label) => {
    expect(toDnsLabel(text)).toBe(label);
  });

  it('with letters that a DNS label cannot show gets a digest behind the others', () => {
    expect(toDnsLabel('feature/日本')).toMatch(/^feature-[a-z0-9]{8,14}$/);
    expect(toDnsLabel('feature/日本')).not.toBe(toDnsLabel('feature/中国'));
  });

  it.each([
    ['Shop.Preview.Example.com', 'shop.preview.example.com'],
    ['..a..b_c.', 'a.b-c'],
    ['localhost', 'localhost'],
  ])('%j becomes the DNS name %j', (text, name) => {
    expect(toDnsName(text)).toBe(name);
  });

  it('that is too long for a DNS name keeps the domain at its end', () => {
    const name = toDnsName(`${`${'x'.repeat(60)}.`.repeat(5)}preview.example.com`);
    expect(name).toMatch(/^x+-[a-z0-9]+\..*\.preview\.example\.com$/);
  });

  it.each([
    ['branch-feature/Login-abc1234', 'branch-feature-Login-abc1234'],
    ['v1.0.0', 'v1.0.0'],
    ['.-x', 'x'],
  ])('%j becomes the image tag %j', (text, tag) => {
    expect(toImageTag(text)).toBe(tag);
  });

  it.each([
    ['ghcr.io/MyOrg/api', 'ghcr.io/myorg/api'],
    ['localhost:5000/shop/web', 'localhost:5000/shop/web'],
    ['shop//my__app/x..y', 'shop/my__app/x-y'],
    ['shop:latest', 'shop-latest'],
    ['-/Localhost/web', 'localhost/web'],
    ['日/ghcr.io/web', 'ghcr.io/web'],
  ])('%j becomes the image name %j', (text, name) => {
    expect(toImageName(text)).toBe(name);
  });

  it.each([
    ['app_pr_12', 'app_pr_12'],
    ['App-Feature/X', 'app_feature_x'],
    ['12', '_12'],
  ])('%j becomes the database name %j', (text, name) => {
    expect(toDatabaseName(text)).toBe(name);
  });

  it.each([
    ['/preview/shop-1', '/preview/shop-1'],
    ['secret/data/../../root', 'secret/data/root'],
    ['secret//./．．/a b', 'secret/a-b'],
    ['/', '/'],
  ])('%j becomes the path %j', (text, path) => {
    expect(toPath(text)).toBe(path);
  });
});
