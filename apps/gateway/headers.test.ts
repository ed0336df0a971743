import { describe, expect, it } from 'vitest';
import { computeRequestHeaders, computeResponseHeaders, computeTrailers } from './headers.ts';

/** `Name: value` lines as the flat list Node and undici use. */
const list = (...lines: readonly string[]): string[] =>
  lines.flatMap((line) => [line.slice(0, line.indexOf(':')), line.slice(line.indexOf(':') + 2)]);

const facts = { host: 'shop.localhost:8080', clientAddress: '127.0.0.1', connection: undefined };
const own = ['x-forwarded-for: 127.0.0.1', 'x-forwarded-host: shop.localhost:8080', 'x-forwarded-proto: http'];

describe('headers on their way to the upstream', () => {
  it('keep their spelling, order and repetition, with the host first', () => {
    const raw = list('Accept: */*', 'Host: shop.localhost:8080', 'X-Tag: one', 'X-Tag: two', 'X-Eph-Environment: shop');
    expect(computeRequestHeaders(raw, facts)).toEqual(
      list('host: shop.localhost:8080', 'Accept: */*', 'X-Tag: one', 'X-Tag: two', 'X-Eph-Environment: shop', ...own),
    );
  });

  it.each([
    'Connection: close',
    'KEEP-ALIVE: timeout=5',
    'Proxy-Authorization: Basic abc',
    'Proxy-Connection: keep-alive',
    'TE: trailers',
    'trailer: X-Sum',
    'Transfer-Encoding: chunked',
    'Upgrade: h2c',
    'Expect: 100-continue',
    'Forwarded: for=evil',
    'X-Forwarded-Host: evil',
    'X-Forwarded-Proto: https',
    'X-Forwarded-Port: 1',
    'X-Forwarded-Prefix: /evil',
  ])('lose %j', (line) => {
    expect(computeRequestHeaders(list('X-Kept: 1', line), facts)).toEqual(list('host: shop.localhost:8080', 'X-Kept: 1', ...own));
  });

  it('lose what the client names in Connection, but never the host', () => {
    const raw = list('Host: shop.localhost:8080', 'X-Private: a', 'X-Public: b');
    const headers = computeRequestHeaders(raw, { ...facts, connection: 'Keep-Alive, X-Private ,host' });
    expect(headers).toEqual(list('host: shop.localhost:8080', 'X-Public: b', ...own));
  });

  it('carry every address the request came by', () => {
    const raw = list('X-Forwarded-For: 10.0.0.9', 'x-forwarded-for: 10.0.0.8');
    const headers = computeRequestHeaders(raw, { ...facts, clientAddress: '::ffff:127.0.0.1' });
    expect(headers).toEqual(list('host: shop.localhost:8080', 'x-forwarded-for: 10.0.0.9, 10.0.0.8, 127.0.0.1', ...own.slice(1)));
  });

  it('are refused when they name two hosts', () => {
    expect(computeRequestHeaders(list('Host: a.localhost', 'host: b.localhost'), facts)).toBeUndefined();
  });
});

describe('headers on their way to the client', () => {
  it('keep repeated values apart and ask robots to stay away', () => {
    const received = { 'content-type': 'text/plain', 'set-cookie': ['a=1', 'b=2'], 'x-robots-tag': 'all' };
    expect(computeResponseHeaders(received, 'shop.localhost:8080')).toEqual(
      list('content-type: text/plain', 'set-cookie: a=1', 'set-cookie: b=2', 'x-robots-tag: noindex'),
    );
  });

  it('lose what belongs to the connection and what Connection names', () => {
    const received = { connection: ['close', 'X-Hop'], 'x-hop': '1', 'keep-alive': 'timeout=5', 'transfer-encoding': 'chunked' };
    expect(computeResponseHeaders({ ...received, etag: 'e' }, '')).toEqual(list('etag: e', 'x-robots-tag: noindex'));
  });

  const cookieFor = (cookie: string, host = 'shop.preview.example.com:8080'): string | undefined =>
    computeResponseHeaders({ 'set-cookie': cookie }, host)[1];

  it.each([
    ['a=1; Domain=preview.example.com', 'a=1'],
    ['a=1; Domain=example.com; Path=/; Secure', 'a=1; Path=/; Secure'],
    ['a=1;DOMAIN=.Example.com;HttpOnly', 'a=1;HttpOnly'],
    ['a=1; Path=/;  domain \t= example.com. ;SameSite=Lax', 'a=1; Path=/;SameSite=Lax'],
    ['a=1; Domain=com', 'a=1'],
    ['a=1; Domain=shop.preview.example.com; Domain=example.com', 'a=1; Domain=shop.preview.example.com'],
    ['a="x; y"; Domain=example.com;  Max-Age=5 ; ', 'a="x; y";  Max-Age=5 ; '],
    ['a=1; Domain=%65xample.com', 'a=1'],
    ['a=1; Domain="example.com"', 'a=1'],
  ])('lose a wider domain: %j', (cookie, expected) => {
    expect(cookieFor(cookie)).toBe(expected);
    expect(cookieFor(cookie, 'SHOP.Preview.Example.Com.')).toBe(expected);
    expect(cookieFor(cookie, 'shop.preview.example.com')).toBe(expected);
  });

  it.each([
    'a=1',
    'domain=example.com; Path=/',
    'a=domain=example.com',
    'a=1; Domain=shop.preview.example.com; Path=/',
    'a=1; Domain=.SHOP.preview.example.com',
    'a=1; Domain=other.preview.example.com',
    'a=1; Domain=ample.com',
    'a=1; Domain=; Path=/',
    'a=1; Domain',
    'a=1; Domains=example.com',
    'a=1;  Path=/ ;; HttpOnly',
  ])('keep the cookie %j as it is', (cookie) => {
    expect(cookieFor(cookie)).toBe(cookie);
  });

  it('carry no framing in trailers', () => {
    const received = { 'x-sum': '1', 'x-many': ['a', 'b'], 'content-length': '5', 'transfer-encoding': 'chunked' };
    expect(computeTrailers(received)).toEqual([
      ['x-sum', '1'],
      ['x-many', 'a'],
      ['x-many', 'b'],
    ]);
  });
});
