import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { EphError, routes, silentLog } from '@eph/contract';
import { ManualClock } from '@eph/engine/time/clock.fake';
import { type HttpBindings, serve } from '@hono/node-server';
import { Hono } from 'hono';
import { expect, it, onTestFinished } from 'vitest';
import { administrator } from './authenticate.ts';
import { LongUse, LongUses } from './long-use.ts';
import { serveStream } from './serve-stream.ts';

const caller = { identity: administrator, how: 'file', session: undefined, may: () => true } as const;

/** A real server that streams these items to everybody. */
const start = async (items: (signal: AbortSignal) => AsyncIterable<unknown>) => {
  const clock = new ManualClock();
  const closing = new AbortController();
  const watching = new AbortController();
  const warnings: string[] = [];
  const log = { ...silentLog, warn: (_: object, message: string) => void warnings.push(message) };
  const access = { watch: () => ({ signal: watching.signal, [Symbol.dispose]: () => undefined }) };
  const uses: LongUse[] = [];
  const counted = new LongUses();
  const app = new Hono<{ Bindings: HttpBindings }>();
  app.get('/', (c) => {
    const use = new LongUse(routes.readLogs, caller, undefined, {
      access,
      projects: new Map(),
      closing: closing.signal,
      uses: counted,
    });
    uses.push(use);
    return serveStream(c, items(use.signal), use, c.env.outgoing, { clock, log });
  });
  const server = await new Promise<ReturnType<typeof serve>>((resolve) => {
    const listening = serve({ fetch: app.fetch, hostname: '127.0.0.1', port: 0 }, () => resolve(listening));
  });
  onTestFinished(() => void server.close());
  const { port } = server.address() as { port: number };
  const ask = (): Socket => {
    const socket = connect(port, '127.0.0.1').on('error', () => undefined);
    onTestFinished(() => void socket.destroy());
    socket.write('GET / HTTP/1.1\r\nhost: 127.0.0.1\r\n\r\n');
    return socket;
  };
  /** Reads everything as it comes. */
  const read = () => {
    const socket = ask();
    const answer = { text: '', socket };
    socket.setEncoding('utf8').on('data', (text: string) => {
      answer.text += text;
    });
    return answer;
  };
  return { clock, closing, watching, warnings, uses, ask, read };
};

/** Has no item until it is aborted. */
async function* nothing(signal: AbortSignal): AsyncGenerator {
  if (!signal.aborted) yield await once(signal, 'abort');
}

it('says at once that the client is connected, and goes on with a comment when nothing happens', async () => {
  const { clock, read } = await start(nothing);
  const answer = read();
  await expect.poll(() => answer.text).toContain(': connected\n\n');
  expect(answer.text).toContain('content-type: text/event-stream');
  await expect.poll(() => clock.pending).toBe(1);
  clock.advance(45_000);
  await expect.poll(() => answer.text.split('\n:\n\n').length).toBeGreaterThan(1);
});

it('sends items, stored events with their id, and ends without a marker', async () => {
  async function* items(): AsyncGenerator {
    yield { event: { id: '0000000000000007' } };
    yield { event: { id: null } };
    yield await Promise.resolve({ text: 'line\nof text' });
  }
  const { clock, read, uses } = await start(items);
  const answer = read();
  await expect.poll(() => answer.text).toMatch(/\r\n0\r\n\r\n$/);
  expect(answer.text).toContain('id: 0000000000000007\ndata: {"event":{"id":"0000000000000007"}}\n\n');
  expect(answer.text).toContain('\ndata: {"event":{"id":null}}\n\n');
  expect(answer.text).toContain('data: {"text":"line\\nof text"}\n\n');
  expect(answer.text).not.toContain('event: end');
  expect(uses[0]?.signal.aborted).toBe(true);
  await expect.poll(() => clock.pending).toBe(0);
});

const endOf = (text: string): unknown => JSON.parse(/^event: end\ndata: (.*)$/m.exec(text)?.[1] ?? 'null');

it('says why it ends, whatever the items do', async () => {
  async function* deaf(): AsyncGenerator {
    yield await new Promise(() => {});
  }
  const { read, watching } = await start(deaf);
  const answer = read();
  await expect.poll(() => answer.text).toContain('connected');
  watching.abort(new EphError('api.unauthorized', 'the token has expired'));
  await expect
    .poll(() => endOf(answer.text))
    .toMatchObject({
      code: 'api.unauthorized',
      message: 'the token has expired',
      hint: expect.stringContaining('eph auth login'),
    });
  expect(answer.text).toMatch(/\r\n0\r\n\r\n$/);
});

it('does not begin for a caller who may not go on', async () => {
  const { read, closing } = await start(nothing);
  closing.abort(new EphError('api.stopping', 'ephd is stopping'));
  const answer = read();
  await expect.poll(() => endOf(answer.text)).toMatchObject({ code: 'api.stopping', message: 'ephd is stopping' });
});

it.each([
  [new EphError('provider.unreachable', 'no answer'), 'provider.unreachable', 0],
  [new TypeError('x is undefined'), 'internal', 1],
])('says that %s ended it', async (error, code, logged) => {
  async function* broken(): AsyncGenerator {
    yield await Promise.resolve({ text: 'first' });
    throw error;
  }
  const { read, warnings } = await start(broken);
  const answer = read();
  await expect.poll(() => endOf(answer.text)).toMatchObject({ code });
  expect(answer.text).toContain('first');
  expect(warnings).toHaveLength(logged);
});

it('releases everything when the client leaves', async () => {
  const { clock, read, uses } = await start(nothing);
  const answer = read();
  await expect.poll(() => answer.text).toContain('connected');
  answer.socket.destroy();
  await expect.poll(() => uses[0]?.signal.aborted).toBe(true);
  expect(clock.pending).toBe(0);
});

it('keeps nothing of what it has sent', async () => {
  setFlagsFromString('--expose-gc');
  const collectGarbage = runInNewContext('gc') as () => void;
  const count = 30_000;
  const log = { sent: 0 };
  async function* lines(signal: AbortSignal): AsyncGenerator {
    for (; log.sent < count; log.sent += 1) yield await Promise.resolve({ at: log.sent });
    yield* nothing(signal);
  }
  const { ask } = await start(lines);
  const measure = (): number => {
    collectGarbage();
    return process.memoryUsage().heapUsed;
  };
  const before = measure();
  ask().resume();
  await expect.poll(() => log.sent).toBe(count);
  // A promise for each of them would be three times as much.
  expect(measure() - before).toBeLessThan(1024 * 1024);
});

/** As fast as it is read. */
const startFastLog = async () => {
  const log = { sent: 0, ended: false };
  async function* lines(): AsyncGenerator {
    try {
      for (; ; log.sent += 1) yield await Promise.resolve({ text: 'x'.repeat(10_000) });
    } finally {
      log.ended = true;
    }
  }
  const started = await start(lines);
  const socket = started.ask();
  /** The buffers of both sides are full, and nothing more is taken from the log. */
  const untilStuck = async (): Promise<number> => {
    let before = -1;
    while (before !== log.sent) {
      before = log.sent;
      await new Promise((resolve) => setTimeout(resolve, 200));
    }
    return before;
  };
  return { ...started, log, socket, untilStuck };
};

it('takes no more from a log than its client reads, and cuts a client that does not read', async () => {
  const { clock, log, socket, uses, untilStuck } = await startFastLog();
  socket.pause();
  const sent = await untilStuck();
  expect(sent).toBeGreaterThan(0);
  clock.advance(29_000);
  expect(log.ended).toBe(false);
  clock.advance(1_000);
  await expect.poll(() => log.ended).toBe(true);
  expect([log.sent, uses[0]?.signal.aborted]).toEqual([sent, true]);
  const closed = once(socket, 'close');
  clock.advance(30_000);
  socket.resume();
  await closed;
  expect(clock.pending).toBe(0);
});

it('sends a client that was too slow the reason, if it reads after all', async () => {
  const { clock, socket, untilStuck } = await startFastLog();
  socket.pause();
  await untilStuck();
  clock.advance(30_000);
  let text = '';
  socket.setEncoding('utf8').on('data', (more: string) => {
    text = (text + more).slice(-1_000);
  });
  socket.resume();
  await expect.poll(() => endOf(text)).toMatchObject({ code: 'api.too_slow' });
  await expect.poll(() => clock.pending).toBe(0);
});

it('does not cut a slow client that goes on reading', async () => {
  const { clock, log, socket, untilStuck } = await startFastLog();
  for (let round = 0; round < 4; round += 1) {
    socket.pause();
    const sent = await untilStuck();
    clock.advance(20_000);
    socket.resume();
    await expect.poll(() => log.sent).toBeGreaterThan(sent);
  }
  expect(log.ended).toBe(false);
});
