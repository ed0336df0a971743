import { silentLog } from '@eph/contract';
import { describe, expect, it, onTestFinished } from 'vitest';
import { createConditionalFetch } from './conditional-fetch.ts';
import { createForgeHttp, type ParseAnswer } from './forge-http.ts';
import { createTestGate, ScriptedForge, StoppedWatch } from './scripted-forge.fake.ts';
import { type ChangedPage, type ChangedPull, createSharedLook } from './shared-look.ts';

const { signal } = new AbortController();
const minute = 60_000;
const pageSize = 100;

const parse: ParseAnswer<ChangedPage> = (body, headers) => ({
  items: body as readonly ChangedPull[],
  next: headers.get('x-next') ?? undefined,
  total: Number(headers.get('x-total')),
  readAtMs: Date.parse(headers.get('date') ?? ''),
});

/** A forge whose watch may differ from ours, what happens there, and passes over repositories that share a look at it. */
const start = async ({ skewMs = 0, patienceMs = 60_000 } = {}) => {
  const forge = await ScriptedForge.start();
  onTestFinished(() => forge[Symbol.asyncDispose]());
  const watch = new StoppedWatch();
  const forgeWatch = { skewMs, now: () => watch.ms + forgeWatch.skewMs };
  const updated = new Map<number, { readonly path: string; readonly at: number }>();
  const answer = (target: string) => {
    const query = new URL(target, forge.url).searchParams;
    const page = Number(query.get('page'));
    const found = [...updated].filter(([, { at }]) => at >= Date.parse(query.get('since') ?? ''));
    const items = found.slice((page - 1) * pageSize, page * pageSize).map(([id, { path }]) => ({ id, path }));
    const next = page * pageSize < found.length ? { 'x-next': String(page + 1) } : {};
    return { headers: { date: new Date(forgeWatch.now()).toUTCString(), 'x-total': String(found.length), ...next }, body: items };
  };
  const behave = () => {
    forge.script = ({ target }) => answer(target);
  };
  behave();
  const http = createForgeHttp({
    fetch: createConditionalFetch({ gate: createTestGate(watch) }),
    baseUrl: forge.url,
    authorize: () => undefined,
    table: [
      { status: [401, 403], meaning: 'refused', code: 'forge.refused', sentence: String },
      { status: 404, meaning: 'gone', code: 'forge.unreachable', sentence: String },
      { status: [500, 599], meaning: 'retry', code: 'forge.unreachable', sentence: String },
    ],
    shown: 'acme',
    now: watch.now,
    log: silentLog,
  });
  const shared = createSharedLook({
    readPage: (since, page, until) =>
      http.read(`/changed?since=${since.toISOString()}&page=${page}`, parse, { signal: until, fresh: true }),
    shown: 'acme',
    now: watch.now,
    patienceMs,
  });

  const readAt = new Map<string, number>();
  const isUnchanged = (path: string, asOf = watch.ms) =>
    shared.isUnchanged(path, readAt.get(path) ?? Number.NEGATIVE_INFINITY, asOf, signal);
  return {
    forge,
    watch,
    forgeWatch,
    shared,
    readAt,
    answer,
    behave,
    isUnchanged,
    /** Whole seconds, as forges write them. */
    change: (path: string, id = 1) => updated.set(id, { path, at: Math.floor(forgeWatch.now() / 1_000) * 1_000 }),
    /** Those that had to be read. */
    async pass(...paths: readonly string[]): Promise<readonly string[]> {
      const read: string[] = [];
      for (const path of paths) {
        if (await isUnchanged(path)) continue;
        readAt.set(path, watch.ms);
        read.push(path);
      }
      return read;
    },
    takeRequests: () => forge.requests.splice(0).length,
  };
};

type World = Awaited<ReturnType<typeof start>>;

/** Two passes, so that nothing needs to be read. */
const settle = async ({ pass, watch, takeRequests }: World, ...paths: readonly string[]) => {
  expect(await pass(...paths)).toEqual(paths);
  watch.ms += minute / 2;
  expect(await pass(...paths)).toEqual([]);
  watch.ms += minute / 2;
  takeRequests();
};

describe('a shared look', () => {
  it('is one request for a pass over all repositories, of which none is read again as long as nothing changes', async () => {
    const world = await start();
    await settle(world, 'acme/shop', 'acme/news', 'acme/web/mail');
    for (let count = 0; count < 5; count += 1) {
      world.watch.ms += minute / 2;
      expect(await world.pass('acme/shop', 'acme/news', 'acme/web/mail')).toEqual([]);
    }
    expect(world.takeRequests()).toBe(5);
  });

  it('tells which repositories changed, however their paths are written', async () => {
    const world = await start();
    await settle(world, 'acme/shop', 'acme/news');
    world.change('Acme/Shop');
    expect(await world.pass('acme/shop', 'acme/news')).toEqual(['acme/shop']);
    expect(world.takeRequests()).toBe(1);
    world.watch.ms += 2 * minute;
    await world.pass('acme/shop', 'acme/news');
    world.watch.ms += minute;
    expect(await world.pass('acme/shop', 'acme/news')).toEqual([]);
  });

  it.each([
    ['an hour ahead', 60 * minute],
    ['an hour behind', -60 * minute],
  ])('goes by the watch of the forge, also when that is %s', async (_case, skewMs) => {
    const world = await start({ skewMs });
    await settle(world, 'acme/shop', 'acme/news');
    world.change('acme/news');
    world.watch.ms += 1;
    expect(await world.pass('acme/shop', 'acme/news')).toEqual(['acme/news']);
  });

  it('sees a change of the very second in which the look before was answered', async () => {
    const world = await start();
    await settle(world, 'acme/shop', 'acme/news');
    world.watch.ms += 900;
    expect(await world.pass('acme/shop', 'acme/news')).toEqual([]);
    world.change('acme/shop');
    world.watch.ms += 10 * 1_000;
    expect(await world.pass('acme/shop', 'acme/news')).toEqual(['acme/shop']);
  });

  it('sees a change that could be seen only half a minute after its date', async () => {
    const world = await start();
    await settle(world, 'acme/shop');
    const at = world.watch.ms;
    world.watch.ms = at + minute / 2;
    expect(await world.pass('acme/shop')).toEqual([]);
    world.watch.ms = at;
    world.change('acme/shop');
    world.watch.ms = at + minute;
    expect(await world.pass('acme/shop')).toEqual(['acme/shop']);
  });

  it('serves everybody who asks as of the time it began or before, at the same time and later', async () => {
    const world = await start();
    const paths = Array.from({ length: 1_000 }, (_, index) => `acme/service-${index}`);
    await settle(world, ...paths);
    const asOf = world.watch.ms;
    expect(new Set(await Promise.all(paths.map((path) => world.isUnchanged(path, asOf))))).toEqual(new Set([true]));
    world.watch.ms += 10 * 1_000;
    expect(await world.isUnchanged('acme/service-1', asOf)).toBe(true);
    expect(world.takeRequests()).toBe(1);
  });

  it('is not the answer for somebody who asks as of a time after it began', async () => {
    const world = await start();
    await settle(world, 'acme/shop');
    const released = Promise.withResolvers<void>();
    world.forge.script = async ({ target }) => {
      const early = world.answer(target);
      await released.promise;
      return early;
    };
    const first = world.isUnchanged('acme/shop');
    await expect.poll(() => world.forge.requests.length).toBe(1);
    world.watch.ms += 1_000;
    world.change('acme/shop');
    const second = world.isUnchanged('acme/shop');
    world.behave();
    released.resolve();
    expect([await first, await second]).toEqual([true, false]);
    expect(world.takeRequests()).toBe(2);
  });
});

describe('in doubt', () => {
  it('a reading from before the first look counts as changed', async () => {
    const world = await start();
    world.readAt.set('acme/shop', world.watch.ms);
    world.watch.ms += 1_000;
    expect(await world.pass('acme/shop')).toEqual(['acme/shop']);
  });

  it('a reading counts as changed after ten minutes, whatever looks say', async () => {
    const world = await start();
    await settle(world, 'acme/shop');
    for (let count = 0; count < 8; count += 1) {
      world.watch.ms += minute;
      expect(await world.pass('acme/shop')).toEqual([]);
    }
    world.watch.ms += minute;
    expect(await world.pass('acme/shop')).toEqual(['acme/shop']);
  });

  it('everything counts as changed when nobody looked for ten minutes', async () => {
    const world = await start();
    await settle(world, 'acme/shop', 'acme/news');
    world.watch.ms += 9 * minute;
    world.readAt.set('acme/shop', world.watch.ms);
    world.watch.ms += 2 * minute;
    expect(await world.pass('acme/shop', 'acme/news')).toEqual(['acme/shop', 'acme/news']);
    world.watch.ms += minute;
    expect(await world.pass('acme/shop', 'acme/news')).toEqual([]);
  });

  it.each([
    ['is an error', () => ({ status: 502 })],
    ['breaks off', (good: object) => ({ ...good, fault: 'truncated' as const })],
    ['does not come', () => ({ fault: 'reset' as const })],
    ['makes no sense', (good: { headers: object }) => ({ headers: { ...good.headers }, body: '[{' })],
    ['has no date', (good: { headers: object }) => ({ ...good, headers: { ...good.headers, date: 'today' } })],
    ['is not whole', (good: { headers: object }) => ({ headers: { ...good.headers, 'x-total': '7' }, body: [] })],
    ['lacks its second page', (good: { headers: object }) => ({ headers: { ...good.headers, 'x-next': '2' }, body: [] })],
  ])('everything counts as changed when the answer %s, and the next look covers the gap', async (_case, spoil) => {
    const world = await start();
    await settle(world, 'acme/shop', 'acme/news', 'acme/mail');
    world.change('acme/shop');
    world.watch.ms += 1;
    world.forge.script = ({ target }) => spoil(world.answer(target));
    expect(await world.pass('acme/news')).toEqual(['acme/news']);
    world.watch.ms += 5 * minute;
    world.behave();
    expect(await world.pass('acme/shop', 'acme/news', 'acme/mail')).toEqual(['acme/shop']);
  });

  it('a look that failed is not repeated for everybody who asks as of the same time', async () => {
    const world = await start();
    world.forge.script = () => ({ status: 502 });
    await world.pass('acme/shop', 'acme/news', 'acme/mail');
    expect(world.takeRequests()).toBe(1);
  });

  it.each([404, 403])('a forge that answers with %d is asked again after ten minutes only', async (status) => {
    const world = await start();
    world.forge.script = () => ({ status });
    for (let count = 0; count < 9; count += 1) {
      expect(await world.pass('acme/shop')).toEqual(['acme/shop']);
      world.watch.ms += minute;
    }
    expect(world.takeRequests()).toBe(1);
    world.behave();
    world.watch.ms += minute;
    await settle(world, 'acme/shop');
  });

  it('a forge that takes too long is asked again after ten minutes only', async () => {
    const world = await start({ patienceMs: 200 });
    world.forge.script = () => ({ fault: 'hang' });
    expect(await world.pass('acme/shop')).toEqual(['acme/shop']);
    world.watch.ms += 9 * minute;
    expect(await world.pass('acme/shop')).toEqual(['acme/shop']);
    expect(world.takeRequests()).toBe(1);
    world.watch.ms += minute;
    await world.pass('acme/shop');
    expect(world.takeRequests()).toBe(1);
  });

  it('everything counts as changed when more changed than five pages hold, until that is over', async () => {
    const world = await start();
    await settle(world, 'acme/shop', 'acme/news');
    for (let id = 0; id <= 5 * pageSize; id += 1) world.change('acme/shop', id);
    expect(await world.pass('acme/shop', 'acme/news')).toEqual(['acme/shop', 'acme/news']);
    expect(world.takeRequests()).toBe(5);
    world.watch.ms += 2 * minute;
    await world.pass('acme/shop', 'acme/news');
    world.watch.ms += minute;
    expect(await world.pass('acme/shop', 'acme/news')).toEqual([]);
  });

  it('reads all of five pages', async () => {
    const world = await start();
    await settle(world, 'acme/shop', 'acme/news');
    for (let id = 1; id < 5 * pageSize; id += 1) world.change('acme/shop', id);
    expect(await world.pass('acme/shop', 'acme/news')).toEqual(['acme/shop']);
  });

  it('everything counts as changed when the watch of the forge is set back', async () => {
    const world = await start();
    await settle(world, 'acme/shop', 'acme/news');
    world.forgeWatch.skewMs = -60 * minute;
    expect(await world.pass('acme/shop', 'acme/news')).toEqual(['acme/shop', 'acme/news']);
    world.watch.ms += minute;
    await world.pass('acme/shop');
    world.change('acme/news');
    world.watch.ms += minute;
    expect(await world.pass('acme/shop', 'acme/news')).toEqual(['acme/news']);
  });

  it.each([
    ['a minute', minute],
    ['an hour', 60 * minute],
  ])('everything counts as changed when our watch is set back by %s', async (_case, backMs) => {
    const world = await start();
    await settle(world, 'acme/shop', 'acme/news');
    const { ms } = world.watch;
    world.readAt.set('acme/shop', ms).set('acme/news', ms);
    expect(await world.pass('acme/shop', 'acme/news')).toEqual([]);
    world.watch.ms -= backMs;
    world.change('acme/shop');
    expect(await world.pass('acme/shop', 'acme/news')).toEqual(['acme/shop', 'acme/news']);
    expect(await world.isUnchanged('acme/shop', ms)).toBe(false);
  });
});

describe('somebody who goes away', () => {
  it('leaves the look to the others', async () => {
    const world = await start();
    await settle(world, 'acme/shop');
    const released = Promise.withResolvers<void>();
    world.forge.script = ({ target }) => released.promise.then(() => world.answer(target));
    const leaving = new AbortController();
    const left = world.shared.isUnchanged('acme/shop', world.watch.ms, world.watch.ms, leaving.signal);
    const stayed = world.isUnchanged('acme/shop');
    leaving.abort(new Error('went away'));
    await expect(left).rejects.toThrow('went away');
    released.resolve();
    expect(await stayed).toBe(true);
    expect(world.takeRequests()).toBe(1);
  });

  it('and was the last one leaves no answer behind', async () => {
    const world = await start();
    await settle(world, 'acme/shop');
    world.forge.script = () => ({ fault: 'hang' });
    const leaving = new AbortController();
    const left = world.shared.isUnchanged('acme/shop', world.watch.ms, world.watch.ms, leaving.signal);
    await expect.poll(() => world.forge.requests.length).toBe(1);
    leaving.abort(new Error('went away'));
    await expect(left).rejects.toThrow('went away');
    world.behave();
    expect(await world.isUnchanged('acme/shop')).toBe(true);
  });
});
