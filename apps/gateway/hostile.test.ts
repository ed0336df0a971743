import type { Server } from 'node:net';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { createGateway, type Gateway } from './gateway.ts';
import { createFakeRoutes } from './routes.fake.ts';
import { type FakeUpstream, startTcpUpstream } from './upstream.fake.ts';
import { sendRaw } from './visitor.fake.ts';

/** Every byte that the upstream receives. */
let upstreamHeard: string;
let upstream: FakeUpstream<Server>;
let gateway: Gateway;

beforeEach(async () => {
  upstreamHeard = '';
  upstream = await startTcpUpstream((socket) => {
    socket.on('data', (chunk: Buffer) => {
      upstreamHeard += chunk.toString('latin1');
      socket.write('HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok');
    });
  });
  gateway = await createGateway({ routes: createFakeRoutes({ shop: upstream.route('shop') }), port: 0, headTimeoutMs: 300 });
});

afterEach(async () => {
  await gateway.close();
  await upstream.stop();
});

const send = (...lines: readonly string[]): Promise<string> => sendRaw(gateway.port, lines.join('\r\n'));

describe('a request that could be read in two ways', () => {
  it.each([
    [
      'both framings',
      ['POST / HTTP/1.1', 'Host: shop.localhost', 'Content-Length: 5', 'Transfer-Encoding: chunked', '', '0', '', ''],
    ],
    [
      'both framings, the other way round',
      ['POST / HTTP/1.1', 'Host: shop.localhost', 'Transfer-Encoding: chunked', 'Content-Length: 5', '', '0', '', ''],
    ],
    ['two lengths', ['POST / HTTP/1.1', 'Host: shop.localhost', 'Content-Length: 5', 'Content-Length: 6', '', 'hello!']],
    ['a length that is no number', ['POST / HTTP/1.1', 'Host: shop.localhost', 'Content-Length: +5', '', 'hello']],
    ['a framing nobody knows', ['POST / HTTP/1.1', 'Host: shop.localhost', 'Transfer-Encoding: xchunked', '', '0', '', '']],
    ['chunked, but not last', ['POST / HTTP/1.1', 'Host: shop.localhost', 'Transfer-Encoding: chunked, gzip', '', '0', '', '']],
    ['a blank before the colon', ['POST / HTTP/1.1', 'Host: shop.localhost', 'Transfer-Encoding : chunked', '', '0', '', '']],
    ['a folded header', ['GET / HTTP/1.1', 'Host: shop.localhost', 'X-A: b', ' Transfer-Encoding: chunked', '', '']],
    ['two hosts', ['GET / HTTP/1.1', 'Host: shop.localhost', 'Host: shop.localhost', 'Connection: close', '', '']],
    ['no host', ['GET / HTTP/1.1', 'Connection: close', '', '']],
    ['a bare line feed in a header', ['GET / HTTP/1.1', 'Host: shop.localhost', 'X-A: b\nX-C: d', 'Connection: close', '', '']],
    ['a carriage return in a header', ['GET / HTTP/1.1', 'Host: shop.localhost', 'X-A: b\rX-C: d', 'Connection: close', '', '']],
    ['a zero byte', ['GET / HTTP/1.1', 'Host: shop.localhost', 'X-A: b\0c', 'Connection: close', '', '']],
    ['a target that is none', ['GET shop.localhost HTTP/1.1', 'Host: shop.localhost', 'Connection: close', '', '']],
    ['a target for a server', ['OPTIONS * HTTP/1.1', 'Host: shop.localhost', 'Connection: close', '', '']],
    ['another scheme', ['GET https://shop.localhost/ HTTP/1.1', 'Host: shop.localhost', 'Connection: close', '', '']],
    [
      'a chunk that is longer than it says',
      ['POST / HTTP/1.1', 'Host: shop.localhost', 'Transfer-Encoding: chunked', '', '1', 'hello', '0', '', ''],
    ],
  ])('is refused: %s', async (_, lines) => {
    expect(await send(...lines)).toMatch(/^HTTP\/1\.1 400 /);
    expect(upstreamHeard).not.toMatch(/Transfer-Encoding|X-C|hello/i);
  });

  it('with a body and another request behind it stays two requests', async () => {
    const smuggled = 'GET /smuggled HTTP/1.1\r\nHost: nobody.localhost\r\nConnection: close\r\n\r\n';
    const answer = await send('POST / HTTP/1.1', 'Host: shop.localhost', 'Content-Length: 5', '', `hello${smuggled}`);
    expect(answer.match(/HTTP\/1\.1 \d+/g)).toEqual(['HTTP/1.1 200', 'HTTP/1.1 404']);
    expect(upstreamHeard).not.toContain('smuggled');
  });

  it('with a body in chunks is passed on in chunks of our own', async () => {
    const head = ['POST / HTTP/1.1', 'Host: shop.localhost', 'Transfer-Encoding: chunked', 'Connection: close'];
    await send(...head, '', '5;evil=1', 'hello', '0', 'X-Trailer: 1', '', '');
    expect(upstreamHeard).toMatch(/\r\ntransfer-encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n$/);
  });
});

describe('a hostile host', () => {
  it.each([
    'shop.localhost@evil.example',
    'evil.example#shop.localhost',
    'shop.localhost/../admin',
    'shop.localhost:80:80',
    'shop.localhost%00',
    'shop.localhost, blog.localhost',
    '[::1]',
    '__proto__.localhost',
    'constructor.localhost',
    '%73hop.localhost',
    '*',
    '',
  ])('is nobody: %j', async (host) => {
    const answer = await send('GET / HTTP/1.1', `Host: ${host}`, 'Connection: close', '', '');
    expect(answer).toMatch(/^HTTP\/1\.1 404 /);
    expect(upstreamHeard).toBe('');
  });
});

describe('a hostile client', () => {
  it('does not get through with CONNECT', async () => {
    const answer = await send('CONNECT shop.localhost:80 HTTP/1.1', 'Host: shop.localhost', '', '');
    expect(answer).not.toMatch(/^HTTP\/1\.1 2/);
    expect(upstreamHeard).toBe('');
  });

  it('cannot take forever to send the head of a request', async () => {
    expect(await send('GET / HTTP/1.1', 'Host: shop.localhost', 'X-Slow')).toMatch(/^HTTP\/1\.1 408 /);
  });

  it('cannot send too many headers', async () => {
    const answer = await send('GET / HTTP/1.1', 'Host: shop.localhost', `X-Long: ${'a'.repeat(100_000)}`, '', '');
    expect(answer).toMatch(/^HTTP\/1\.1 431 /);
    expect(upstreamHeard).toBe('');
  });

  it('cannot have headers taken away that the gateway sets', async () => {
    await send('GET / HTTP/1.1', 'Host: shop.localhost', 'Connection: close, Host, X-Forwarded-For, X-Forwarded-Host', '', '');
    expect(upstreamHeard).toMatch(/\r\nhost: shop\.localhost\r\n/);
    expect(upstreamHeard).toMatch(/\r\nx-forwarded-for: 127\.0\.0\.1\r\n/);
    expect(upstreamHeard).toMatch(/\r\nx-forwarded-host: shop\.localhost\r\n/);
  });

  it('cannot pass on what was meant for the gateway', async () => {
    const lines = [
      'Connection: close, X-Hop',
      'X-Hop: 1',
      'Keep-Alive: 1',
      'TE: trailers',
      'Proxy-Authorization: secret',
      'Upgrade: h2c',
    ];
    await send('GET / HTTP/1.1', 'Host: shop.localhost', ...lines, '', '');
    expect(upstreamHeard).toMatch(/^GET \/ HTTP\/1\.1\r\n/);
    expect(upstreamHeard).not.toMatch(/x-hop|keep-alive: 1|\r\nte:|secret|h2c/i);
  });
});
