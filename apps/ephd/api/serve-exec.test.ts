import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { connect } from 'node:net';
import { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import {
  connectExec,
  EphError,
  type ExecInput,
  type ExecOutput,
  encodeFrame,
  execProtocol,
  execWindow,
  routes,
  type Transport,
  tokenProtocol,
} from '@eph/contract';
import { startFakeSession } from '@eph/engine/provider/exec.fake';
import type { ExecSession } from '@eph/engine/provider/provider';
import { type HttpBindings, serve } from '@hono/node-server';
import { Hono } from 'hono';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { WebSocket } from 'ws';
import { administrator } from './authenticate.ts';
import { LongUse, LongUses } from './long-use.ts';
import { describeProblem } from './problems.ts';
import { serveExec } from './serve-exec.ts';
import { acceptUpgrades, isUpgrade, requireUpgrade } from './web-socket.ts';

const path = '/api/v1/environments/one/exec';

interface Started {
  readonly url: URL;
  readonly sessions: ExecSession[];
  /** Ends all commands. */
  readonly revoked: AbortController;
}

/** A server that runs commands on this machine. A command that begins with `refused` is refused, before or after the upgrade. */
const start = async (): Promise<Started> => {
  const sessions: ExecSession[] = [];
  const revoked = new AbortController();
  const caller = { identity: administrator, how: 'file', session: undefined, may: () => true } as const;
  const watch = () => ({ signal: revoked.signal, [Symbol.dispose]: () => undefined });
  const never = new AbortController().signal;
  const app = new Hono<{ Bindings: HttpBindings }>();
  app.get(path, (c) => {
    const command = c.req.queries('command') ?? [];
    if (command[0] === 'refused-early') throw new EphError('api.forbidden', 'you may not');
    requireUpgrade(c.env, execProtocol);
    const terminal = c.req.query('terminal') && { type: 'xterm', columns: 80, rows: 24 };
    const use = new LongUse(routes.exec, caller, undefined, {
      access: { watch },
      projects: new Map(),
      closing: never,
      uses: new LongUses(),
    });
    return serveExec(c.env, use, async () => {
      if (command[0] === 'refused-late') throw new EphError('isolation.missing', 'there is no sandbox');
      const session = await startFakeSession({ command, signal: use.signal, ...(terminal && { terminal }) }, never);
      sessions.push(session);
      return session;
    });
  });
  app.onError((error, c) => {
    const { status, problem } = describeProblem(error, 'r1');
    return c.json(problem, status, { 'content-type': 'application/problem+json' });
  });
  const server = serve({ fetch: app.fetch, port: 0, serverOptions: { shouldUpgradeCallback: isUpgrade } });
  acceptUpgrades(server);
  await once(server, 'listening');
  onTestFinished(async () => {
    revoked.abort(new EphError('api.unauthorized', 'the test has ended'));
    await new Promise((resolve) => server.close(resolve));
  });
  const { port } = server.address() as { port: number };
  return { url: new URL(`http://127.0.0.1:${port}/`), sessions, revoked };
};

const transportTo =
  (url: URL): Transport =>
  async ({ method, path: target }) => {
    const response = await fetch(new URL(target, url), { method });
    return {
      status: response.status,
      contentType: response.headers.get('content-type') ?? '',
      text: () => response.text(),
      chunks: () => Readable.from([]),
    };
  };

const exec = (url: URL, command: readonly string[], more: Partial<ExecInput> = {}) =>
  connectExec({ address: url, token: 'secret', transport: transportTo(url) }, { id: 'one', command, ...more });

const script = (source: string): readonly string[] => ['sh', '-c', source];

const collect = async (frames: AsyncIterable<ExecOutput>) => {
  const parts = { output: [] as Uint8Array[], errors: [] as Uint8Array[] };
  let code: number | undefined;
  for await (const frame of frames)
    if (frame.type === 'exit') ({ code } = frame);
    else parts[frame.type].push(frame.bytes);
  return { output: Buffer.concat(parts.output), errors: Buffer.concat(parts.errors), code };
};

/** What a client that is not ours sends. */
const open = async (url: URL, command: readonly string[]): Promise<WebSocket> => {
  const query = new URLSearchParams(command.map((word): [string, string] => ['command', word]));
  const socket = new WebSocket(`ws://${url.host}${path}?${query.toString()}`, [execProtocol, `${tokenProtocol}x`], {
    autoPong: false,
  });
  onTestFinished(() => socket.terminate());
  await once(socket, 'open');
  return socket;
};

describe('exec over a WebSocket', () => {
  it('has output, errors and exit code apart', async () => {
    const { url } = await start();
    const { output, errors, code } = await collect((await exec(url, script('echo out; echo err >&2; exit 3'))).output());
    expect([String(output), String(errors), code]).toEqual(['out\n', 'err\n', 3]);
  });

  it('carries bytes unchanged both ways, also more than the window', async () => {
    const { url } = await start();
    const bytes = randomBytes(10 * execWindow + 17);
    const connection = await exec(url, ['cat']);
    const written = connection.write(bytes).then(() => connection.endInput());
    const { output, code } = await collect(connection.output());
    await written;
    expect([output.equals(bytes), code]).toEqual([true, 0]);
  });

  it('changes the size of a terminal', async () => {
    const { url } = await start();
    const watching = script('echo ready; until stty size | grep "^43 132"; do sleep 0.02; done');
    const connection = await exec(url, watching, { terminal: { type: 'xterm', columns: 80, rows: 24 } });
    let seen = '';
    for await (const frame of connection.output()) {
      if (frame.type !== 'output') continue;
      seen += Buffer.from(frame.bytes).toString();
      if (seen.trim() === 'ready') connection.resize(132, 43);
    }
    expect(seen).toContain('43 132');
  });

  it('lets a command wait whose output nobody takes, and one that takes no input', async () => {
    const { url, sessions } = await start();
    const flood = await exec(url, ['yes']);
    const idle = await exec(url, ['sleep', '1000']);
    let written = 0;
    void (async () => {
      for (;;) {
        await idle.write(new Uint8Array(10_000));
        written += 10_000;
      }
    })();
    await vi.waitFor(() => expect(written).toBeGreaterThan(execWindow / 2));
    await collect((await exec(url, ['true'])).output());
    expect(written).toBeLessThan(2 * execWindow);
    expect(sessions[0]?.output.readableLength).toBeLessThan(execWindow);
    const frames = flood.output();
    expect((await frames.next()).value).toMatchObject({ type: 'output' });
    flood[Symbol.dispose]();
    expect(await sessions[0]?.exited).toBe(137);
  });

  it('goes on when the command closes its input and output', async () => {
    const { url } = await start();
    const connection = await exec(url, script('exec <&- >&- 2>&-; sleep 0.3; exit 4'));
    await connection.write(new Uint8Array(execWindow * 2));
    connection.endInput();
    await connection.write(new Uint8Array(10));
    expect(await collect(connection.output())).toMatchObject({ code: 4 });
  });

  it('ends the command with its client', async () => {
    const { url, sessions } = await start();
    const hiding = script('trap "" TERM HUP INT PIPE; (setsid sleep 1000 &) ; while :; do sleep 1; done');
    const connection = await exec(url, hiding);
    await vi.waitFor(() => expect(sessions).toHaveLength(1));
    connection[Symbol.dispose]();
    expect(await sessions[0]?.exited).toBe(137);
  });

  it('ends with the reason when the caller may not go on', async () => {
    const { url, sessions, revoked } = await start();
    const connection = await exec(url, script('trap "" TERM; echo ready; while :; do sleep 1; done'));
    const frames = connection.output();
    await frames.next();
    revoked.abort(new EphError('api.unauthorized', 'the token was revoked'));
    await expect(frames.next()).rejects.toMatchObject({ code: 'api.unauthorized', message: 'the token was revoked' });
    expect(await sessions[0]?.exited).toBe(137);
  });

  it('ends when its client does not answer any more', async () => {
    vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] });
    onTestFinished(() => void vi.useRealTimers());
    const { url, sessions } = await start();
    const answering = await exec(url, ['cat']);
    const silent = await open(url, ['sleep', '1000']);
    await vi.waitFor(() => expect(sessions).toHaveLength(2));
    vi.advanceTimersByTime(20_000);
    await once(silent, 'ping');
    answering.endInput();
    expect(await collect(answering.output())).toMatchObject({ code: 0 });
    vi.advanceTimersByTime(20_000);
    expect(await sessions[1]?.exited).toBe(137);
  });

  it.each([
    ['text', 'hello'],
    ['nothing', Buffer.alloc(0)],
    ['a frame of ephd', encodeFrame({ type: 'exit', code: 0 })],
    ['a size that is none', encodeFrame({ type: 'resize', columns: 0, rows: 1e9 })],
    ['more than it may', encodeFrame({ type: 'input', bytes: new Uint8Array(execWindow) })],
  ])('ends for a client that sends %s', async (_what, message) => {
    const { url, sessions } = await start();
    const socket = await open(url, ['sleep', '1000']);
    for (let times = 0; times < 3; times += 1) socket.send(message);
    const [code] = (await once(socket, 'close')) as [number];
    expect([1005, 1009]).toContain(code);
    expect(await sessions[0]?.exited).toBe(137);
  });
});

describe('a client of exec that does not read', () => {
  it('is dropped', async () => {
    const { url, sessions } = await start();
    const socket = await open(url, ['sleep', '1000']);
    socket.on('error', () => undefined).pause();
    const payload = Buffer.alloc(125);
    const flood = setInterval(() => {
      for (let times = 0; times < 2_000; times += 1) socket.ping(payload);
    }, 1);
    onTestFinished(() => clearInterval(flood));
    await vi.waitFor(() => expect(sessions).toHaveLength(1));
    expect(await sessions[0]?.exited).toBe(137);
  });
});

describe('a refusal of exec', () => {
  it('has its reason, before and after the upgrade', async () => {
    const { url } = await start();
    await expect(exec(url, ['refused-early'])).rejects.toMatchObject({ problem: { status: 403, detail: 'you may not' } });
    const late = await exec(url, ['refused-late']);
    await expect(collect(late.output())).rejects.toMatchObject({ code: 'isolation.missing', message: 'there is no sandbox' });
  });

  const send = async (url: URL, headers: Readonly<Record<string, string>>, search = '?command=true'): Promise<string> => {
    const socket = connect(Number(url.port), url.hostname);
    const head = Object.entries({ host: url.host, ...headers }).map(([name, value]) => `${name}: ${value}\r\n`);
    socket.write(`GET ${path}${search} HTTP/1.1\r\n${head.join('')}\r\n`);
    return await text(socket);
  };
  const upgrade = { connection: 'Upgrade', upgrade: 'websocket' };
  const webSocket = { ...upgrade, 'sec-websocket-version': '13', 'sec-websocket-key': 'dGhlIHNhbXBsZSBub25jZQ==' };

  it.each([
    ['without an upgrade', { connection: 'close' }, '400 Bad Request', 'this route needs a WebSocket'],
    ['with another upgrade', { connection: 'Upgrade, close', upgrade: 'h2c' }, '400 Bad Request', 'this route needs a WebSocket'],
    ['without the protocol', webSocket, '400 Bad Request', `speaks the protocol ${execProtocol}`],
    ['with a bad key', { ...webSocket, 'sec-websocket-key': 'x', 'sec-websocket-protocol': execProtocol }, '400', 'Key'],
    ['without rights', { ...webSocket, search: '' }, '403 Forbidden', 'you may not'],
  ])('%s is a whole answer', async (what, headers, status, detail) => {
    const { url, sessions } = await start();
    const answer = await send(url, headers, what === 'without rights' ? '?command=refused-early' : undefined);
    expect(answer).toMatch(new RegExp(`^HTTP/1.1 ${status}`));
    expect(answer).toContain('application/problem+json');
    expect(JSON.parse(answer.slice(answer.indexOf('{')))).toMatchObject({ detail: expect.stringContaining(detail) });
    expect(sessions).toEqual([]);
  });

  it('never sends the token back', async () => {
    const { url } = await start();
    const protocols = `${tokenProtocol}secret, ${execProtocol}`;
    const answer = await send(url, { ...webSocket, 'sec-websocket-protocol': protocols }, '?command=true');
    expect(answer).toMatch(/^HTTP\/1.1 101 /);
    expect(answer.toLowerCase()).toContain(`sec-websocket-protocol: ${execProtocol}\r\n`);
    expect(answer).not.toContain('secret');
  });

  it('stays whole when the client has gone meanwhile', async () => {
    const { url } = await start();
    const socket = connect(Number(url.port), url.hostname);
    const head = Object.entries({ host: url.host, ...webSocket }).map(([name, value]) => `${name}: ${value}\r\n`);
    socket.write(`GET ${path}?command=true HTTP/1.1\r\n${head.join('')}\r\n`, () => socket.resetAndDestroy());
    await once(socket, 'close');
    expect(await collect((await exec(url, ['echo', 'on'])).output())).toMatchObject({ code: 0 });
  });
});

describe('the client of exec', () => {
  it('sends a token without TLS to loopback only, and no command that is too long', async () => {
    await expect(exec(new URL('http://10.1.2.3/'), ['true'])).rejects.toMatchObject({ code: 'api.forbidden' });
    await expect(exec(new URL('http://127.0.0.1:1/'), ['x'.repeat(20_000)])).rejects.toMatchObject({ code: 'api.too_large' });
  });

  it('follows no redirect', async () => {
    const { url } = await start();
    const app = new Hono();
    app.all('*', (c) => c.redirect(new URL(path, url).href));
    const server = serve({ fetch: app.fetch, port: 0 });
    await once(server, 'listening');
    onTestFinished(() => void server.close());
    const { port } = server.address() as { port: number };
    const elsewhere = new URL(`http://127.0.0.1:${port}/`);
    const transport: Transport = async () => ({
      status: 302,
      contentType: '',
      text: async () => '',
      chunks: () => Readable.from([]),
    });
    const connection = connectExec({ address: elsewhere, token: 'x', transport }, { id: 'one', command: ['true'] });
    await expect(connection).rejects.toMatchObject({ reply: { status: 302 } });
  });
});
