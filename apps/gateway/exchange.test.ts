import { createHash } from 'node:crypto';
import { request as httpRequest } from 'node:http';
import { buffer } from 'node:stream/consumers';
import { environmentName } from '@eph/contract';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { createGateway, type Gateway, type GatewayOptions, type ServedRequest } from './gateway.ts';
import { createFakeRoutes, type FakeRoutes } from './routes.fake.ts';
import { findDeadPort, openRoute, startTcpUpstream, startUpstream } from './upstream.fake.ts';
import { beginVisit, expectSoon, RawVisitor, sendRaw, visit } from './visitor.fake.ts';

let routes: FakeRoutes;
let seen: ServedRequest[];
let gateway: Gateway;

const open = (options: Partial<GatewayOptions> = {}): Promise<Gateway> =>
  createGateway({ routes, port: 0, closeGraceMs: 1_000, onRequest: (request) => seen.push(request), ...options });

beforeEach(async () => {
  seen = [];
  routes = createFakeRoutes();
  gateway = await open();
});

afterEach(() => gateway.close());

describe('a request and its answer', () => {
  it('pass with method, path, headers, body and status text', async () => {
    await using upstream = await startUpstream(async (request, response) => {
      const body = (await buffer(request)).toString();
      response.writeHead(418, 'Short and stout', {
        'set-cookie': ['a=1', 'b=2'],
        'x-body': body,
        'x-length': request.headers['content-length'],
      });
      response.end(`${request.method} ${request.url}`);
    });
    routes.set('shop', upstream.route('shop'));
    const bytes = 'PATCH /a%20b?c=%2F HTTP/1.1\r\nHost: shop.localhost\r\nContent-Length: 5\r\nConnection: close\r\n\r\nhello';
    const answer = await sendRaw(gateway.port, bytes);
    expect(answer).toMatch(/^HTTP\/1\.1 418 Short and stout\r\n/);
    expect(answer).toMatch(/set-cookie: a=1\r\nset-cookie: b=2\r\nx-body: hello\r\nx-length: 5\r\n/);
    expect(answer).toContain('\r\nPATCH /a%20b?c=%2F\r\n');
  });

  it.each([0, 1, 8_192, 8_193, 1_000_000])('pass byte for byte: %i', async (length) => {
    const body = Buffer.from(Array.from({ length }, (_, index) => index % 256));
    await using upstream = await startUpstream(async (request, response) => {
      const received = await buffer(request);
      response.setHeader('content-length', received.length);
      response.end(received);
    });
    routes.set('shop', upstream.route('shop'));
    const response = await beginVisit(gateway.port, { method: 'POST', body });
    expect((await buffer(response)).equals(body)).toBe(true);
  });

  it('pass bytes in headers that are no ASCII', async () => {
    await using upstream = await startUpstream((request, response) => {
      response.setHeader('x-name', request.headers['x-name'] ?? '');
      response.end();
    });
    routes.set('shop', upstream.route('shop'));
    const head = 'GET / HTTP/1.1\r\nHost: shop.localhost\r\nX-Name: \xc3\xb6\xff\r\nConnection: close\r\n\r\n';
    expect(await sendRaw(gateway.port, head)).toContain('x-name: \xc3\xb6\xff\r\n');
  });

  it('keep HEAD without a body and its length', async () => {
    await using upstream = await startUpstream((_, response) => response.writeHead(200, { 'content-length': '1234' }).end());
    routes.set('shop', upstream.route('shop'));
    expect(await visit(gateway.port, { method: 'HEAD' })).toMatchObject({
      status: 200,
      text: '',
      headers: { 'content-length': '1234' },
    });
  });

  it.each([204, 304])('keep %i without a body', async (status) => {
    await using upstream = await startUpstream((_, response) => response.writeHead(status, { etag: 'e' }).end());
    routes.set('shop', upstream.route('shop'));
    expect(await visit(gateway.port)).toMatchObject({ status, text: '', headers: { etag: 'e' } });
  });

  it('pass trailers, and drop early hints', async () => {
    await using upstream = await startUpstream((_, response) => {
      response.writeEarlyHints({ link: '</style.css>; rel=preload' });
      response.writeHead(200, { trailer: 'x-sum' });
      response.write('body');
      response.addTrailers({ 'x-sum': '42' });
      response.end();
    });
    routes.set('shop', upstream.route('shop'));
    expect(await visit(gateway.port)).toMatchObject({ status: 200, text: 'body', trailers: { 'x-sum': '42' } });
  });

  it('pass an answer that ends with its connection', async () => {
    await using upstream = await startTcpUpstream((socket) => {
      socket.once('data', () => socket.end('HTTP/1.0 200 OK\r\n\r\nold school'));
    });
    routes.set('shop', upstream.route('shop'));
    expect(await visit(gateway.port)).toMatchObject({ status: 200, text: 'old school' });
  });

  it('serve a client of HTTP/1.0', async () => {
    await using upstream = await startUpstream((_, response) => {
      response.write('a');
      response.end('b');
    });
    routes.set('shop', upstream.route('shop'));
    const answer = await sendRaw(gateway.port, 'GET / HTTP/1.0\r\nHost: shop.localhost\r\n\r\n');
    expect(answer).toMatch(/^HTTP\/1\.1 200 OK\r\n/);
    expect(answer).toMatch(/\r\n\r\nab$/);
  });

  it('pass several times over one connection of the client, in order', async () => {
    await using upstream = await startUpstream((request, response) => {
      setTimeout(() => response.end(`<${request.url}>`), request.url === '/1' ? 50 : 0);
    });
    routes.set('shop', upstream.route('shop'));
    const get = (path: string, more = ''): string => `GET ${path} HTTP/1.1\r\nHost: shop.localhost\r\n${more}\r\n`;
    const answer = await sendRaw(gateway.port, get('/1') + get('/2') + get('/3', 'Connection: close\r\n'));
    expect(answer.match(/<.\d>/g)).toEqual(['</1>', '</2>', '</3>']);
  });
});

describe('streams', () => {
  it('reach the upstream chunk by chunk, and the client likewise', async () => {
    await using upstream = await startUpstream((request, response) => {
      response.flushHeaders();
      request.on('data', (chunk: Buffer) => response.write(`<${chunk.toString()}>`));
      request.on('end', () => response.end());
    });
    routes.set('shop', upstream.route('shop'));
    const request = httpRequest({ port: gateway.port, host: '127.0.0.1', method: 'POST', headers: { host: 'shop.localhost' } });
    let received = '';
    request.on('response', (response) => response.setEncoding('utf8').on('data', (text: string) => (received += text)));
    request.write('one');
    await expectSoon(() => received).toBe('<one>');
    request.write('two');
    await expectSoon(() => received).toBe('<one><two>');
    request.end('three');
    await expectSoon(() => received).toBe('<one><two><three>');
  });

  it('show their head before there is anything to send', async () => {
    await using upstream = await startUpstream((_, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.flushHeaders();
    });
    routes.set('shop', upstream.route('shop'));
    const response = await beginVisit(gateway.port);
    expect(response.headers['content-type']).toBe('text/event-stream');
    response.destroy();
  });

  it('may be silent for longer than an answer may take to begin', async () => {
    await using upstream = await startUpstream((_, response) => {
      response.write('tick ');
      setTimeout(() => response.end('tock'), 1_500);
    });
    routes.set('shop', upstream.route('shop'));
    await using impatient = await open({ answerTimeoutMs: 100 });
    expect(await visit(impatient.port)).toMatchObject({ status: 200, text: 'tick tock' });
  });

  const mebibyte = Buffer.alloc(1024 * 1024, 'eph');
  const mebibytes = 100;
  const wholeSum = (): string => {
    const hash = createHash('sha256');
    for (let index = 0; index < mebibytes; index += 1) hash.update(mebibyte);
    return hash.digest('hex');
  };
  /** Four socket buffers of the kernel lie on the way; anything beyond them would be the gateway's. */
  const onTheWay = 40 * mebibyte.length;

  /** Waits until the number does not grow any more. */
  const expectStandstill = async (read: () => number): Promise<number> => {
    let last = -1;
    await expect
      .poll(
        () => {
          const before = last;
          last = read();
          return last > 0 && before === last;
        },
        { interval: 300, timeout: 25_000 },
      )
      .toBe(true);
    return last;
  };

  it('wait for a client that does not read, and hold nothing back in memory', async () => {
    let sent = 0;
    await using upstream = await startUpstream((_, response) => {
      const send = (): void => {
        while (sent < mebibytes * mebibyte.length) {
          sent += mebibyte.length;
          if (!response.write(mebibyte)) return void response.once('drain', send);
        }
        response.end();
      };
      send();
    });
    routes.set('shop', upstream.route('shop'));
    const response = await beginVisit(gateway.port);
    expect(await expectStandstill(() => sent)).toBeLessThan(onTheWay);
    const hash = createHash('sha256');
    for await (const chunk of response) hash.update(chunk);
    expect(hash.digest('hex')).toBe(wholeSum());
  });

  it('wait for an upstream that does not read, and hold nothing back in memory', async () => {
    let read: (() => void) | undefined;
    await using upstream = await startUpstream((request, response) => {
      read = () => {
        const hash = createHash('sha256');
        request.on('data', (chunk: Buffer) => hash.update(chunk)).on('end', () => response.end(hash.digest('hex')));
      };
    });
    routes.set('shop', upstream.route('shop'));
    const request = httpRequest({ port: gateway.port, host: '127.0.0.1', method: 'PUT', headers: { host: 'shop.localhost' } });
    let sent = 0;
    const send = (): void => {
      while (sent < mebibytes * mebibyte.length) {
        sent += mebibyte.length;
        if (!request.write(mebibyte)) return void request.once('drain', send);
      }
      request.end();
    };
    send();
    expect(await expectStandstill(() => sent)).toBeLessThan(onTheWay);
    await expectSoon(() => read).toBeDefined();
    read?.();
    const text = await new Promise<Buffer>((resolve, reject) => {
      request.on('response', (response) => void buffer(response).then(resolve, reject)).on('error', reject);
    });
    expect(text.toString()).toBe(wholeSum());
  });
});

describe('Expect: 100-continue', () => {
  const head = 'POST / HTTP/1.1\r\nHost: shop.localhost\r\nContent-Length: 5\r\nExpect: 100-continue\r\n';

  it('is answered when the upstream is there to take the body', async () => {
    await using upstream = await startUpstream(async (request, response) => {
      response.end(`${(await buffer(request)).toString()} ${request.headers.expect ?? 'expects nothing'}`);
    });
    routes.set('shop', upstream.route('shop'));
    await using visitor = new RawVisitor(gateway.port, `${head}Connection: close\r\n\r\n`);
    await expectSoon(() => visitor.received).toBe('HTTP/1.1 100 Continue\r\n\r\n');
    visitor.socket.write('hello');
    await visitor.closed;
    expect(visitor.received).toContain('hello expects nothing');
  });

  it('gets the final answer at once when the body is not wanted, and the connection ends', async () => {
    routes.set('shop', openRoute('shop', await findDeadPort()));
    const answers = await Promise.all([
      sendRaw(gateway.port, `${head}\r\n`),
      sendRaw(gateway.port, `${head}\r\n`.replace('shop', 'nobody')),
    ]);
    expect(answers.map((answer) => answer.slice(0, 12))).toEqual(['HTTP/1.1 502', 'HTTP/1.1 404']);
    for (const answer of answers) expect(answer).toContain('Connection: close\r\n');
  });
});

describe('a client that leaves', () => {
  it('ends the work of the upstream', async () => {
    let begun = false;
    let left = false;
    await using upstream = await startUpstream((_, response) => {
      begun = true;
      response.on('close', () => (left = true));
    });
    routes.set('shop', upstream.route('shop'));
    await using visitor = new RawVisitor(gateway.port, 'GET / HTTP/1.1\r\nHost: shop.localhost\r\n\r\n');
    await expectSoon(() => begun).toBe(true);
    visitor.socket.destroy();
    await expectSoon(() => left).toBe(true);
    await expectSoon(() => seen.map(({ status }) => status)).toEqual([499]);
  });

  it('in the middle of its request does the same', async () => {
    let received = 0;
    let left = false;
    await using upstream = await startUpstream((request) => {
      request.on('data', (chunk: Buffer) => (received += chunk.length));
      request.on('error', () => undefined);
      request.on('close', () => (left = true));
    });
    routes.set('shop', upstream.route('shop'));
    const head = 'POST / HTTP/1.1\r\nHost: shop.localhost\r\nContent-Length: 100\r\n\r\n';
    await using visitor = new RawVisitor(gateway.port, `${head}hello`);
    await expectSoon(() => received).toBe(5);
    visitor.socket.destroy();
    await expectSoon(() => left).toBe(true);
  });

  it('in the middle of a stream does the same', async () => {
    let left = false;
    await using upstream = await startUpstream((_, response) => {
      const ticking = setInterval(() => response.write('tick\n'), 5);
      response.on('close', () => {
        clearInterval(ticking);
        left = true;
      });
    });
    routes.set('shop', upstream.route('shop'));
    await using visitor = new RawVisitor(gateway.port, 'GET / HTTP/1.1\r\nHost: shop.localhost\r\n\r\n');
    await expectSoon(() => visitor.received).toContain('tick');
    visitor.socket.destroy();
    await expectSoon(() => left).toBe(true);
  });
});

describe('an upstream that fails', () => {
  it('by not being there is reported without saying where it should be', async () => {
    const port = await findDeadPort();
    routes.set('shop', openRoute('shop', port));
    const answer = await visit(gateway.port);
    expect(answer).toMatchObject({ status: 502, headers: { 'x-robots-tag': 'noindex', 'retry-after': '5' } });
    expect(JSON.parse(answer.text)).toEqual({
      environment: 'shop',
      summary: 'The environment did not answer. It may be restarting.',
      waitingFor: [],
    });
    const page = await visit(gateway.port, { headers: { accept: 'text/html' } });
    expect(page.status).toBe(502);
    expect(page.text).toContain('<title>No answer · shop</title>');
    for (const { text } of [answer, page]) expect(text).not.toMatch(new RegExp(`${port}|127\\.0\\.0\\.1|ECONN`));
  });

  it.each([
    ['a port that is none', { host: '127.0.0.1', port: 99_999 }],
    ['a host that is none', { host: 'not a host', port: 80 }],
  ])('by having %s is reported', async (_, upstream) => {
    routes.set('shop', { ...openRoute('shop', 1), upstream });
    expect(await visit(gateway.port)).toMatchObject({ status: 502 });
  });

  it('while it gets a body still lets the client read why', async () => {
    await using upstream = await startTcpUpstream((socket) => void socket.once('data', () => socket.destroy()));
    routes.set('shop', upstream.route('shop'));
    const answer = await visit(gateway.port, { method: 'POST', body: Buffer.alloc(3_000_000) });
    expect(answer.status).toBe(502);
  });

  it('by not speaking HTTP is reported', async () => {
    await using upstream = await startTcpUpstream(
      (socket) => void socket.once('data', () => socket.end('SSH-2.0-OpenSSH_9.9\r\n')),
    );
    routes.set('shop', upstream.route('shop'));
    expect(await visit(gateway.port)).toMatchObject({ status: 502 });
  });

  it.each([
    ['a header that cannot be passed on', 'HTTP/1.1 200 OK\r\nX-Bad: a\x01b\r\nContent-Length: 0\r\n\r\n'],
    ['a head without end', `HTTP/1.1 200 OK\r\nX-Long: ${'a'.repeat(100_000)}`],
    ['both framings', 'HTTP/1.1 200 OK\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n'],
    ['a status that is none', 'HTTP/1.1 042 What\r\nContent-Length: 0\r\n\r\n'],
    ['an upgrade nobody asked for', 'HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: upgrade\r\n\r\n'],
  ])('by sending %s is reported', async (_, bytes) => {
    await using upstream = await startTcpUpstream((socket) => void socket.once('data', () => socket.write(bytes, 'latin1')));
    routes.set('shop', upstream.route('shop'));
    expect(await visit(gateway.port)).toMatchObject({ status: 502 });
  });

  it('by taking too long is reported', async () => {
    await using upstream = await startUpstream(() => undefined);
    routes.set('shop', upstream.route('shop'));
    await using impatient = await open({ answerTimeoutMs: 100 });
    expect(await visit(impatient.port)).toMatchObject({ status: 504, text: expect.stringContaining('took too long') });
  });

  it.each([
    ['with a length', 'Content-Length: 100\r\n\r\nhalf of'],
    ['in chunks', 'Transfer-Encoding: chunked\r\n\r\n7\r\nhalf of\r\n'],
  ])('in the middle of an answer %s cuts the client off', async (_, rest) => {
    await using upstream = await startTcpUpstream((socket) => {
      socket.once('data', () => socket.write(`HTTP/1.1 200 OK\r\n${rest}`, () => setTimeout(() => socket.destroy(), 20)));
    });
    routes.set('shop', upstream.route('shop'));
    await expect(visit(gateway.port)).rejects.toMatchObject({ code: 'ECONNRESET' });
    const raw = await sendRaw(gateway.port, 'GET / HTTP/1.1\r\nHost: shop.localhost\r\n\r\n');
    expect(raw).toContain('half of');
    expect(raw).not.toMatch(/\r\n0\r\n\r\n$/);
  });

  it('by answering before it has read the request is believed, and the connection lives on', async () => {
    await using upstream = await startTcpUpstream((socket) => {
      socket.once('data', () => {
        socket.pause();
        setTimeout(() => socket.end('HTTP/1.1 413 Too Large\r\nContent-Length: 0\r\n\r\n'), 200);
      });
    });
    await using next = await startUpstream((_, response) => response.end('next'));
    routes.set('shop', upstream.route('shop'));
    routes.set('next', next.route('next'));
    const body = Buffer.alloc(50_000_000);
    await using visitor = new RawVisitor(
      gateway.port,
      `PUT / HTTP/1.1\r\nHost: shop.localhost\r\nContent-Length: ${body.length}\r\n\r\n`,
    );
    visitor.socket.write(body);
    await expectSoon(() => visitor.received).toContain('413 Too Large');
    visitor.socket.write('GET / HTTP/1.1\r\nHost: next.localhost\r\nConnection: close\r\n\r\n');
    await visitor.closed;
    expect(visitor.received).toMatch(/\r\n\r\nnext$/);
  });
});

describe('a connection that was kept too long', () => {
  /** Answers the first request of a connection and hangs up on the second. */
  const startForgetful = async (): Promise<Awaited<ReturnType<typeof startTcpUpstream>> & { readonly heard: string[] }> => {
    const heard: string[] = [];
    const upstream = await startTcpUpstream((socket) => {
      let count = 0;
      socket.on('data', (chunk: Buffer) => {
        count += 1;
        heard.push(chunk.toString().split(' ')[0] ?? '');
        if (count === 1) socket.write('HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok');
        else socket.destroy();
      });
    });
    return Object.assign(upstream, { heard });
  };

  it.each(['GET', 'HEAD'])('is replaced for %s without anyone noticing', async (method) => {
    await using upstream = await startForgetful();
    routes.set('shop', upstream.route('shop'));
    await visit(gateway.port);
    expect(await visit(gateway.port, { method })).toMatchObject({ status: 200 });
    expect(upstream.heard.at(-1)).toBe(method);
  });

  it.each(['POST', 'DELETE'])('is reported for %s, which may have happened already', async (method) => {
    await using upstream = await startForgetful();
    routes.set('shop', upstream.route('shop'));
    await visit(gateway.port);
    expect(await visit(gateway.port, { method })).toMatchObject({ status: 502 });
    expect(upstream.heard).toEqual(['GET', method]);
  });

  it('is replaced once and not for ever', async () => {
    let connections = 0;
    await using upstream = await startTcpUpstream((socket) => {
      connections += 1;
      socket.once('data', () => socket.destroy());
    });
    routes.set('shop', upstream.route('shop'));
    expect(await visit(gateway.port)).toMatchObject({ status: 502 });
    expect(connections).toBe(2);
  });
});

describe('a new upstream', () => {
  it.each([
    { method: 'GET', body: '', stopped: 'at once' },
    { method: 'POST', body: 'hello', stopped: 'when it has nothing left to do' },
  ])('takes over under load without a failed $method, the old one being stopped $stopped', async ({ method, body, stopped }) => {
    const versions = await Promise.all(
      ['v0', 'v1', 'v2', 'v3'].map((version) =>
        startUpstream((_, response) => {
          setTimeout(() => response.end(version), 2);
        }),
      ),
    );
    const answers: { status: number; text: string }[] = [];
    const expectMoreAnswers = (): Promise<void> => {
      const now = answers.length;
      return expectSoon(() => answers.length - now).toBeGreaterThan(100);
    };
    let running = true;
    routes.set('shop', versions[0]?.route('shop') ?? openRoute('shop', 1));
    const visitors = Array.from({ length: 16 }, async () => {
      while (running) answers.push(await visit(gateway.port, { method, body }));
    });
    for (const [index, version] of versions.entries()) {
      routes.set('shop', version.route('shop'));
      if (stopped !== 'at once') await expectMoreAnswers();
      versions[index - 1]?.server.close();
      await expectMoreAnswers();
    }
    running = false;
    await Promise.all(visitors);
    expect(answers.filter(({ status }) => status !== 200)).toEqual([]);
    expect(new Set(answers.map(({ text }) => text))).toEqual(new Set(['v0', 'v1', 'v2', 'v3']));
    await Promise.all(versions.map((version) => version.stop()));
  });

  /** The route is asked for twice: once before and once after the switch. */
  const switchBetween = async (before: number, after: Parameters<FakeRoutes['set']>[1] | undefined): Promise<Gateway> => {
    let asked = 0;
    const find = () => {
      asked += 1;
      return asked === 1 ? openRoute('shop', before) : after;
    };
    return open({ routes: { find } });
  };

  it.each(['GET', 'POST'])('is found for a %s that came to the old one a moment too late', async (method) => {
    await using upstream = await startUpstream(async (request, response) => response.end(await buffer(request)));
    await using late = await switchBetween(await findDeadPort(), upstream.route('shop'));
    const body = method === 'POST' ? 'hello' : '';
    expect(await visit(late.port, { method, body })).toMatchObject({ status: 200, text: body });
  });

  it('that is not ready yet is waited for with a notice', async () => {
    const waiting = {
      state: 'closed',
      environment: environmentName('shop'),
      phase: 'Progressing',
      summary: 's',
      waitingFor: [],
    } as const;
    await using late = await switchBetween(await findDeadPort(), waiting);
    expect(await visit(late.port)).toMatchObject({ status: 503 });
  });

  it('that never comes because the environment is gone is a 404', async () => {
    await using late = await switchBetween(await findDeadPort(), undefined);
    expect(await visit(late.port)).toMatchObject({ status: 404 });
  });
});
