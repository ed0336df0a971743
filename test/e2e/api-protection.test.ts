import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer, type IncomingHttpHeaders, type IncomingMessage, request } from 'node:http';
import { request as requestTls } from 'node:https';
import { connect as open, type Socket } from 'node:net';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { promisify } from 'node:util';
import { gzipSync } from 'node:zlib';
import { eventListSchema, execProtocol, newTokenSchema, problemSchema, tokenProtocol } from '@eph/contract';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { describeWith } from '../parts/describe-with.ts';
import { makeCertificate, openssl } from '../parts/openssl.ts';
import { EphdHarness } from './ephd-harness.ts';
import { app, oneService } from './sample-app.ts';

const connect = async (port: number): Promise<Socket> => {
  const socket = open({ host: '127.0.0.1', port });
  // Being closed by ephd is what these are for.
  socket.on('error', () => undefined);
  await once(socket, 'connect');
  return socket;
};

/** Sends bytes as they are and reads until ephd closes the connection. */
const exchange = async (port: number, bytes: string): Promise<string> => {
  const socket = await connect(port);
  socket.write(bytes);
  return await text(socket);
};

const eph = join(import.meta.dirname, '../../apps/eph/main.ts');

describe('ephd', () => {
  let harness: EphdHarness;
  let drips: NodeJS.Timeout;
  /** What a request gets whose body comes byte by byte. It takes 30 seconds, so it is sent while other tests run. */
  let slow: Promise<string>;

  const sendSlowly = async (): Promise<string> => {
    const { authorization } = harness.authorization();
    const socket = await connect(harness.apiPort);
    const headers = `host: localhost\r\nauthorization: ${authorization}\r\ncontent-type: text/yaml\r\ncontent-length: 1000000`;
    socket.write(`POST /api/v1/config/validate HTTP/1.1\r\n${headers}\r\n\r\n`);
    drips = setInterval(() => socket.write('x'), 100);
    return await text(socket);
  };

  beforeAll(async () => {
    harness = await EphdHarness.create();
    await harness.start();
    slow = sendSlowly();
  });
  afterAll(async () => {
    clearInterval(drips);
    await harness[Symbol.asyncDispose]();
  });

  const refusals = async (): Promise<number> =>
    (await harness.read('/api/v1/audit?type=audit.refused&limit=1000', eventListSchema)).events.length;

  it('answers others while 10,000 connections send nothing or a part of a head, and closes them', async () => {
    const attackers: Socket[] = [];
    onTestFinished(() => {
      for (const socket of attackers) socket.destroy();
    });
    while (attackers.length < 10_000) {
      const more = await Promise.all(Array.from({ length: 200 }, () => connect(harness.apiPort)));
      for (const [index, socket] of more.entries()) if (index % 2 === 0) socket.write('GET /healthz HTTP/1.1\r\nhost: ');
      attackers.push(...more.map((socket) => socket.resume()));
      expect((await harness.anonymousApi('/healthz')).status).toBe(200);
      expect((await harness.api('/api/v1/environments')).status).toBe(200);
    }
    await expect.poll(() => attackers.filter(({ readyState }) => readyState !== 'closed').length).toBe(0);
  }, 90_000);

  it.each([
    ['GET /api/v1/environments/..%2f..%2fmetrics', 404],
    ['GET /api/v1/environments/%2e%2e%2f%2e%2e/logs', 404],
    ['GET /api/v1/environments/..%5c..%5cetc%5cpasswd', 404],
    ['GET /api/v1/environments/%00', 404],
    ['GET /api/v1/environments/%zz', 404],
    ['GET /schemas/..%2f..%2fpackage.json', 404],
    ['GET /schemas/../../package.json', 404],
    ['GET //evil.example/api/v1/environments', 404],
    ['GET /api/v1/environments/%0d%0ax-evil:%20yes', 404],
    ['DELETE /api/v1/tokens/%0d%0ax-evil:%20yes', 400],
    ['POST /hooks/git?project=%0d%0ax-evil:%20yes', 404],
  ])('finds nothing for %s', async (line, status) => {
    const { authorization } = harness.authorization();
    const headers = `host: localhost\r\nauthorization: ${authorization}\r\nx-request-id: of-an-attacker\r\nconnection: close`;
    const answer = await exchange(harness.apiPort, `${line} HTTP/1.1\r\n${headers}\r\n\r\n`);
    const [head = '', body = ''] = answer.split('\r\n\r\n');
    expect(head.split('\r\n')[0]).toMatch(new RegExp(`^HTTP/1.1 ${status} `));
    expect(head).not.toMatch(/x-evil|of-an-attacker/i);
    expect(body).not.toContain('"private"');
  });

  it.each([
    [{ host: 'rebound.example' }, 'ephd answers only requests to localhost'],
    [{ host: 'localhost.evil.example' }, 'ephd answers only requests to localhost'],
    [{ origin: 'http://evil.example' }, 'ephd does not answer requests from other sites'],
    [{ origin: 'null' }, 'ephd does not answer requests from other sites'],
    [{ origin: 'http://shop-x-1.localhost', 'sec-fetch-site': 'same-site' }, 'ephd does not answer requests from other sites'],
    [{ 'sec-fetch-site': 'cross-site' }, 'ephd does not answer requests from other sites'],
    [{ 'sec-fetch-site': 'same-site' }, 'ephd does not answer requests from other sites'],
    [{ 'sec-fetch-site': 'same-origin' }, undefined],
    [{ 'sec-fetch-site': 'none' }, undefined],
    [{}, undefined],
  ])('checks where an upgrade comes from: %j', async (more, because) => {
    const token = harness.authorization().authorization?.replace('Bearer ', '') ?? '';
    const headers = {
      host: `127.0.0.1:${harness.apiPort}`,
      connection: 'Upgrade',
      upgrade: 'websocket',
      'sec-websocket-version': '13',
      'sec-websocket-key': 'dGhlIHNhbXBsZSBub25jZQ==',
      'sec-websocket-protocol': `${execProtocol}, ${tokenProtocol}${token}`,
      ...more,
    };
    const head = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
    const line = 'GET /api/v1/environments/none/exec?command=true HTTP/1.1\r\n';
    const answer = await exchange(harness.apiPort, `${line}${head.join('')}\r\n`);
    // Whoever passes learns that there is no such environment.
    expect(answer).toMatch(because === undefined ? /^HTTP\/1.1 404 / : /^HTTP\/1.1 403 /);
    expect(answer).toContain(because ?? 'there is no environment');
  });

  it.each([
    ['POST', '/api/v1/plan', 413],
    ['POST', '/api/v1/config/validate', 413],
    ['POST', '/api/v1/auth/login', 413],
    ['POST', '/hooks/git', 202],
    ['GET', '/api/v1/environments', 200],
  ])('does not read an endless body of %s %s', async (method, path, status) => {
    const { authorization } = harness.authorization();
    const socket = await connect(harness.apiPort);
    const headers = `host: localhost\r\nauthorization: ${authorization}\r\ntransfer-encoding: chunked`;
    socket.write(`${method} ${path} HTTP/1.1\r\n${headers}\r\n\r\n`);
    const chunk = `10000\r\n${'x'.repeat(0x10000)}\r\n`;
    const drip = setInterval(() => socket.write(chunk), 1);
    onTestFinished(() => clearInterval(drip));
    const answer = await text(socket);
    expect(answer).toMatch(new RegExp(`^HTTP/1.1 ${status} `));
    expect(socket.bytesWritten).toBeLessThan(64 * 1024 * 1024);
  });

  it('ends a request whose body comes too slowly, although its token is valid', async () => {
    expect(await slow).toMatch(/^HTTP\/1\.1 408 /);
  }, 60_000);

  it('does not unpack a body', async () => {
    const bomb = gzipSync(Buffer.alloc(8 * 1024 * 1024, ' '));
    const sending = request({
      host: '127.0.0.1',
      port: harness.apiPort,
      path: '/api/v1/plan',
      method: 'POST',
      headers: { ...harness.authorization(), 'content-encoding': 'gzip', 'content-type': 'application/json' },
    });
    sending.end(bomb);
    const [answer] = (await once(sending, 'response')) as [IncomingMessage];
    expect([answer.statusCode, problemSchema.parse(JSON.parse(await text(answer))).detail]).toEqual([
      400,
      'the body is not JSON',
    ]);
  });

  it('says in every answer what is left of its limits', async () => {
    const { headers } = await harness.api('/api/v1/environments');
    expect(headers).toMatchObject({
      'ratelimit-policy': '"requests";q=2000;w=20, "changes";q=1000;w=1000, "refusals";q=200;w=600',
      ratelimit: expect.stringMatching(/^"requests";r=19\d\d;t=\d+$/),
    });
    const page = await harness.anonymousApi('/');
    expect([page.status, page.headers.ratelimit]).toEqual([200, expect.stringMatching(/^"requests";r=19\d\d;t=\d+$/)]);
  });

  it('bounds refusals of an address, and neither records more nor refuses those who have a token', async () => {
    const tries = [
      ...Array.from({ length: 150 }, () => harness.anonymousApi('/api/v1/environments', { method: 'POST' })),
      ...Array.from({ length: 150 }, () => harness.anonymousApi('/api/v1/auth/login', { method: 'POST', body: 'no code' })),
    ];
    const answers = await Promise.all(tries);
    const late = answers.filter(({ status }) => status === 429);
    expect(late.length).toBeGreaterThanOrEqual(90);
    for (const { headers, body } of late) {
      expect(headers).toMatchObject({
        'retry-after': expect.stringMatching(/^[1-3]$/),
        ratelimit: expect.stringMatching(/;r=0;/),
      });
      expect(problemSchema.parse(JSON.parse(body))).toMatchObject({ code: 'api.too_many', status: 429 });
    }
    expect((await harness.api('/api/v1/environments')).status).toBe(200);
    expect((await harness.anonymousApi('/healthz')).status).toBe(200);
    const code = JSON.parse((await harness.api('/api/v1/auth/codes', { method: 'POST' })).body) as { code: string };
    const signIn = { method: 'POST', body: JSON.stringify({ code: code.code }) };
    expect((await harness.anonymousApi('/api/v1/auth/login', signIn)).status).toBe(201);
    expect(await refusals()).toBeLessThanOrEqual(210);
  });
});

describe('a person with tokens', () => {
  /** Those that ephd let through. */
  const count = async (times: number, ask: () => Promise<{ readonly status: number }>): Promise<number> => {
    const answers = await Promise.all(Array.from({ length: times }, ask));
    return answers.filter(({ status }) => status !== 429).length;
  };

  it('cannot push out the audit history with links to the dashboard, nor with commands that never run', async () => {
    await using harness = await EphdHarness.create();
    const config = join(harness.folder, 'ephd.yaml');
    const person = 'https://id.example.com#7';
    const rules = [{ who: { person }, role: 'developer' }];
    const projects = [{ name: 'shop', location: harness.repository.path, trusted: true }];
    writeFileSync(config, JSON.stringify({ projects, access: { rules } }));
    await harness.start({ projects: [], args: ['--config', config] });
    const { id } = await harness.untilReady('preview/one', await harness.repository.push('preview/one', app(oneService)));
    const create = async () => {
      const body = JSON.stringify({ person, scope: 'write', for: '1h' });
      const answer = await harness.api('/api/v1/tokens', { method: 'POST', body });
      return { authorization: `Bearer ${newTokenSchema.parse(JSON.parse(answer.body)).token}` };
    };
    const tokens = [await create(), await create()];
    let through = 0;
    for (const headers of tokens)
      through += await count(600, () => harness.anonymousApi('/api/v1/auth/codes', { method: 'POST', headers }));
    expect(through).toBeGreaterThanOrEqual(1_000);
    const path = `/api/v1/environments/${id}/exec?command=true`;
    for (const headers of tokens) through += await count(50, () => harness.anonymousApi(path, { headers }));
    expect(through).toBeLessThan(1_100);
    const { body } = await harness.anonymousApi('/api/v1/auth/codes', { method: 'POST', headers: tokens[0] ?? {} });
    expect(problemSchema.parse(JSON.parse(body))).toMatchObject({
      code: 'api.too_many',
      detail: 'you have made too many changes',
    });
    const { events } = await harness.read('/api/v1/audit?type=audit.changed&limit=1000&text=exec', eventListSchema);
    expect(events.length).toBeLessThan(100);
    // Nobody else has to wait.
    expect((await harness.api('/api/v1/auth/codes', { method: 'POST' })).status).toBe(201);
  }, 60_000);
});

describeWith(openssl, 'ephd with TLS', () => {
  it('serves pages of allowed origins and believes its proxies; eph finds it', async () => {
    await using harness = await EphdHarness.create();
    const file = (name: string): string => join(harness.folder, name);
    makeCertificate(harness.folder, 'eph');
    const origin = 'https://portal.example.com';
    const config = {
      api: {
        host: '0.0.0.0',
        tls: { certificate: 'eph.pem', key: 'eph.key' },
        url: 'https://eph.example.com',
        allowed_origins: [origin],
        trusted_proxies: ['127.0.0.0/8'],
      },
    };
    writeFileSync(file('ephd.yaml'), JSON.stringify(config));
    await harness.start({ args: ['--config', file('ephd.yaml')] });

    const ca = readFileSync(file('eph.pem'));
    const ask = async (
      method: string,
      path: string,
      headers: Readonly<Record<string, string>> = {},
    ): Promise<{ status: number; headers: IncomingHttpHeaders; body: string }> => {
      const sending = requestTls({
        host: '127.0.0.1',
        servername: 'eph.example.com',
        port: harness.apiPort,
        ca,
        method,
        path,
        headers: { ...headers },
      }).end();
      const [answer] = (await once(sending, 'response')) as [IncomingMessage];
      return { status: answer.statusCode ?? 0, headers: answer.headers, body: await text(answer) };
    };
    const page = { origin, 'sec-fetch-site': 'cross-site', host: 'eph.example.com' };
    const preflight = { ...page, 'access-control-request-method': 'DELETE', 'access-control-request-headers': 'authorization' };
    expect(await ask('OPTIONS', '/api/v1/environments', preflight)).toMatchObject({
      status: 204,
      headers: {
        'access-control-allow-origin': origin,
        'access-control-allow-methods': 'GET, POST, PUT, DELETE',
        'access-control-allow-headers': expect.stringContaining('authorization'),
        vary: 'origin',
      },
    });
    const answer = await ask('GET', '/api/v1/environments', { ...page, ...harness.authorization() });
    expect(answer).toMatchObject({
      status: 200,
      headers: { 'access-control-allow-origin': origin, vary: 'origin, authorization' },
    });
    expect(answer.headers['access-control-allow-credentials']).toBeUndefined();
    const others = await ask('GET', '/api/v1/environments', { ...harness.authorization() });
    expect([others.status, others.headers['access-control-allow-origin']]).toEqual([200, undefined]);
    for (const headers of [
      { ...preflight, origin: 'https://evil.example' },
      { ...preflight, host: 'evil.example' },
    ]) {
      const refused = await ask('OPTIONS', '/api/v1/environments', headers);
      expect([refused.status, refused.headers['access-control-allow-origin']]).toEqual([403, undefined]);
    }

    await ask('GET', '/api/v1/environments', { 'x-forwarded-for': '203.0.113.9, 198.51.100.7' });
    const lastAddress = async (): Promise<unknown> => {
      const { body } = await ask('GET', '/api/v1/audit', { ...harness.authorization() });
      return eventListSchema.parse(JSON.parse(body)).events.at(-1)?.details['address'];
    };
    await expect.poll(lastAddress).toBe('198.51.100.7');

    const link = await ask('POST', '/api/v1/auth/codes', { ...harness.authorization() });
    expect(JSON.parse(link.body)).toMatchObject({ url: expect.stringMatching(/^https:\/\/eph\.example\.com\/#code=/) });

    const server = `https://127.0.0.1:${harness.apiPort}`;
    const run = (more: object) =>
      promisify(execFile)(process.execPath, [eph, '--server', server, 'list', '--json'], {
        env: { PATH: process.env['PATH'], HOME: harness.folder, XDG_STATE_HOME: harness.stateFolder, ...more },
      });
    expect(JSON.parse((await run({ NODE_EXTRA_CA_CERTS: file('eph.pem') })).stdout)).toMatchObject({ environments: [] });
    await expect(run({})).rejects.toMatchObject({ stderr: expect.stringContaining('self-signed certificate') });
  });
});

describe('a squatter on the port of ephd', () => {
  it('keeps ephd from starting, and gets no token, or a dead one', async () => {
    await using harness = await EphdHarness.create();
    const seen: (string | undefined)[] = [];
    const squat = async (): Promise<AsyncDisposable> => {
      const server = createServer((incoming, response) => {
        seen.push(incoming.headers.authorization);
        response.end('{}');
      }).listen(harness.apiPort, '127.0.0.1');
      await once(server, 'listening');
      return {
        [Symbol.asyncDispose]: async () => {
          const closed = once(server, 'close');
          server.close().closeAllConnections();
          await closed;
        },
      };
    };
    const list = () =>
      promisify(execFile)(process.execPath, [eph, 'list'], {
        env: {
          PATH: process.env['PATH'],
          HOME: harness.folder,
          XDG_STATE_HOME: harness.stateFolder,
          EPH_SERVER: `http://127.0.0.1:${harness.apiPort}`,
        },
      }).catch(() => undefined);

    {
      await using _ = await squat();
      const { code, stderr } = await harness.launch().exited;
      expect([code, stderr]).toEqual([1, expect.stringContaining(`port ${harness.apiPort} is taken on 127.0.0.1`)]);
      await list();
      expect(seen).toEqual([undefined]);
    }
    const first = await harness.start();
    const { authorization = '' } = harness.authorization();
    await first.stop();
    expect(readdirSync(join(harness.stateFolder, 'eph'))).toEqual([]);
    {
      await using _ = await squat();
      await list();
      expect(seen).toEqual([undefined, undefined]);
    }
    const second = await harness.start();
    const { authorization: killed = '' } = harness.authorization();
    await second.kill();
    {
      await using _ = await squat();
      await list();
      expect(seen).toEqual([undefined, undefined, killed]);
    }
    await harness.start();
    for (const dead of [authorization, killed])
      expect((await harness.api('/api/v1/environments', { headers: { authorization: dead } })).status).toBe(401);
  });
});
