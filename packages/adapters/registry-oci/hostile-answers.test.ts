import { once } from 'node:events';
import { gzipSync } from 'node:zlib';
import { projectId } from '@eph/contract';
import { describe, expect, it } from 'vitest';
import { ManualClock } from '../../engine/time/clock.fake.ts';
import type { OciRegistryOptions } from './oci-registry.ts';
import { startScripted } from './registry-harness.fake.ts';
import { ociManifest, type Script } from './scripted-registry.fake.ts';

const project = projectId('shop');
const mebibyte = 1024 * 1024;

const start = async (options: Partial<OciRegistryOptions> = {}) => {
  const { server, registry, repository } = await startScripted(options);
  const { signal } = new AbortController();
  return {
    server,
    registry,
    find: (reference = 'v1', stop = signal) => registry.find({ project, repository, reference }, stop),
    inspect: (digest: string) => registry.inspect({ project, repository, reference: digest }, undefined, signal),
    tags: () => registry.tags({ project, repository }, () => true, signal),
  };
};

const refused = (sentence: RegExp) => ({ code: 'registry.refused', message: expect.stringMatching(sentence) });
const unreachable = (sentence: RegExp) => ({ code: 'registry.unreachable', message: expect.stringMatching(sentence) });
const digest = `sha256:${'a'.repeat(64)}`;

/** A body of any size that costs the server no memory, and how much of it was taken. */
const endless = (headers: Record<string, string>): { readonly script: Script; readonly sentBytes: () => number } => {
  const chunk = Buffer.alloc(64 * 1024, ' ');
  let sentBytes = 0;
  return {
    sentBytes: () => sentBytes,
    script: (_request, response) => {
      response.writeHead(200, headers);
      const send = (): void => {
        while (!response.destroyed) {
          sentBytes += chunk.length;
          if (!response.write(chunk)) return void response.once('drain', send);
        }
      };
      send();
      return undefined;
    },
  };
};

describe('an answer that is too large', () => {
  it.each([
    ['a manifest', 4],
    ['a list of tags', 32],
  ])('is not read to its end: %s', async (what, limit) => {
    const { server, inspect, tags } = await start();
    const { script, sentBytes } = endless({ 'content-type': ociManifest });
    server.script = script;
    const asking = what === 'a manifest' ? inspect(digest) : tags();
    await expect(asking).rejects.toMatchObject(refused(new RegExp(`sends more than ${limit} MiB`)));
    expect(sentBytes()).toBeLessThan((limit + 16) * mebibyte);
  });

  it('is not read at all if it says so', async () => {
    const { server, inspect } = await start();
    const { script, sentBytes } = endless({ 'content-type': ociManifest, 'content-length': '50000000' });
    server.script = script;
    await expect(inspect(digest)).rejects.toMatchObject(refused(/sends more than 4 MiB/));
    expect(sentBytes()).toBeLessThan(16 * mebibyte);
  });

  it('is not unpacked', async () => {
    const { server, inspect } = await start();
    const bomb = gzipSync(Buffer.alloc(100 * mebibyte));
    server.script = () => ({ headers: { 'content-type': ociManifest, 'content-encoding': 'gzip' }, body: bomb });
    await expect(inspect(digest)).rejects.toMatchObject(refused(/sends a compressed answer, which ephd did not ask for/));
    expect(server.requests[0]?.headers['accept-encoding']).toBe('identity');
  });

  it('may be the page of an error', async () => {
    const { server, inspect } = await start();
    server.script = () => ({ status: 404, body: 'x'.repeat(10 * mebibyte) });
    expect(await inspect(digest)).toMatchObject({ state: 'missing' });
    expect(await inspect(digest)).toMatchObject({ state: 'missing' });
  });
});

describe('no whole answer', () => {
  it.each<[string, Script]>([
    ['the connection breaks before it', (_request, response) => void response.destroy()],
    [
      'the connection breaks within it',
      (_request, response) => {
        response.writeHead(200, { 'content-type': ociManifest, 'content-length': '1000' }).write('{', () => response.destroy());
        return undefined;
      },
    ],
    [
      'it is not HTTP',
      (_request, response) => {
        response.socket?.end('nonsense\r\n\r\n');
        return undefined;
      },
    ],
  ])('says who is silent: %s', async (_, script) => {
    const { server, inspect } = await start();
    server.script = script;
    await expect(inspect(digest)).rejects.toMatchObject(unreachable(/^127\.0\.0\.1:\d+ could not be reached( \([A-Z_]+\))?\.$/));
    server.script = () => ({ status: 404 });
    expect(await inspect(digest)).toMatchObject({ state: 'missing' });
  });

  it.each<[string, Script]>([
    ['nothing comes', () => undefined],
    [
      'it comes byte by byte',
      (_request, response) => {
        response.writeHead(200, { 'content-type': ociManifest });
        const drip = setInterval(() => response.write(' '), 5);
        response.once('close', () => clearInterval(drip));
        return undefined;
      },
    ],
  ])('is waited for, but not for ever: %s', async (_, script) => {
    const clock = new ManualClock();
    const { server, inspect } = await start({ clock });
    server.script = script;
    const failing = inspect(digest).catch((error: unknown) => error);
    await expect.poll(() => server.requests).toHaveLength(1);
    clock.advance(20_000);
    expect(await failing).toMatchObject(unreachable(/did not answer within 20 s\.$/));
    server.script = () => ({ status: 404 });
    expect(await inspect(digest)).toMatchObject({ state: 'missing' });
    expect(clock.pending).toBe(0);
  });

  it('is not waited for after an abort', async () => {
    const { server, find } = await start();
    const abort = new AbortController();
    const { promise: closed, resolve } = Promise.withResolvers<void>();
    server.script = (_request, response) => void response.once('close', resolve);
    const failing = find('v1', abort.signal).catch((error: unknown) => error);
    await expect.poll(() => server.requests).toHaveLength(1);
    const enough = new Error('enough');
    abort.abort(enough);
    expect(await failing).toBe(enough);
    await closed;
  });

  it.each([500, 502, 503, 504, 408])('is what status %i means', async (status) => {
    const { server, find } = await start();
    server.script = () => ({ status, headers: { 'retry-after': '7' } });
    await expect(find()).rejects.toMatchObject({
      ...unreachable(new RegExp(`answers with status ${status}`)),
      retryAfterMs: 7_000,
    });
  });
});

describe('a status that nobody expects', () => {
  it.each([204, 206, 304, 400, 405, 418, 451])('is refused: %i', async (status) => {
    const { server, find } = await start();
    server.script = () => ({ status });
    await expect(find()).rejects.toMatchObject(refused(new RegExp(`answers with status ${status}`)));
  });
});

describe('too many requests', () => {
  it('are answered with a pause, as long as the registry wants it', async () => {
    const clock = new ManualClock();
    const { server, find } = await start({ clock, random: () => 0 });
    server.script = () => ({ status: 429, headers: { 'retry-after': '120' } });
    await expect(find()).rejects.toMatchObject({ ...unreachable(/asks for a pause/), retryAfterMs: 120_000 });
    await expect(find('v2')).rejects.toMatchObject({ ...unreachable(/asks for a pause/), retryAfterMs: 120_000 });
    expect(server.requests).toHaveLength(1);
    clock.advance(120_000);
    server.script = () => ({ status: 404 });
    expect(await find()).toMatchObject({ state: 'missing' });
  });

  it('become fewer and fewer while the registry throttles, however many ask', async () => {
    const clock = new ManualClock();
    const { server, find } = await start({ clock });
    server.script = () => ({ status: 429 });
    const perMinute: number[] = [];
    for (let minute = 0; minute < 20; minute += 1) {
      const before = server.requests.length;
      for (let second = 0; second < 60; second += 1) {
        await Promise.allSettled(Array.from({ length: 20 }, (_, at) => find(`v${at}`)));
        clock.advance(1_000);
      }
      perMinute.push(server.requests.length - before);
    }
    // The first ones are under way together, before anybody knows.
    expect(perMinute[0]).toBeLessThan(30);
    expect(Math.max(...perMinute.slice(10))).toBeLessThanOrEqual(1);
    expect(perMinute.slice(1).reduce((sum, count) => sum + count)).toBeLessThan(15);
  });

  it('of one registry do not concern another', async () => {
    const [one, other] = [await start(), await start()];
    one.server.script = () => ({ status: 429, headers: { 'retry-after': '120' } });
    await expect(one.find()).rejects.toMatchObject(unreachable(/asks for a pause/));
    expect(await other.find()).toMatchObject({ state: 'missing' });
  });
});

it('uses connections again', async () => {
  const { server, find } = await start();
  const ports = new Set<number | undefined>();
  server.script = (_request, response) => {
    ports.add(response.socket?.remotePort);
    return { status: 404 };
  };
  for (let time = 0; time < 20; time += 1) await find(`v${time}`);
  expect(ports.size).toBeLessThanOrEqual(2);
});

it('leaves no connection open when it is closed', async () => {
  const { server, registry, find } = await start();
  const { promise: closed, resolve } = Promise.withResolvers<unknown>();
  server.script = (_request, response) => {
    if (response.socket !== null) once(response.socket, 'close').then(resolve, resolve);
    return { status: 404 };
  };
  await find();
  await registry[Symbol.asyncDispose]();
  expect(await closed).toBeDefined();
});
