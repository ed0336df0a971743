import { once } from 'node:events';
import { connect, createServer, type Socket } from 'node:net';
import { text } from 'node:stream/consumers';
import { afterEach, beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import type { WebSocket } from 'ws';
import { type FakeEphd, fakeComponent, fakeEnvironment, startFakeEphd } from './ephd.fake.ts';
import { exitCodes } from './exit-codes.ts';
import { eph, type Session, startEph } from './terminal.fake.ts';

let ephd: FakeEphd;
let asked: string[];

beforeEach(async () => {
  ephd = await startFakeEphd();
  ephd.environments = [fakeEnvironment()];
  asked = [];
});
afterEach(async () => ephd.close());

const start = (...args: readonly string[]): Session => {
  const session = startEph(['--server', ephd.address, 'port-forward', ...args]);
  onTestFinished(async () => {
    session.interrupt();
    await session.ended;
  });
  return session;
};

const untilListening = async ({ stdout, stderr }: Session): Promise<number> => {
  await expect.poll(() => stdout.text + stderr.text, { timeout: 10_000 }).toContain('\n');
  return Number(/127\.0\.0\.1:(\d+)/.exec(stdout.text)?.[1]);
};

const open = async (port: number): Promise<Socket> => {
  const socket = connect({ port, host: '127.0.0.1', allowHalfOpen: true });
  socket.on('error', () => undefined);
  onTestFinished(() => void socket.destroy());
  await once(socket, 'connect');
  return socket;
};

const untilClosed = (socket: Socket): Promise<void> => new Promise((resolve) => socket.once('close', () => resolve()).resume());

const serve = (each: (socket: WebSocket) => void): void => {
  ephd.connect = (socket, query) => {
    asked.push(query.toString());
    each(socket);
  };
};

/** Answers what it got when the other side has sent everything. */
const answer = (socket: WebSocket): void => {
  let heard = '';
  socket.on('message', (data: Buffer) => {
    heard += data.toString();
    if (data.length > 0) return;
    socket.send(Buffer.from(`heard ${heard}`));
    socket.close();
  });
};

describe('port-forward', () => {
  it('listens here, and connects whoever comes, each for itself', async () => {
    serve(answer);
    const session = start('shop', '0:8080');
    const port = await untilListening(session);
    expect(session.stdout.text).toBe(`127.0.0.1:${port} leads to port 8080 of web in shop-serene-ocean-4207; Ctrl-C ends it.\n`);
    const sockets = await Promise.all([open(port), open(port)]);
    const texts = sockets.map((socket, index) => text(socket.end(`visitor ${index}`)));
    expect(await Promise.all(texts)).toEqual(['heard visitor 0', 'heard visitor 1']);
    expect(asked).toEqual(['component=web&port=8080', 'component=web&port=8080']);
    session.interrupt();
    expect(await session.ended).toBe(exitCodes.ok);
    const refused = connect(port, '127.0.0.1');
    await expect(once(refused, 'connect')).rejects.toMatchObject({ code: 'ECONNREFUSED' });
  });

  it('says why a connection failed, once, and goes on listening', async () => {
    serve((socket) => {
      socket.send(JSON.stringify({ code: 'component.not_ready', message: 'web does not listen on port 81.' }));
      socket.close();
    });
    const session = start('shop', '0:81');
    const port = await untilListening(session);
    for (let times = 0; times < 2; times += 1) await untilClosed(await open(port));
    expect(session.stderr.text).toBe('eph: web does not listen on port 81.\n');
    ephd.connect = undefined;
    await untilClosed(await open(port));
    expect(session.stderr.text).toContain('you may not use environments.connect');
    serve(answer);
    expect(await text((await open(port)).end('you'))).toBe('heard you');
    serve((socket) => socket.terminate());
    await untilClosed(await open(port));
    expect(session.stderr.text).toContain('was lost');
  });

  it('says at once what it listens for if that is not ready', async () => {
    ephd.environments = [fakeEnvironment({ components: [fakeComponent({ name: 'db', current: null, next: null })] })];
    const session = start('shop', 'db', '0:5432');
    await untilListening(session);
    await expect.poll(() => session.stderr.text).toBe('eph: db is not ready yet.\n');
  });

  it('waits for whoever does not read, on both sides', async () => {
    const received: number[] = [];
    let flood: WebSocket | undefined;
    serve((socket) => {
      flood = socket;
      socket.on('message', (data: Buffer) => {
        received.push(data.length);
        socket.pause();
      });
      const chunk = Buffer.alloc(65_536);
      for (let times = 0; times < 1_000; times += 1) socket.send(chunk);
    });
    const visitor = await open(await untilListening(start('shop', '0:80')));
    visitor.pause();
    const chunk = Buffer.alloc(65_536);
    let written = 0;
    while (written < 60_000_000 && visitor.write(chunk)) {
      written += chunk.length;
      await new Promise((resolve) => setTimeout(resolve, 1));
    }
    expect(written).toBeLessThan(60_000_000);
    await expect.poll(() => flood?.bufferedAmount ?? 0).toBeGreaterThan(30_000_000);
    expect(received).toHaveLength(1);
    let length = 0;
    for await (const bytes of visitor) {
      length += (bytes as Buffer).length;
      if (length === 65_536_000) break;
    }
    expect(length).toBe(65_536_000);
  });

  it('refuses what it cannot do, and says what to do', async () => {
    const run = (...args: readonly string[]) => eph(['--server', ephd.address, 'port-forward', ...args]);
    for (const port of ['http', '0', '70000', '1:2:3'])
      expect(await run('shop', port)).toMatchObject({ code: exitCodes.usage, err: expect.stringContaining('write 8080') });
    expect(await run('shop', 'redis', '80')).toMatchObject({
      code: exitCodes.notFound,
      err: expect.stringContaining('no component "redis"; it has: web'),
    });
    expect(await run('absent', '80')).toMatchObject({ code: exitCodes.notFound });
    const taken = createServer().listen(0, '127.0.0.1');
    onTestFinished(() => void taken.close());
    await once(taken, 'listening');
    const { port } = taken.address() as { port: number };
    expect(await run('shop', `${port}:80`)).toMatchObject({
      code: exitCodes.failure,
      err: expect.stringContaining(`cannot listen on port ${port}: another program listens there`),
    });
    expect((await run('--help')).out).toContain('[local:]port');
  });
});
