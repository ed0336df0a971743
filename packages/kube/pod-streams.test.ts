import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { systemClock } from '@eph/engine/time/system-clock';
import { describe, expect, it, onTestFinished } from 'vitest';
import { type WebSocket, WebSocketServer } from 'ws';
import { openCluster } from './cluster.ts';
import { computeLoggedContainers, parseLogLine } from './pod-log.ts';

const { signal } = new AbortController();
const pod = { namespace: 'shop', name: 'web-1' };

/** The other end of streams: what a kubelet says, message by message. */
const startKubelet = async (
  serve: (socket: WebSocket, request: IncomingMessage) => void,
  refuse?: { status: number; body: string },
) => {
  const folder = mkdtempSync(join(tmpdir(), 'eph-streams-'));
  const server = createServer();
  const sockets = new WebSocketServer({ noServer: true, handleProtocols: (protocols) => [...protocols][0] ?? false });
  server.on('upgrade', (request, socket, head) => {
    if (refuse !== undefined)
      return void socket.end(`HTTP/1.1 ${refuse.status} No\r\ncontent-length: ${refuse.body.length}\r\n\r\n${refuse.body}`);
    sockets.handleUpgrade(request, socket, head, (opened) => serve(opened, request));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const config = {
    clusters: [{ name: 'c', cluster: { server: address } }],
    users: [{ name: 'u', user: { token: 'a-token' } }],
    contexts: [{ name: 'x', context: { cluster: 'c', user: 'u' } }],
    'current-context': 'x',
  };
  writeFileSync(join(folder, 'config'), JSON.stringify(config));
  const cluster = openCluster({
    name: 'test',
    location: { kubeconfig: join(folder, 'config') },
    clock: systemClock,
    random: Math.random,
  });
  onTestFinished(async () => {
    await cluster[Symbol.asyncDispose]();
    for (const socket of sockets.clients) socket.terminate();
    server.close();
    rmSync(folder, { recursive: true });
  });
  return { pods: cluster.pods, sockets };
};

const frame = (channel: number, content: string | Buffer): Buffer => Buffer.concat([Buffer.of(channel), Buffer.from(content)]);
const end = (code: number): Buffer =>
  frame(
    3,
    JSON.stringify(
      code === 0
        ? { status: 'Success' }
        : { status: 'Failure', reason: 'NonZeroExitCode', details: { causes: [{ reason: 'ExitCode', message: String(code) }] } },
    ),
  );
const command = { container: 'web', command: ['sh', '-c', 'echo a&b'] };

describe('a command in a pod', () => {
  it('has its words, its input and its outputs apart, and ends with its exit code', async () => {
    const requests: IncomingMessage[] = [];
    const { pods } = await startKubelet((socket, request) => {
      requests.push(request);
      socket.on('message', (message: Buffer) => {
        if (message[0] === 0) socket.send(frame(1, `heard ${message.subarray(1).toString()}`));
        else if (message.equals(Buffer.of(255, 0))) {
          socket.send(frame(2, 'trouble'));
          socket.send(end(3));
          socket.close();
        }
      });
    });
    const session = await pods.exec(pod, command, signal);
    session.input.end('hello');
    expect(await Promise.all([text(session.output), text(session.errors), session.exited])).toEqual([
      'heard hello',
      'trouble',
      3,
    ]);
    const url = new URL(requests[0]?.url ?? '', 'http://x');
    expect([url.pathname, url.searchParams.getAll('command'), url.searchParams.get('tty')]).toEqual([
      '/api/v1/namespaces/shop/pods/web-1/exec',
      ['sh', '-c', 'echo a&b'],
      'false',
    ]);
    expect(requests[0]?.headers.authorization).toBe('Bearer a-token');
  });

  it('with a terminal hears how large that is', async () => {
    const sizes: string[] = [];
    const { pods } = await startKubelet((socket) =>
      socket.on('message', (message: Buffer) => sizes.push(message.toString('latin1', 1))),
    );
    const session = await pods.exec(pod, { ...command, terminal: { columns: 80, rows: 24 } }, signal);
    session.resize(100, 30);
    await expect
      .poll(() => sizes.map((size) => JSON.parse(size)))
      .toEqual([
        { Width: 80, Height: 24 },
        { Width: 100, Height: 30 },
      ]);
  });

  it('waits while nobody reads what it prints', async () => {
    let sent = 0;
    const { pods } = await startKubelet((socket) => {
      const chunk = frame(1, Buffer.alloc(64 * 1024));
      const more = (): void =>
        socket.send(chunk, () => {
          sent += 1;
          if (socket.readyState === socket.OPEN) setImmediate(more);
        });
      more();
    });
    const abort = new AbortController();
    const session = await pods.exec(pod, command, abort.signal);
    let before = -1;
    // It comes to rest.
    await expect
      .poll(() => [before, (before = sent)], { interval: 300 })
      .toSatisfy(([a, b]: number[]) => a === b && (b ?? 0) > 0);
    expect(before).toBeLessThan(1_000);
    for (let chunks = 0; chunks < 50; chunks += 1) await once(session.output, 'readable').then(() => session.output.read());
    await expect.poll(() => sent).toBeGreaterThan(before);
    abort.abort(new Error('enough'));
    await expect(session.exited).rejects.toThrow('enough');
  });

  it.each([
    ['breaks off', (socket: WebSocket) => socket.terminate(), 'cluster.unreachable'],
    ['ends without a word', (socket: WebSocket) => socket.close(), 'cluster.unreachable'],
    [
      'says that it cannot run',
      (socket: WebSocket) => socket.send(frame(3, '{"status":"Failure","message":"no such file"}')),
      'component.not_ready',
    ],
    ['says something senseless', (socket: WebSocket) => socket.send(frame(3, 'nonsense')), 'component.not_ready'],
  ])('whose connection %s has no exit code', async (_, act, code) => {
    const { pods } = await startKubelet((socket) => {
      for (const odd of [Buffer.alloc(0), frame(9, 'unknown'), Buffer.of(255, 1)]) socket.send(odd);
      socket.send('text', () => act(socket));
    });
    const session = await pods.exec(pod, command, signal);
    session.output.resume();
    await expect(session.exited).rejects.toMatchObject({ code });
  });

  it.each([
    [401, '', 'cluster.refused'],
    [404, '{"kind":"Status","message":"pods \\"web-1\\" not found"}', 'object.missing'],
    [403, '{"kind":"Status","message":"User \\"eph\\" cannot create resource \\"pods/exec\\""}', 'cluster.refused'],
    [500, 'error dialing backend', 'cluster.unreachable'],
  ])('is refused with status %i', async (status, body, code) => {
    const { pods } = await startKubelet(() => undefined, { status, body });
    await expect(pods.exec(pod, command, signal)).rejects.toMatchObject({ code });
  });
});

describe('a port of a pod', () => {
  it('is a connection, wherever the port at its beginning is cut', async () => {
    const { pods } = await startKubelet((socket, request) => {
      expect(request.url).toBe('/api/v1/namespaces/shop/pods/web-1/portforward?ports=80');
      socket.send(frame(0, Buffer.of(80)));
      socket.send(frame(0, Buffer.of(0)));
      socket.send(frame(1, Buffer.of(80, 0)));
      socket.on('message', (message: Buffer) => {
        socket.send(frame(0, `heard ${message.subarray(1).toString()}`));
        socket.close(1000);
      });
    });
    const connection = await pods.connect(pod, 80, signal);
    connection.write('GET');
    expect(await text(connection)).toBe('heard GET');
  });

  it('on which nobody listens is an error', async () => {
    const { pods } = await startKubelet((socket) => {
      socket.send(frame(1, Buffer.concat([Buffer.of(80, 0), Buffer.from('connection refused')])));
      socket.close(1000);
    });
    const connection = await pods.connect(pod, 80, signal);
    await expect(text(connection)).rejects.toMatchObject({
      code: 'component.not_ready',
      message: 'Nothing listens on port 80 of pod shop/web-1.',
    });
  });
});

describe('a line of a log', () => {
  it.each([
    ['2026-01-05T09:00:00.123456789Z hello world', '2026-01-05T09:00:00.123Z', '001767603600.123456789', 'hello world'],
    ['2026-01-05T10:00:00.5+01:00 hello\r', '2026-01-05T09:00:00.500Z', '001767603600.500000000', 'hello'],
    ['2026-01-05T09:00:00Z', '2026-01-05T09:00:00.000Z', '001767603600.000000000', ''],
    ['failed to open log', null, '', 'failed to open log'],
    ['2026-99-99T09:00:00Z hello', null, '', '2026-99-99T09:00:00Z hello'],
  ])('%j', (line, at, stamp, said) => {
    expect(parseLogLine(line)).toEqual({ at, stamp, text: said });
  });

  it('comes from each container, and from the one before', () => {
    const spec = { initContainers: [{ name: 'migrate' }], containers: [{ name: 'web' }, { name: 'proxy' }] };
    const status = { containerStatuses: [{ name: 'web', restartCount: 2 }] };
    expect(computeLoggedContainers({ apiVersion: 'v1', kind: 'Pod', metadata: { name: 'x' }, spec, status })).toEqual([
      { name: 'migrate', hasPrevious: false },
      { name: 'web', hasPrevious: true },
      { name: 'proxy', hasPrevious: false },
    ]);
  });
});
