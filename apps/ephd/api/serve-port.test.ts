import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { connect, createServer, type Server, type Socket } from 'node:net';
import { EphError, portProtocol, routes } from '@eph/contract';
import { type HttpBindings, serve } from '@hono/node-server';
import { Hono } from 'hono';
import { describe, expect, it, onTestFinished } from 'vitest';
import { WebSocket } from 'ws';
import { administrator } from './authenticate.ts';
import { LongUse, LongUses } from './long-use.ts';
import { servePort } from './serve-port.ts';
import { acceptUpgrades, isUpgrade, requireUpgrade } from './web-socket.ts';

const path = '/api/v1/environments/one/port-forward';

const untilListening = async (server: Server): Promise<number> => {
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => void server.close());
  return (server.address() as { port: number }).port;
};

/** A server that connects to a component of this machine. */
const start = async (component: (visitor: Socket) => void) => {
  const visitors: Socket[] = [];
  const target = await untilListening(
    createServer({ allowHalfOpen: true }, (visitor) => {
      visitors.push(visitor);
      visitor.on('error', () => undefined);
      component(visitor);
    }),
  );
  const revoked = new AbortController();
  const caller = { identity: administrator, how: 'file', session: undefined, may: () => true } as const;
  const watch = () => ({ signal: revoked.signal, [Symbol.dispose]: () => undefined });
  const never = new AbortController().signal;
  const app = new Hono<{ Bindings: HttpBindings }>();
  app.get(path, (c) => {
    requireUpgrade(c.env, portProtocol);
    const options = { access: { watch }, projects: new Map(), closing: never, uses: new LongUses() };
    const use = new LongUse(routes.forwardPort, caller, undefined, options);
    return servePort(c.env, use, async () => {
      if (c.req.query('port') === '1') throw new EphError('component.not_ready', 'web does not listen on port 1.');
      const connection = connect({ port: target, host: '127.0.0.1', allowHalfOpen: true });
      await once(connection, 'connect');
      return connection;
    });
  });
  const server = serve({ fetch: app.fetch, port: 0, serverOptions: { shouldUpgradeCallback: isUpgrade } });
  acceptUpgrades(server);
  await once(server, 'listening');
  onTestFinished(() => {
    revoked.abort(new EphError('api.unauthorized', 'the test has ended'));
    server.close();
  });
  const { port } = server.address() as { port: number };
  const open = async (query = ''): Promise<WebSocket> => {
    const socket = new WebSocket(`ws://127.0.0.1:${port}${path}${query}`, [portProtocol]);
    onTestFinished(() => socket.terminate());
    socket.once('open', () => socket.pause());
    await once(socket, 'open');
    return socket;
  };
  return { open, visitors, revoked };
};

/** All that it sends, until it is closed. */
const collect = async (socket: WebSocket) => {
  const bytes: Buffer[] = [];
  const texts: string[] = [];
  socket.on('message', (data: Buffer, isBinary) => (isBinary ? bytes.push(data) : texts.push(data.toString())));
  socket.resume();
  const [code] = (await once(socket, 'close')) as [number];
  return { bytes: Buffer.concat(bytes), texts, code };
};

const echo = (visitor: Socket): void => void visitor.pipe(visitor);

describe('a connection over a WebSocket', () => {
  it('carries bytes unchanged, until the client sends no more and the component has answered', async () => {
    const { open } = await start(echo);
    const sent = randomBytes(5_000_000);
    const socket = await open();
    for (let at = 0; at < sent.length; at += 500_000) socket.send(sent.subarray(at, at + 500_000));
    socket.send(Buffer.alloc(0));
    const { bytes, texts, code } = await collect(socket);
    expect([bytes.equals(sent), texts, code]).toEqual([true, [], 1005]);
  });

  it('lets a component wait whose client does not read, and a client whose component does not', async () => {
    const chunk = Buffer.alloc(65_536);
    let written = 0;
    const { open } = await start((visitor) => {
      visitor.pause();
      const write = (): void => {
        while (written < 60_000_000) {
          written += chunk.length;
          if (!visitor.write(chunk)) return void visitor.once('drain', write);
        }
      };
      write();
    });
    const socket = await open();
    for (let times = 0; times < 1_000; times += 1) socket.send(chunk);
    await new Promise((resolve) => setTimeout(resolve, 1_000));
    expect(socket.bufferedAmount).toBeGreaterThan(30_000_000);
    expect(written).toBeLessThan(30_000_000);
  });

  it('ends with the component, with its client, and with the reason when the caller may not go on', async () => {
    const { open, visitors, revoked } = await start((visitor) => visitor.write('hello'));
    const [one, two, three] = await Promise.all([open(), open(), open()]);
    await expect.poll(() => visitors.length).toBe(3);
    const collected = [one, two, three].map(collect);
    visitors[0]?.end();
    expect(await Promise.race(collected)).toMatchObject({ bytes: Buffer.from('hello'), texts: [], code: 1005 });
    const open2 = [one, two, three].filter(({ readyState }) => readyState === WebSocket.OPEN);
    open2[0]?.terminate();
    await expect.poll(() => visitors.filter(({ destroyed, readableEnded }) => destroyed || readableEnded).length).toBe(2);
    revoked.abort(new EphError('api.unauthorized', 'the token was revoked'));
    const ends = (await Promise.all(collected)).flatMap(({ texts }) => texts);
    expect(ends.map((one) => JSON.parse(one) as unknown)).toMatchObject([{ code: 'api.unauthorized' }]);
    await expect.poll(() => visitors.filter(({ destroyed, readableEnded }) => destroyed || readableEnded).length).toBe(3);
  });

  it('says why it could not be made, and takes nothing but bytes', async () => {
    const { open } = await start(echo);
    const refused = await collect(await open('?port=1'));
    expect(refused.texts.map((one) => JSON.parse(one) as unknown)).toMatchObject([
      { code: 'component.not_ready', message: 'web does not listen on port 1.' },
    ]);
    const socket = await open();
    socket.send('text');
    expect((await collect(socket)).texts.join('')).toContain('api.bad_request');
    const ended = await open();
    ended.send(Buffer.alloc(0));
    ended.send(Buffer.from('more'));
    expect((await collect(ended)).texts.join('')).toMatch(/^$|api\.bad_request/);
    const large = await open();
    large.send(Buffer.alloc(2_000_000));
    expect((await collect(large)).code).toBe(1009);
  });
});
