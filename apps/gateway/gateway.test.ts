import type { Server } from 'node:http';
import { environmentName } from '@eph/contract';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { createGateway, type Gateway, type GatewayOptions, type ServedRequest } from './gateway.ts';
import { createFakeRoutes, type FakeRoutes } from './routes.fake.ts';
import type { ClosedRoute } from './routes.ts';
import { type FakeUpstream, openRoute, startUpstream } from './upstream.fake.ts';
import { expectSoon, RawVisitor, sendRaw, visit } from './visitor.fake.ts';

const closedRoute: ClosedRoute = {
  state: 'closed',
  environment: environmentName('blog'),
  phase: 'Progressing',
  summary: '<b>web</b> is starting.',
  waitingFor: ['web answers at /health'],
};

let routes: FakeRoutes;
let seen: ServedRequest[];
let gateway: Gateway;
let shop: FakeUpstream<Server>;

const open = (options: Partial<GatewayOptions> = {}): Promise<Gateway> =>
  createGateway({ routes, port: 0, onRequest: (request) => seen.push(request), ...options });

beforeEach(async () => {
  seen = [];
  shop = await startUpstream((request, response) =>
    response.end(`shop got ${request.method} ${request.url} for ${request.headers.host}`),
  );
  routes = createFakeRoutes({
    shop: shop.route('shop'),
    'shop-pr-12': { state: 'alias', target: environmentName('shop') },
    blog: closedRoute,
  });
  gateway = await open();
});

afterEach(async () => {
  await gateway.close();
  await shop.stop();
});

describe('the way to an environment', () => {
  it('is its name under the domain, and the environment sees the host it was asked for', async () => {
    const host = `shop.localhost:${gateway.port}`;
    const answer = await visit(gateway.port, { host, path: '/cart?id=1' });
    expect(answer).toMatchObject({ status: 200, text: `shop got GET /cart?id=1 for ${host}` });
    expect(answer.headers['x-robots-tag']).toBe('noindex');
  });

  it.each(['SHOP.localhost', 'shop.LOCALHOST.', 'shop.localhost:1'])('is the same spelt %s', async (host) => {
    expect(await visit(gateway.port, { host })).toMatchObject({ status: 200 });
  });

  it('is a header on the domain itself or on loopback, which travels on', async () => {
    await using echo = await startUpstream((request, response) => response.end(String(request.headers['x-eph-environment'])));
    routes.set('echo', echo.route('echo'));
    await using elsewhere = await open({ domain: 'preview.example.com' });
    for (const host of ['preview.example.com', 'Preview.Example.com.:80', 'localhost', '127.0.0.1:8080', '[::1]'])
      expect(await visit(elsewhere.port, { host, headers: { 'x-eph-environment': 'Echo' } }), host).toMatchObject({
        status: 200,
        text: 'Echo',
      });
    for (const host of ['example.com', 'api.preview.example.com', 'localhost.evil.example', '127.0.0.1.evil.example', 'x'])
      expect(await visit(elsewhere.port, { host, headers: { 'x-eph-environment': 'echo' } }), host).toMatchObject({
        status: 404,
      });
  });

  it('is its own host, whatever the header says', async () => {
    await using echo = await startUpstream((_, response) => response.end('echo'));
    routes.set('echo', echo.route('echo'));
    for (const named of ['echo', 'nobody', ''])
      expect((await visit(gateway.port, { headers: { 'x-eph-environment': named } })).text).toMatch(/^shop got/);
  });

  it.each([
    ['a program', {}, 200],
    ['a page of the same origin', { origin: 'http://localhost:8080', 'sec-fetch-site': 'same-origin' }, 200],
    ['a page of another environment', { origin: 'http://evil.localhost:8080', 'sec-fetch-site': 'same-site' }, 404],
    ['a page of another environment that gets something', { 'sec-fetch-site': 'same-site' }, 404],
    ['a page of another site', { origin: 'http://evil.example', 'sec-fetch-site': 'cross-site' }, 404],
    ['a page of another site that gets something', { 'sec-fetch-site': 'cross-site' }, 404],
    ['a browser that sends the origin alone', { origin: 'http://evil.localhost:8080' }, 404],
    ['a page on another port', { origin: 'http://localhost:1' }, 404],
    ['a page without an origin', { origin: 'null' }, 404],
  ])('is a header of %s or not', async (_, headers, status) => {
    const answer = await visit(gateway.port, { host: 'localhost:8080', headers: { ...headers, 'x-eph-environment': 'shop' } });
    expect(answer.status).toBe(status);
  });

  it('is an absolute target, whatever Host says', async () => {
    const answer = await sendRaw(
      gateway.port,
      'GET http://shop.localhost/a?b HTTP/1.1\r\nHost: blog.localhost\r\nConnection: close\r\n\r\n',
    );
    expect(answer).toMatch(/^HTTP\/1\.1 200 /);
    expect(answer).toContain('shop got GET /a?b for shop.localhost');
  });

  it('may lie under another domain', async () => {
    await using elsewhere = await open({ domain: 'preview.example.com' });
    expect(await visit(elsewhere.port, { host: 'shop.preview.example.com' })).toMatchObject({ status: 200 });
    expect(await visit(elsewhere.port, { host: 'shop.localhost' })).toMatchObject({ status: 404 });
  });

  it('is taken anew for each request', async () => {
    await using next = await startUpstream((_, response) => response.end('next'));
    expect((await visit(gateway.port)).text).toMatch(/^shop got/);
    routes.set('shop', next.route('shop'));
    expect((await visit(gateway.port)).text).toBe('next');
    routes.delete('shop');
    expect(await visit(gateway.port)).toMatchObject({ status: 404 });
  });
});

describe('a cookie', () => {
  it('for all environments becomes one for its own host', async () => {
    await using baker = await startUpstream((_, response) =>
      response.setHeader('set-cookie', ['a=1; Domain=localhost; Path=/', 'b=2; domain=shop.localhost', 'c=3']).end(),
    );
    routes.set('shop', baker.route('shop'));
    const cookies = async (host: string, headers = {}) =>
      (await visit(gateway.port, { host, headers })).headers['set-cookie'] ?? [];
    expect(await cookies(`shop.localhost:${gateway.port}`)).toEqual(['a=1; Path=/', 'b=2; domain=shop.localhost', 'c=3']);
    expect((await cookies('localhost', { 'x-eph-environment': 'shop' }))[0]).toBe('a=1; Path=/');
  });
});

describe('an alias', () => {
  it.each(['GET', 'POST', 'DELETE'])('sends %s on to the name, with path, query and port', async (method) => {
    const answer = await visit(gateway.port, { method, host: 'shop-pr-12.localhost:8080', path: '//evil.example/a?b=c' });
    expect(answer).toMatchObject({ status: 307, text: '' });
    expect(answer.headers).toMatchObject({
      location: 'http://shop.localhost:8080//evil.example/a?b=c',
      'cache-control': 'no-store',
      'x-robots-tag': 'noindex',
    });
  });

  it('keeps to the usual port when none was named', async () => {
    expect((await visit(gateway.port, { host: 'shop-pr-12.localhost' })).headers.location).toBe('http://shop.localhost/');
  });

  it('is followed at once when it stands in the header', async () => {
    const answer = await visit(gateway.port, { host: 'localhost', headers: { 'x-eph-environment': 'shop-pr-12' } });
    expect(answer).toMatchObject({ status: 200, text: 'shop got GET / for localhost' });
  });
});

describe('an unknown host', () => {
  it('gets one and the same answer, whatever was asked', async () => {
    const visits = [
      { host: 'nobody.localhost' },
      { host: 'localhost' },
      { host: 'example.com', path: '/shop' },
      { host: 'a.shop.localhost' },
      { host: 'shop.localhost.evil.example' },
      { host: 'nobody.localhost', headers: { accept: 'text/html' } },
      { host: 'nobody.localhost', method: 'POST', body: 'hello' },
      { host: 'localhost', headers: { 'x-eph-environment': 'nobody' } },
      { host: 'localhost', headers: { 'x-eph-environment': '' } },
      { host: 'localhost', headers: { 'x-eph-environment': '../shop' } },
      { host: 'example.com', headers: { 'x-eph-environment': 'shop' } },
      { host: `${'a'.repeat(300)}.localhost` },
    ];
    const answers = await Promise.all(visits.map((each) => visit(gateway.port, each)));
    const stripped = answers.map(({ headers: { date: _, ...headers }, ...rest }) => ({ ...rest, headers }));
    expect(stripped[0]).toMatchObject({ status: 404, text: 'Not found\n', headers: { 'x-robots-tag': 'noindex' } });
    for (const answer of stripped) expect(answer).toEqual(stripped[0]);
  });

  it('learns nothing from HEAD either', async () => {
    const answer = await visit(gateway.port, { host: 'nobody.localhost', method: 'HEAD' });
    expect(answer).toMatchObject({ status: 404, text: '', headers: { 'content-length': '10' } });
  });
});

describe('an environment that is not ready', () => {
  it('tells programs what it waits for', async () => {
    const answer = await visit(gateway.port, { host: 'blog.localhost' });
    expect(answer).toMatchObject({
      status: 503,
      headers: { 'retry-after': '2', 'content-type': 'application/json', vary: 'accept' },
    });
    expect(JSON.parse(answer.text)).toEqual({
      environment: 'blog',
      phase: 'Progressing',
      summary: '<b>web</b> is starting.',
      waitingFor: ['web answers at /health'],
    });
  });

  it('shows people a page that does the same', async () => {
    const answer = await visit(gateway.port, { host: 'blog.localhost', headers: { accept: 'text/html,*/*;q=0.8' } });
    expect(answer).toMatchObject({ status: 503, headers: { 'retry-after': '2', 'content-type': 'text/html; charset=utf-8' } });
    expect(answer.headers['content-security-policy']).toContain("default-src 'none'");
    expect(answer.text).toContain('&lt;b&gt;web&lt;/b&gt; is starting.');
    expect(answer.text).toContain('<li>web answers at /health</li>');
  });

  it('says the same when it is named in the header', async () => {
    expect(await visit(gateway.port, { host: '127.0.0.1', headers: { 'x-eph-environment': 'blog' } })).toMatchObject({
      status: 503,
    });
  });
});

describe('the observer', () => {
  it('gets status, environment and duration of every request', async () => {
    await visit(gateway.port);
    await visit(gateway.port, { host: 'blog.localhost' });
    await visit(gateway.port, { host: 'nobody.localhost' });
    await expectSoon(() => seen.map(({ status, environment }) => [status, environment])).toEqual([
      [200, 'shop'],
      [503, 'blog'],
      [404, undefined],
    ]);
    for (const { ms } of seen) expect(ms).toBeGreaterThan(0);
  });
});

describe('opening and closing', () => {
  it('says that a port is in use', async () => {
    await expect(open({ port: gateway.port })).rejects.toMatchObject({
      code: 'port.unavailable',
      message: expect.stringContaining(`127.0.0.1:${gateway.port}: the port is in use`),
    });
  });

  it.each(['0.0.0.0', '::', '192.0.2.1', 'example.com'])('does not serve *.localhost on %s', async (host) => {
    await expect(open({ host })).rejects.toMatchObject({ code: 'config.invalid', message: expect.stringContaining(host) });
  });

  it('lets an answer under way finish and takes no new connection', async () => {
    let finish: (() => void) | undefined;
    await using slow = await startUpstream((_, response) => {
      response.write('first ');
      finish = () => response.end('last');
    });
    routes.set('slow', slow.route('slow'));
    await using visitor = new RawVisitor(gateway.port, 'GET / HTTP/1.1\r\nHost: slow.localhost\r\n\r\n');
    await expectSoon(() => visitor.received).toContain('first');
    const closed = gateway.close();
    await expect(visit(gateway.port)).rejects.toMatchObject({ code: 'ECONNREFUSED' });
    finish?.();
    await closed;
    await visitor.closed;
    expect(visitor.received).toContain('last');
  });

  it('cuts off what does not finish in time', async () => {
    await using endless = await startUpstream((_, response) => void response.write('first '));
    routes.set('endless', openRoute('endless', endless.port));
    await using hasty = await open({ closeGraceMs: 50 });
    await using visitor = new RawVisitor(hasty.port, 'GET / HTTP/1.1\r\nHost: endless.localhost\r\n\r\n');
    await expectSoon(() => visitor.received).toContain('first');
    await hasty.close();
    await visitor.closed;
    expect(visitor.received).not.toContain('0\r\n\r\n');
  });
});
