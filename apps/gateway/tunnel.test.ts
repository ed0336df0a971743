import { connect, type Socket } from 'node:net';
import { buffer } from 'node:stream/consumers';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { WebSocket, WebSocketServer } from 'ws';
import { createGateway, type Gateway, type ServedRequest } from './gateway.ts';
import { createFakeRoutes, type FakeRoutes } from './routes.fake.ts';
import { findDeadPort, openRoute, startTcpUpstream, startUpstream } from './upstream.fake.ts';
import { expectSoon, RawVisitor, sendRaw, visit } from './visitor.fake.ts';

let routes: FakeRoutes;
let seen: ServedRequest[];
let gateway: Gateway;

beforeEach(async () => {
  seen = [];
  routes = createFakeRoutes();
  gateway = await createGateway({
    routes,
    port: 0,
    answerTimeoutMs: 500,
    closeGraceMs: 1_000,
    onRequest: (request) => seen.push(request),
  });
});

afterEach(() => gateway.close());

const upgradeHead = (more = ''): string =>
  `GET /socket HTTP/1.1\r\nHost: shop.localhost\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n${more}\r\n`;
const agreed = 'HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nX-Sub: chat\r\n\r\n';

describe('a WebSocket', () => {
  it('opens without a cookie for all environments', async () => {
    const cookie = 'Set-Cookie: a=1; Domain=localhost; Path=/\r\n';
    await using upstream = await startTcpUpstream((socket) => {
      socket.once('data', () => socket.end(agreed.replace('X-Sub', `${cookie}X-Sub`)));
    });
    routes.set('shop', openRoute('shop', upstream.port));
    await using visitor = new RawVisitor(gateway.port, upgradeHead());
    await expectSoon(() => visitor.received).toContain('set-cookie: a=1; Path=/\r\n');
    expect(visitor.received).not.toContain('Domain');
  });

  it('carries messages both ways, text and binary, small and large', async () => {
    await using upstream = await startUpstream((_, response) => response.end('no socket'));
    const sockets = new WebSocketServer({ server: upstream.server });
    sockets.on('connection', (socket, request) => {
      const { host, 'x-forwarded-for': addresses } = request.headers;
      socket.send([request.url, host, addresses, socket.protocol].join(' '));
      socket.on('message', (data, isBinary) => socket.send(data, { binary: isBinary }));
    });
    routes.set('shop', upstream.route('shop'));
    const received: string[] = [];
    const host = `shop.localhost:${gateway.port}`;
    const client = new WebSocket(`ws://127.0.0.1:${gateway.port}/live?room=1`, ['chat'], { headers: { host } });
    client.on('message', (data: Buffer, isBinary) => received.push(isBinary ? `${data.length} bytes` : data.toString()));
    await new Promise((resolve, reject) => client.once('open', resolve).once('error', reject));
    client.send('hello');
    client.send(Buffer.alloc(5_000_000));
    await expectSoon(() => received).toEqual([`/live?room=1 ${host} 127.0.0.1 chat`, 'hello', '5000000 bytes']);
    expect(seen).toMatchObject([{ status: 101, environment: 'shop' }]);

    const ended = new Promise<number>((resolve) => client.once('close', resolve));
    for (const socket of sockets.clients) socket.close(4001, 'bye');
    expect(await ended).toBe(4001);
    expect(await visit(gateway.port)).toMatchObject({ text: 'no socket' });
  });

  it('opens at the address of its environment only', async () => {
    const answer = await sendRaw(gateway.port, upgradeHead());
    expect(answer).toMatch(/^HTTP\/1\.1 404 /);
    expect(answer).toMatch(/Not found\n$/);
  });

  it('passes the head without what belongs to a connection, and the answer with what makes it one', async () => {
    let head = '';
    await using upstream = await startTcpUpstream((socket) => {
      socket.once('data', (chunk: Buffer) => {
        head = chunk.toString();
        socket.write(agreed);
      });
    });
    routes.set('shop', upstream.route('shop'));
    await using visitor = new RawVisitor(gateway.port, upgradeHead('Keep-Alive: 5\r\nSec-WebSocket-Key: abc\r\n'));
    await expectSoon(() => visitor.received).toMatch(/\r\n\r\n$/);
    expect(visitor.received.split('\r\n').slice(0, -2)).toEqual([
      'HTTP/1.1 101 Switching Protocols',
      'connection: upgrade',
      'upgrade: websocket',
      'x-sub: chat',
      'x-robots-tag: noindex',
    ]);
    expect(head.toLowerCase().split('\r\n').slice(0, -2).toSorted()).toEqual(
      [
        'get /socket http/1.1',
        'host: shop.localhost',
        'connection: upgrade',
        'upgrade: websocket',
        'sec-websocket-key: abc',
        'x-forwarded-for: 127.0.0.1',
        'x-forwarded-host: shop.localhost',
        'x-forwarded-proto: http',
      ].toSorted(),
    );
  });

  /** A client that goes on talking after the other side has finished. */
  const startTalking = async (): Promise<{ readonly client: Socket; readonly heard: () => string }> => {
    const client = connect({ port: gateway.port, host: '127.0.0.1', allowHalfOpen: true });
    let heard = '';
    client.on('data', (chunk: Buffer) => (heard += chunk.toString()));
    client.write(upgradeHead());
    await expectSoon(() => heard).toContain('\r\n\r\n');
    return { client, heard: () => heard };
  };

  it('goes on towards the client when the client has finished', async () => {
    let received = '';
    await using upstream = await startTcpUpstream((socket) => {
      socket.once('data', () => {
        socket.write(agreed);
        socket.on('data', (chunk: Buffer) => (received += chunk.toString()));
        socket.on('end', () => socket.end(`you said ${received}`));
      });
    });
    routes.set('shop', upstream.route('shop'));
    const { client, heard } = await startTalking();
    const closed = new Promise((resolve) => client.once('close', resolve));
    client.end('all I have');
    await expectSoon(heard).toMatch(/you said all I have$/);
    await closed;
  });

  it('goes on towards the upstream when the upstream has finished', async () => {
    let received = '';
    await using upstream = await startTcpUpstream((socket) => {
      socket.once('data', () => {
        socket.end(agreed);
        socket.on('data', (chunk: Buffer) => (received += chunk.toString()));
        socket.on('end', () => (received += '.'));
      });
    });
    routes.set('shop', upstream.route('shop'));
    const { client } = await startTalking();
    await expectSoon(() => client.readableEnded).toBe(true);
    client.end('all I have');
    await expectSoon(() => received).toBe('all I have.');
  });

  it('ends for both when either side is torn away', async () => {
    const ends: string[] = [];
    await using upstream = await startTcpUpstream((socket) => {
      socket.on('end', () => socket.end());
      socket.on('close', () => ends.push('upstream'));
      socket.once('data', () => {
        socket.write(agreed);
        socket.on('data', () => socket.resetAndDestroy());
      });
    });
    routes.set('shop', upstream.route('shop'));
    await using first = new RawVisitor(gateway.port, upgradeHead());
    await using second = new RawVisitor(gateway.port, upgradeHead());
    await expectSoon(() => first.received !== '' && second.received !== '').toBe(true);
    first.socket.resetAndDestroy();
    await expectSoon(() => ends.length).toBe(1);
    second.socket.write('please go');
    await second.closed;
    await expectSoon(() => ends.length).toBe(2);
  });

  it('stays open in silence for longer than an answer may take, and ends with the gateway', async () => {
    let left = false;
    await using upstream = await startTcpUpstream((socket) => {
      socket.on('end', () => (left = true));
      socket.once('data', () => {
        socket.write(agreed);
        setTimeout(() => socket.write('still here'), 1_500);
      });
    });
    routes.set('shop', upstream.route('shop'));
    await using visitor = new RawVisitor(gateway.port, upgradeHead());
    await expectSoon(() => visitor.received).toContain('still here');
    await gateway.close();
    await visitor.closed;
    await expectSoon(() => left).toBe(true);
  });
});

describe('an upstream that does not agree to a WebSocket', () => {
  it('has its answer passed on, and the connection ends there', async () => {
    const paths: string[] = [];
    await using upstream = await startUpstream((request, response) => {
      paths.push(request.url ?? '');
      response.writeHead(426, { upgrade: 'websocket' }).end('a'.repeat(1_000_000));
    });
    routes.set('shop', upstream.route('shop'));
    const answer = await sendRaw(gateway.port, `${upgradeHead()}GET /smuggled HTTP/1.1\r\nHost: shop.localhost\r\n\r\n`);
    expect(answer).toMatch(/^HTTP\/1\.1 426 /);
    expect(answer).toContain('x-robots-tag: noindex');
    expect(answer.match(/a/g)?.length).toBeGreaterThan(1_000_000);
    expect(answer.match(/HTTP\/1\.1/g)).toHaveLength(1);
    expect(paths).toEqual(['/socket']);
  });

  it('because it is not there is reported', async () => {
    routes.set('shop', openRoute('shop', await findDeadPort()));
    expect(await sendRaw(gateway.port, upgradeHead())).toMatch(/^HTTP\/1\.1 502 /);
  });

  it('because it says nothing is reported', async () => {
    await using upstream = await startTcpUpstream(() => undefined);
    routes.set('shop', upstream.route('shop'));
    expect(await sendRaw(gateway.port, upgradeHead())).toMatch(/^HTTP\/1\.1 504 /);
  });
});

describe('an upgrade to anything else', () => {
  it.each([
    ['h2c', 'GET'],
    ['TLS/1.0', 'GET'],
    ['websocket', 'POST'],
  ])('is served as if it had not been asked for: %s by %s', async (protocol, method) => {
    await using upstream = await startUpstream((request, response) => response.end(`upgrade: ${request.headers.upgrade}`));
    routes.set('shop', upstream.route('shop'));
    const head = `${method} / HTTP/1.1\r\nHost: shop.localhost\r\nConnection: Upgrade, close\r\nUpgrade: ${protocol}\r\n\r\n`;
    const answer = await sendRaw(gateway.port, head);
    expect(answer).toMatch(/^HTTP\/1\.1 200 /);
    expect(answer).toContain('upgrade: undefined');
  });

  it('is not granted to a request with a body', async () => {
    await using upstream = await startUpstream(async (request, response) => {
      response.end(`${(await buffer(request)).toString()} upgrade: ${request.headers.upgrade}`);
    });
    routes.set('shop', upstream.route('shop'));
    const answer = await sendRaw(
      gateway.port,
      `${upgradeHead('Content-Length: 5\r\n').replace('Upgrade\r\n', 'Upgrade, close\r\n')}hello`,
    );
    expect(answer).toContain('hello upgrade: undefined');
  });
});
