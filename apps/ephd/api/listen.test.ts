import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { request } from 'node:https';
import { type AddressInfo, createServer, connect as open, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { connect as openTls, type TLSSocket } from 'node:tls';
import { silentLog } from '@eph/contract';
import { ManualClock } from '@eph/engine/time/clock.fake';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { describeWith } from '../../../test/parts/describe-with.ts';
import { makeCertificate, openssl } from '../../../test/parts/openssl.ts';
import { socketOf } from './connections.fake.ts';
import { Connections } from './connections.ts';
import { type Listener, type ListenOptions, listen } from './listen.ts';

const clock = new ManualClock();

const start = async (options: Partial<ListenOptions> = {}): Promise<Listener> => {
  const listener = await listen({
    fetch: () => new Response('ok'),
    host: '127.0.0.1',
    port: 0,
    connections: new Connections(),
    clock,
    log: silentLog,
    ...options,
  });
  onTestFinished(() => listener[Symbol.asyncDispose]());
  return listener;
};

const connect = async (port: number): Promise<Socket> => {
  const socket = open({ host: '127.0.0.1', port });
  // Being closed by the other side is what many of these are for.
  socket.on('error', () => undefined);
  onTestFinished(() => void socket.destroy());
  await once(socket, 'connect');
  return socket;
};

/** All that comes until the server closes the connection. */
const read = async (socket: Socket): Promise<string> => {
  let text = '';
  socket.setEncoding('utf8').on('data', (more: string) => {
    text += more;
  });
  await once(socket, 'close');
  return text;
};

const ask = async (port: number, head = 'GET / HTTP/1.1\r\nhost: x\r\n'): Promise<string> => {
  const socket = await connect(port);
  socket.write(`${head}connection: close\r\n\r\n`);
  return await read(socket);
};

describe('a listener', () => {
  it('answers', async () => {
    const { port } = await start();
    expect(await ask(port)).toMatch(/^HTTP\/1\.1 200 OK[^]*ok/);
  });

  it('refuses a port that somebody else has, on this or on every address', async () => {
    for (const host of ['127.0.0.1', '0.0.0.0', '::']) {
      const squatter = createServer().listen(0, host);
      await once(squatter, 'listening');
      onTestFinished(() => void squatter.close());
      const { port } = squatter.address() as AddressInfo;
      await expect(start({ port })).rejects.toThrow(`port ${port} is taken on 127.0.0.1; another ephd may be running`);
    }
    await expect(start({ host: '192.0.2.1' })).rejects.toThrow('ephd cannot listen on port 0 of 192.0.2.1: ');
  });

  it.each([
    ['a long header', `GET / HTTP/1.1\r\nhost: x\r\nx: ${'x'.repeat(17 * 1024)}\r\n`],
    ['many headers', `GET / HTTP/1.1\r\nhost: x\r\n${'x: y\r\n'.repeat(4_000)}`],
    ['a long address', `GET /${'x'.repeat(17 * 1024)} HTTP/1.1\r\nhost: x\r\n`],
  ])('refuses %s', async (_, head) => {
    const { port } = await start();
    expect(await ask(port, head)).toMatch(/^HTTP\/1\.1 431 /);
  });

  it('closes connections that send nothing or only a part of a head, and keeps an answer that takes long', async () => {
    const { promise, resolve } = Promise.withResolvers<Response>();
    const { port } = await start({ fetch: () => promise });
    const patient = ask(port);
    const idle = await connect(port);
    const slow = await connect(port);
    slow.write('GET / HTTP/1.1\r\nx: ');
    const drip = setInterval(() => slow.write('x'), 100);
    onTestFinished(() => clearInterval(drip));
    expect(await Promise.all([read(idle), read(slow)])).toEqual([
      expect.stringMatching(/^$|^HTTP\/1\.1 408 /),
      expect.stringMatching(/^HTTP\/1\.1 408 /),
    ]);
    resolve(new Response('at last'));
    expect(await patient).toContain('at last');
  });

  it('answers newcomers however many connections are open, and keeps those of known callers', async () => {
    const connections = new Connections();
    const { port } = await start({
      connections,
      fetch: (incoming, { incoming: { socket } }) => {
        if (incoming.headers.get('authorization') === null || !('remotePort' in socket)) return new Response('ok');
        connections.prove(socket);
        return new Response(new ReadableStream({ start: (stream) => stream.enqueue(Buffer.from('begun')) }));
      },
    });
    const known = await connect(port);
    known.write('GET / HTTP/1.1\r\nhost: x\r\nauthorization: known\r\n\r\n');
    await once(known, 'data');
    const flood: Socket[] = [];
    while (flood.length < 2_500) flood.push(...(await Promise.all(Array.from({ length: 100 }, () => connect(port)))));
    for (const socket of flood) socket.resume().write('GET / HTTP/1.1\r\nhost: x');
    expect(await ask(port)).toContain('ok');
    await expect.poll(() => flood.filter(({ readyState }) => readyState === 'closed').length).toBeGreaterThanOrEqual(500);
    expect(known.readyState).toBe('open');
  });
});

describeWith(openssl, 'a listener with TLS', () => {
  let folder = '';
  const use = (certificate: string, key = certificate): void => {
    writeFileSync(join(folder, 'used.pem'), readFileSync(join(folder, `${certificate}.pem`)));
    writeFileSync(join(folder, 'used.key'), readFileSync(join(folder, `${key}.key`)));
  };
  const secure = async (port: number): Promise<TLSSocket> => {
    const socket = openTls({ host: '127.0.0.1', port, rejectUnauthorized: false });
    onTestFinished(() => void socket.destroy());
    await once(socket, 'secureConnect');
    return socket;
  };
  const nameAt = async (port: number): Promise<unknown> => {
    const socket = await secure(port);
    const { subject } = socket.getPeerCertificate();
    socket.destroy();
    return subject.CN;
  };
  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), 'eph-tls-'));
    for (const name of ['first', 'second']) makeCertificate(folder, name);
  });
  afterAll(() => rmSync(folder, { recursive: true, force: true }));
  const files = () => ({ certificate: join(folder, 'used.pem'), key: join(folder, 'used.key') });

  it('uses a new certificate as soon as both files fit, and drops no connection', async () => {
    use('first');
    const warnings: string[] = [];
    const log = { ...silentLog, warn: (_: object, message: string) => void warnings.push(message) };
    const { port } = await start({ tls: files(), log });
    const old = await secure(port);
    expect(await nameAt(port)).toBe('first');

    use('second', 'first');
    for (let times = 1; times <= 3; times++) {
      clock.advance(10_000);
      await expect.poll(() => clock.pending).toBe(1);
    }
    expect(warnings).toEqual([expect.stringMatching(/^the files of api\.tls cannot be used: .*; the one before stays in use$/)]);
    expect(await nameAt(port)).toBe('first');

    use('second');
    clock.advance(10_000);
    await expect.poll(() => nameAt(port)).toBe('second');
    old.write('GET / HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n');
    expect(await read(old)).toContain('ok');
  });

  it('does not start without a pair that fits', async () => {
    use('first', 'second');
    await expect(start({ tls: files() })).rejects.toThrow('the files of api.tls cannot be used: ');
    await expect(start({ tls: { ...files(), key: join(folder, 'absent') } })).rejects.toThrow('no such file');
  });

  it('knows which connection a caller uses, behind the encryption', async () => {
    use('first');
    const connections = new Connections();
    const { port } = await start({
      tls: files(),
      connections,
      fetch: (_, { incoming: { socket } }) => {
        if ('remotePort' in socket) connections.prove(socket);
        return new Response(new ReadableStream({ start: (stream) => stream.enqueue(Buffer.from('begun')) }));
      },
    });
    const stream = request({ host: '127.0.0.1', port, ca: readFileSync(files().certificate) }).end();
    onTestFinished(() => void stream.destroy());
    await once(stream, 'response');
    const silent = await connect(port);
    for (let index = 1; index <= 2_000; index++) connections.add(socketOf('127.0.0.1', index));
    await once(silent, 'close');
    expect(stream.socket?.readyState).toBe('open');
  });
});
