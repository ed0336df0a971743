import { describe, expect, it } from 'vitest';
import { checkOrigin, createOriginRules, listenedUrl, type OriginRules, type Sender } from './origin.ts';

const plain = { host: '127.0.0.1', tls: undefined, url: undefined, allowedOrigins: [] };
const local = createOriginRules(plain);
const files = { certificate: 'cert.pem', key: 'key.pem' };
const team = createOriginRules({
  host: '0.0.0.0',
  tls: files,
  url: 'https://eph.example.com',
  allowedOrigins: ['https://portal.example.com'],
});

const passes = (sender: Partial<Sender>, rules: OriginRules = local): boolean =>
  checkOrigin({ host: '127.0.0.1:7070', origin: undefined, site: undefined, ...sender }, rules).ok;

describe('Host', () => {
  it.each(['localhost', 'localhost:7070', 'LOCALHOST:1', '127.0.0.1', '127.0.0.1:80', '[::1]', '[::1]:7070'])(
    'may be %s',
    (host) => {
      expect([passes({ host }), passes({ host }, team)]).toEqual([true, true]);
    },
  );

  it.each([
    undefined,
    '',
    'evil.example',
    'localhost.evil.example',
    'shop.localhost:7070',
    'localhost@evil.example',
    'evil.example#localhost',
    'localhost:7070:1',
    'localhost:7070/x',
    'localhost, evil.example',
    '127.0.0.1.evil.example',
    '[::1',
    '[::2]',
    'eph.example.com',
  ])('may not be %j', (host) => {
    expect(passes({ host })).toBe(false);
  });

  it('may be that of the URL and the one that ephd listens on, and nothing near them', () => {
    const rules = createOriginRules({ ...plain, host: 'fd00::7', tls: files, url: 'https://eph.example.com:8443' });
    for (const host of ['eph.example.com', 'EPH.example.com:8443', '[fd00::7]:7070'])
      expect(passes({ host }, rules), host).toBe(true);
    for (const host of ['example.com', 'x.eph.example.com', 'eph.example.com.', '[fd00::8]'])
      expect(passes({ host }, rules), host).toBe(false);
  });
});

describe('a page', () => {
  it.each([
    ['http://127.0.0.1:7070', 'same-origin', true],
    [undefined, 'same-origin', true],
    [undefined, 'none', true],
    ['http://127.0.0.1:7070', undefined, true],
    [undefined, 'same-site', false],
    [undefined, 'cross-site', false],
    [undefined, '', false],
    [undefined, 'Same-Origin', false],
    ['http://127.0.0.1:7070', 'same-site', false],
    ['http://localhost:7070', 'same-origin', false],
    ['http://127.0.0.1:7080', undefined, false],
    ['http://shop.localhost:7080', undefined, false],
    ['https://127.0.0.1:7070', undefined, false],
    ['null', undefined, false],
    ['', undefined, false],
  ] as const)('with Origin %j and Sec-Fetch-Site %j: %s', (origin, site, isPassed) => {
    expect(passes({ origin, site })).toBe(isPassed);
  });

  it('is of the same origin over TLS only with https', () => {
    expect(passes({ origin: 'https://127.0.0.1:7070' }, team)).toBe(true);
    expect(passes({ origin: 'http://127.0.0.1:7070' }, team)).toBe(false);
  });

  it('at the URL of ephd passes behind a proxy, whether or not that keeps Host', () => {
    const rules = createOriginRules({ ...plain, url: 'https://eph.example.com' });
    for (const host of ['127.0.0.1:7070', 'eph.example.com'])
      expect(passes({ host, origin: 'https://eph.example.com', site: 'same-origin' }, rules), host).toBe(true);
    expect(passes({ origin: 'https://eph.example.com', site: 'same-site' }, rules)).toBe(false);
  });

  it('of an allowed origin passes from anywhere, and its origin is in the answer', () => {
    const sender = { host: 'eph.example.com', origin: 'https://portal.example.com', site: 'cross-site' };
    expect(checkOrigin(sender, team)).toEqual({ ok: true, origin: 'https://portal.example.com' });
    for (const origin of ['https://portal.example.com:8443', 'http://portal.example.com', 'https://x.portal.example.com'])
      expect(checkOrigin({ ...sender, origin }, team), origin).toMatchObject({ ok: false });
    expect(checkOrigin({ ...sender, host: 'evil.example' }, team)).toMatchObject({ ok: false });
    // An image or a script does not say where it is from.
    expect(checkOrigin({ ...sender, origin: undefined }, team)).toMatchObject({ ok: false });
  });
});

it('writes the address that ephd listens on', () => {
  expect([listenedUrl(plain, 7070), listenedUrl({ host: '::1', tls: files }, 443)]).toEqual([
    'http://127.0.0.1:7070',
    'https://[::1]:443',
  ]);
});
