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

type Setup = Awaited<ReturnType<typeof start>>;

/** Two passes, so that nothing needs to be read. */
const settle = async ({ pass, watch, takeRequests }: Setup, ...paths: readonly string[]) => {
  expect(await pass(...paths)).toEqual(paths);
  watch.ms += minute / 2;
  expect(await pass(...paths)).toEqual([]);
  watch.ms += minute / 2;
  takeRequests();
};

describe('a shared look', () => {
  it('is one request for a pass over all repositories, of which none is read again as long as nothing changes', async () => {
    const setup = await start();
    await settle(setup, 'acme/shop', 'acme/news', 'acme/web/mail');
    for (let count = 0; count < 5; count += 1) {
      setup.watch.ms += minute / 2;
      expect(await setup.pass('acme/shop', 'acme/news', 'acme/web/mail')).toEqual([]);
    }
    expect(setup.takeRequests()).toBe(5);
  });

  it('tells which repositories changed, however their paths are written', async () => {
    const setup = await start();
    await settle(setup, 'acme/shop', 'acme/news');
    setup.change('Acme/Shop');
    expect(await setup.pass('acme/shop', 'acme/news')).toEqual(['acme/shop']);
    expect(setup.takeRequests()).toBe(1);
    setup.watch.ms += 2 * minute;
    await setup.pass('acme/shop', 'acme/news');
    setup.watch.ms += minute;
    expect(await setup.pass('acme/shop', 'acme/news')).toEqual([]);
  });

  it.each([
    ['an hour ahead', 60 * minute],
    ['an hour behind', -60 * minute],
  ])('goes by the watch of the forge, also when that is %s', async (_case, skewMs) => {
    const setup = await start({ skewMs });
    await settle(setup, 'acme/shop', 'acme/news');
    setup.change('acme/news');
    setup.watch.ms += 1;
    expect(await setup.pass('acme/shop', 'acme/news')).toEqual(['acme/news']);
  });

  it('sees a change of the very second in which the look before was answered', async () => {
    const setup = await start();
    await settle(setup, 'acme/shop', 'acme/news');
    setup.watch.ms += 900;
    expect(await setup.pass('acme/shop', 'acme/news')).toEqual([]);
    setup.change('acme/shop');
    setup.watch.ms += 10 * 1_000;
    expect(await setup.pass('acme/shop', 'acme/news')).toEqual(['acme/shop']);
  });

  it('sees a change that could be seen only half a minute after its date', async () => {
    const setup = await start();
    await settle(setup, 'acme/shop');
    const at = setup.watch.ms;
    setup.watch.ms = at + minute / 2;
    expect(await setup.pass('acme/shop')).toEqual([]);
    setup.watch.ms = at;
    setup.change('acme/shop');
    setup.watch.ms = at + minute;
    expect(await setup.pass('acme/shop')).toEqual(['acme/shop']);
  });

  it('serves everybody who asks as of the time it began or before, at the same time and later', async () => {
    const setup = await start();
    const paths = Array.from({ length: 1_000 }, (_, index) => `acme/service-${index}`);
    await settle(setup, ...paths);
    const asOf = setup.watch.ms;
    expect(new Set(await Promise.all(paths.map((path) => setup.isUnchanged(path, asOf))))).toEqual(new Set([true]));
    setup.watch.ms += 10 * 1_000;
    expect(await setup.isUnchanged('acme/service-1', asOf)).toBe(true);
    expect(setup.takeRequests()).toBe(1);
  });

  it('is not the answer for somebody who asks as of a time after it began', async () => {
    const setup = await start();
    await settle(setup, 'acme/shop');
    const released = Promise.withResolvers<void>();
    setup.forge.script = async ({ target }) => {
      const early = setup.answer(target);
      await released.promise;
      return early;
    };
    const first = setup.isUnchanged('acme/shop');
    await expect.poll(() => setup.forge.requests.length).toBe(1);
    setup.watch.ms += 1_000;
    setup.change('acme/shop');
    const second = setup.isUnchanged('acme/shop');
    setup.behave();
    released.resolve();
    expect([await first, await second]).toEqual([true, false]);
    expect(setup.takeRequests()).toBe(2);
  });
});

describe('in doubt', () => {
  it('a reading from before the first look counts as changed', async () => {
    const setup = await start();
    setup.readAt.set('acme/shop', setup.watch.ms);
    setup.watch.ms += 1_000;
    expect(await setup.pass('acme/shop')).toEqual(['acme/shop']);
  });

  it('a reading counts as changed after ten minutes, whatever looks say', async () => {
    const setup = await start();
    await settle(setup, 'acme/shop');
    for (let count = 0; count < 8; count += 1) {
      setup.watch.ms += minute;
      expect(await setup.pass('acme/shop')).toEqual([]);
    }
    setup.watch.ms += minute;
    expect(await setup.pass('acme/shop')).toEqual(['acme/shop']);
  });

  it('everything counts as changed when nobody looked for ten minutes', async () => {
    const setup = await start();
    await settle(setup, 'acme/shop', 'acme/news');
    setup.watch.ms += 9 * minute;
    setup.readAt.set('acme/shop', setup.watch.ms);
    setup.watch.ms += 2 * minute;
    expect(await setup.pass('acme/shop', 'acme/news')).toEqual(['acme/shop', 'acme/news']);
    setup.watch.ms += minute;
    expect(await setup.pass('acme/shop', 'acme/news')).toEqual([]);
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
    const setup = await start();
    await settle(setup, 'acme/shop', 'acme/news', 'acme/mail');
    setup.change('acme/shop');
    setup.watch.ms += 1;
    setup.forge.script = ({ target }) => spoil(setup.answer(target));
    expect(await setup.pass('acme/news')).toEqual(['acme/news']);
    setup.watch.ms += 5 * minute;
    setup.behave();
    expect(await setup.pass('acme/shop', 'acme/news', 'acme/mail')).toEqual(['acme/shop']);
  });

  it('a look that failed is not repeated for everybody who asks as of the same time', async () => {
    const setup = await start();
    setup.forge.script = () => ({ status: 502 });
    await setup.pass('acme/shop', 'acme/news', 'acme/mail');
    expect(setup.takeRequests()).toBe(1);
  });

  it.each([404, 403])('a forge that answers with %d is asked again after ten minutes only', async (status) => {
    const setup = await start();
    setup.forge.script = () => ({ status });
    for (let count = 0; count < 9; count += 1) {
      expect(await setup.pass('acme/shop')).toEqual(['acme/shop']);
      setup.watch.ms += minute;
    }
    expect(setup.takeRequests()).toBe(1);
    setup.behave();
    setup.watch.ms += minute;
    await settle(setup, 'acme/shop');
  });

  it('a forge that takes too long is asked again after ten minutes only', async () => {
    const setup = await start({ patienceMs: 200 });
    setup.forge.script = () => ({ fault: 'hang' });
    expect(await setup.pass('acme/shop')).toEqual(['acme/shop']);
    setup.watch.ms += 9 * minute;
    expect(await setup.pass('acme/shop')).toEqual(['acme/shop']);
    expect(setup.takeRequests()).toBe(1);
    setup.watch.ms += minute;
    await setup.pass('acme/shop');
    expect(setup.takeRequests()).toBe(1);
  });

  it('everything counts as changed when more changed than five pages hold, until that is over', async () => {
    const setup = await start();
    await settle(setup, 'acme/shop', 'acme/news');
    for (let id = 0; id <= 5 * pageSize; id += 1) setup.change('acme/shop', id);
    expect(await setup.pass('acme/shop', 'acme/news')).toEqual(['acme/shop', 'acme/news']);
    expect(setup.takeRequests()).toBe(5);
    setup.watch.ms += 2 * minute;
    await setup.pass('acme/shop', 'acme/news');
    setup.watch.ms += minute;
    expect(await setup.pass('acme/shop', 'acme/news')).toEqual([]);
  });

  it('reads all of five pages', async () => {
    const setup = await start();
    await settle(setup, 'acme/shop', 'acme/news');
    for (let id = 1; id < 5 * pageSize; id += 1) setup.change('acme/shop', id);
    expect(await setup.pass('acme/shop', 'acme/news')).toEqual(['acme/shop']);
  });

  it('everything counts as changed when the watch of the forge is set back', async () => {
    const setup = await start();
    await settle(setup, 'acme/shop', 'acme/news');
    setup.forgeWatch.skewMs = -60 * minute;
    expect(await setup.pass('acme/shop', 'acme/news')).toEqual(['acme/shop', 'acme/news']);
    setup.watch.ms += minute;
    await setup.pass('acme/shop');
    setup.change('acme/news');
    setup.watch.ms += minute;
    expect(await setup.pass('acme/shop', 'acme/news')).toEqual(['acme/news']);
  });

  it.each([
    ['a minute', minute],
    ['an hour', 60 * minute],
  ])('everything counts as changed when our watch is set back by %s', async (_case, backMs) => {
    const setup = await start();
    await settle(setup, 'acme/shop', 'acme/news');
    const { ms } = setup.watch;
    setup.readAt.set('acme/shop', ms).set('acme/news', ms);
    expect(await setup.pass('acme/shop', 'acme/news')).toEqual([]);
    setup.watch.ms -= backMs;
    setup.change('acme/shop');
    expect(await setup.pass('acme/shop', 'acme/news')).toEqual(['acme/shop', 'acme/news']);
    expect(await setup.isUnchanged('acme/shop', ms)).toBe(false);
  });
});

describe('somebody who goes away', () => {
  it('leaves the look to the others', async () => {
    const setup = await start();
    await settle(setup, 'acme/shop');
    const released = Promise.withResolvers<void>();
    setup.forge.script = ({ target }) => released.promise.then(() => setup.answer(target));
    const leaving = new AbortController();
    const left = setup.shared.isUnchanged('acme/shop', setup.watch.ms, setup.watch.ms, leaving.signal);
    const stayed = setup.isUnchanged('acme/shop');
    leaving.abort(new Error('went away'));
    await expect(left).rejects.toThrow('went away');
    released.resolve();
    expect(await stayed).toBe(true);
    expect(setup.takeRequests()).toBe(1);
  });

  it('and was the last one leaves no answer behind', async () => {
    const setup = await start();
    await settle(setup, 'acme/shop');
    setup.forge.script = () => ({ fault: 'hang' });
    const leaving = new AbortController();
    const left = setup.shared.isUnchanged('acme/shop', setup.watch.ms, setup.watch.ms, leaving.signal);
    await expect.poll(() => setup.forge.requests.length).toBe(1);
    leaving.abort(new Error('went away'));
    await expect(left).rejects.toThrow('went away');
    setup.behave();
    expect(await setup.isUnchanged('acme/shop')).toBe(true);
  });
});
