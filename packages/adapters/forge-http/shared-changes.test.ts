import { silentLog } from '@eph/contract';
import { describe, expect, it, onTestFinished } from 'vitest';
import { createExchange } from './exchange.ts';
import { createForgeHttp, type ParseAnswer } from './forge-http.ts';
import { type DatedPage, parseDate } from './read-pages.ts';
import { createTestGate, ManualClock, ScriptedForge } from './scripted-forge.fake.ts';
import { type ChangedPull, createSharedChanges } from './shared-changes.ts';

const { signal } = new AbortController();
const minute = 60_000;
const pageSize = 100;

const parse: ParseAnswer<DatedPage<ChangedPull>> = (body, headers) => ({
  items: body as readonly ChangedPull[],
  next: headers.get('x-next') ?? undefined,
  total: Number(headers.get('x-total')),
  readAtMs: parseDate(headers),
});

/** A forge whose watch may differ from ours, what happens there, and passes over repositories that share a look at it. */
const start = async ({ skewMs = 0 } = {}) => {
  const forge = await ScriptedForge.start();
  onTestFinished(() => forge[Symbol.asyncDispose]());
  const clock = new ManualClock();
  const forgeClock = { skewMs, now: () => clock.ms + forgeClock.skewMs };
  const updated = new Map<number, { readonly path: string; readonly at: number }>();
  const answer = (target: string) => {
    const query = new URL(target, forge.url).searchParams;
    const page = Number(query.get('page'));
    const found = [...updated].filter(([, { at }]) => at >= Date.parse(query.get('since') ?? ''));
    const items = found.slice((page - 1) * pageSize, page * pageSize).map(([id, { path }]) => ({ id, path }));
    const next = page * pageSize < found.length ? { 'x-next': String(page + 1) } : {};
    return { headers: { date: new Date(forgeClock.now()).toUTCString(), 'x-total': String(found.length), ...next }, body: items };
  };
  const behave = () => {
    forge.script = ({ target }) => answer(target);
  };
  behave();
  const http = createForgeHttp({
    exchange: createExchange(createTestGate(clock)),
    baseUrl: forge.url,
    headers: {},
    table: [
      { status: [401, 403], meaning: 'refused', code: 'forge.refused', message: String },
      { status: 404, meaning: 'gone', code: 'forge.unreachable', message: String },
      { status: [500, 599], meaning: 'retry', code: 'forge.unreachable', message: String },
    ],
    shown: 'acme',
    now: clock.now,
    log: silentLog,
    parsePosition: () => ({}),
  });
  const shared = createSharedChanges({
    readPage: (since, page, until) => http.read(`/changed?since=${since.toISOString()}&page=${page}`, parse, until),
    shown: 'acme',
    now: clock.now,
  });

  const readAt = new Map<string, number>();
  const isUnchanged = (path: string, asOf = clock.ms) =>
    shared.isUnchanged(path, readAt.get(path) ?? Number.NEGATIVE_INFINITY, asOf, signal);
  return {
    forge,
    clock,
    forgeClock,
    shared,
    readAt,
    answer,
    behave,
    isUnchanged,
    /** Whole seconds, as forges write them. */
    change: (path: string, id = 1) => updated.set(id, { path, at: Math.floor(forgeClock.now() / 1_000) * 1_000 }),
    /** Those that had to be read. */
    async pass(...paths: readonly string[]): Promise<readonly string[]> {
      const read: string[] = [];
      for (const path of paths) {
        if (await isUnchanged(path)) continue;
        readAt.set(path, clock.ms);
        read.push(path);
      }
      return read;
    },
    takeRequests: () => forge.requests.splice(0).length,
  };
};

type Harness = Awaited<ReturnType<typeof start>>;

/** Two passes, so that nothing needs to be read. */
const settle = async ({ pass, clock, takeRequests }: Harness, ...paths: readonly string[]) => {
  expect(await pass(...paths)).toEqual(paths);
  clock.ms += minute / 2;
  expect(await pass(...paths)).toEqual([]);
  clock.ms += minute / 2;
  takeRequests();
};

describe('shared changes', () => {
  it('is one request for a pass over all repositories, of which none is read again as long as nothing changes', async () => {
    const harness = await start();
    await settle(harness, 'acme/shop', 'acme/news', 'acme/web/mail');
    for (let count = 0; count < 5; count += 1) {
      harness.clock.ms += minute / 2;
      expect(await harness.pass('acme/shop', 'acme/news', 'acme/web/mail')).toEqual([]);
    }
    expect(harness.takeRequests()).toBe(5);
  });

  it('say which repositories changed, however their paths are written', async () => {
    const harness = await start();
    await settle(harness, 'acme/shop', 'acme/news');
    harness.change('Acme/Shop');
    expect(await harness.pass('acme/shop', 'acme/news')).toEqual(['acme/shop']);
    expect(harness.takeRequests()).toBe(1);
    harness.clock.ms += 2 * minute;
    await harness.pass('acme/shop', 'acme/news');
    harness.clock.ms += minute;
    expect(await harness.pass('acme/shop', 'acme/news')).toEqual([]);
  });

  it.each([
    ['an hour ahead', 60 * minute],
    ['an hour behind', -60 * minute],
  ])('use the clock of the forge, also when that is %s', async (_case, skewMs) => {
    const harness = await start({ skewMs });
    await settle(harness, 'acme/shop', 'acme/news');
    harness.change('acme/news');
    harness.clock.ms += 1;
    expect(await harness.pass('acme/shop', 'acme/news')).toEqual(['acme/news']);
  });

  it('include a change of the very second in which the previous query was answered', async () => {
    const harness = await start();
    await settle(harness, 'acme/shop', 'acme/news');
    harness.clock.ms += 900;
    expect(await harness.pass('acme/shop', 'acme/news')).toEqual([]);
    harness.change('acme/shop');
    harness.clock.ms += 10 * 1_000;
    expect(await harness.pass('acme/shop', 'acme/news')).toEqual(['acme/shop']);
  });

  it('sees a change that could be seen only half a minute after its date', async () => {
    const harness = await start();
    await settle(harness, 'acme/shop');
    const at = harness.clock.ms;
    harness.clock.ms = at + minute / 2;
    expect(await harness.pass('acme/shop')).toEqual([]);
    harness.clock.ms = at;
    harness.change('acme/shop');
    harness.clock.ms = at + minute;
    expect(await harness.pass('acme/shop')).toEqual(['acme/shop']);
  });

  it('serves everybody who asks as of the time it began or before, at the same time and later', async () => {
    const harness = await start();
    const paths = Array.from({ length: 1_000 }, (_, index) => `acme/service-${index}`);
    await settle(harness, ...paths);
    const asOf = harness.clock.ms;
    expect(new Set(await Promise.all(paths.map((path) => harness.isUnchanged(path, asOf))))).toEqual(new Set([true]));
    harness.clock.ms += 10 * 1_000;
    expect(await harness.isUnchanged('acme/service-1', asOf)).toBe(true);
    expect(harness.takeRequests()).toBe(1);
  });

  it('is not the answer for somebody who asks as of a time after it began', async () => {
    const harness = await start();
    await settle(harness, 'acme/shop');
    const released = Promise.withResolvers<void>();
    harness.forge.script = async ({ target }) => {
      const early = harness.answer(target);
      await released.promise;
      return early;
    };
    const first = harness.isUnchanged('acme/shop');
    await expect.poll(() => harness.forge.requests.length).toBe(1);
    harness.clock.ms += 1_000;
    harness.change('acme/shop');
    const second = harness.isUnchanged('acme/shop');
    harness.behave();
    released.resolve();
    expect([await first, await second]).toEqual([true, false]);
    expect(harness.takeRequests()).toBe(2);
  });
});

describe('in doubt', () => {
  it('a reading from before the first query counts as changed', async () => {
    const harness = await start();
    harness.readAt.set('acme/shop', harness.clock.ms);
    harness.clock.ms += 1_000;
    expect(await harness.pass('acme/shop')).toEqual(['acme/shop']);
  });

  it('a reading counts as changed after ten minutes, whatever queries say', async () => {
    const harness = await start();
    await settle(harness, 'acme/shop');
    for (let count = 0; count < 8; count += 1) {
      harness.clock.ms += minute;
      expect(await harness.pass('acme/shop')).toEqual([]);
    }
    harness.clock.ms += minute;
    expect(await harness.pass('acme/shop')).toEqual(['acme/shop']);
  });

  it('everything counts as changed when nobody looked for ten minutes', async () => {
    const harness = await start();
    await settle(harness, 'acme/shop', 'acme/news');
    harness.clock.ms += 9 * minute;
    harness.readAt.set('acme/shop', harness.clock.ms);
    harness.clock.ms += 2 * minute;
    expect(await harness.pass('acme/shop', 'acme/news')).toEqual(['acme/shop', 'acme/news']);
    harness.clock.ms += minute;
    expect(await harness.pass('acme/shop', 'acme/news')).toEqual([]);
  });

  it.each([
    ['is an error', () => ({ status: 502 })],
    ['breaks off', (good: object) => ({ ...good, fault: 'truncated' as const })],
    ['does not come', () => ({ fault: 'reset' as const })],
    ['makes no sense', (good: { headers: object }) => ({ headers: { ...good.headers }, body: '[{' })],
    ['has no date', (good: { headers: object }) => ({ ...good, headers: { ...good.headers, date: 'today' } })],
    ['is not whole', (good: { headers: object }) => ({ headers: { ...good.headers, 'x-total': '7' }, body: [] })],
    ['lacks its second page', (good: { headers: object }) => ({ headers: { ...good.headers, 'x-next': '2' }, body: [] })],
  ])('everything counts as changed when the answer %s, and the next query covers the gap', async (_case, spoil) => {
    const harness = await start();
    await settle(harness, 'acme/shop', 'acme/news', 'acme/mail');
    harness.change('acme/shop');
    harness.clock.ms += 1;
    harness.forge.script = ({ target }) => spoil(harness.answer(target));
    expect(await harness.pass('acme/news')).toEqual(['acme/news']);
    harness.clock.ms += 5 * minute;
    harness.behave();
    expect(await harness.pass('acme/shop', 'acme/news', 'acme/mail')).toEqual(['acme/shop']);
  });

  it('a query that failed is not repeated for everybody who asks as of the same time', async () => {
    const harness = await start();
    harness.forge.script = () => ({ status: 502 });
    await harness.pass('acme/shop', 'acme/news', 'acme/mail');
    expect(harness.takeRequests()).toBe(1);
  });

  it.each([404, 403])('a forge that answers with %d is asked again after ten minutes only', async (status) => {
    const harness = await start();
    harness.forge.script = () => ({ status });
    for (let count = 0; count < 9; count += 1) {
      expect(await harness.pass('acme/shop')).toEqual(['acme/shop']);
      harness.clock.ms += minute;
    }
    expect(harness.takeRequests()).toBe(1);
    harness.behave();
    harness.clock.ms += minute;
    await settle(harness, 'acme/shop');
  });

  it('a forge that takes too long is asked again after ten minutes only', { timeout: 60_000 }, async () => {
    const harness = await start();
    harness.forge.script = () => ({ fault: 'hang' });
    expect(await harness.pass('acme/shop')).toEqual(['acme/shop']);
    harness.clock.ms += 9 * minute;
    expect(await harness.pass('acme/shop')).toEqual(['acme/shop']);
    expect(harness.takeRequests()).toBe(1);
    harness.clock.ms += minute;
    await harness.pass('acme/shop');
    expect(harness.takeRequests()).toBe(1);
  });

  it('everything counts as changed when more changed than five pages hold, until that is over', async () => {
    const harness = await start();
    await settle(harness, 'acme/shop', 'acme/news');
    for (let id = 0; id <= 5 * pageSize; id += 1) harness.change('acme/shop', id);
    expect(await harness.pass('acme/shop', 'acme/news')).toEqual(['acme/shop', 'acme/news']);
    expect(harness.takeRequests()).toBe(5);
    harness.clock.ms += 2 * minute;
    await harness.pass('acme/shop', 'acme/news');
    harness.clock.ms += minute;
    expect(await harness.pass('acme/shop', 'acme/news')).toEqual([]);
  });

  it('reads all of five pages', async () => {
    const harness = await start();
    await settle(harness, 'acme/shop', 'acme/news');
    for (let id = 1; id < 5 * pageSize; id += 1) harness.change('acme/shop', id);
    expect(await harness.pass('acme/shop', 'acme/news')).toEqual(['acme/shop']);
  });

  it('everything counts as changed when the clock of the forge is set back', async () => {
    const harness = await start();
    await settle(harness, 'acme/shop', 'acme/news');
    harness.forgeClock.skewMs = -60 * minute;
    expect(await harness.pass('acme/shop', 'acme/news')).toEqual(['acme/shop', 'acme/news']);
    harness.clock.ms += minute;
    await harness.pass('acme/shop');
    harness.change('acme/news');
    harness.clock.ms += minute;
    expect(await harness.pass('acme/shop', 'acme/news')).toEqual(['acme/news']);
  });

  it.each([
    ['a minute', minute],
    ['an hour', 60 * minute],
  ])('everything counts as changed when the local clock is set back by %s', async (_case, backMs) => {
    const harness = await start();
    await settle(harness, 'acme/shop', 'acme/news');
    const { ms } = harness.clock;
    harness.readAt.set('acme/shop', ms).set('acme/news', ms);
    expect(await harness.pass('acme/shop', 'acme/news')).toEqual([]);
    harness.clock.ms -= backMs;
    harness.change('acme/shop');
    expect(await harness.pass('acme/shop', 'acme/news')).toEqual(['acme/shop', 'acme/news']);
    expect(await harness.isUnchanged('acme/shop', ms)).toBe(false);
  });
});

describe('somebody who goes away', () => {
  it('leaves the query to the others', async () => {
    const harness = await start();
    await settle(harness, 'acme/shop');
    const released = Promise.withResolvers<void>();
    harness.forge.script = ({ target }) => released.promise.then(() => harness.answer(target));
    const leaving = new AbortController();
    const left = harness.shared.isUnchanged('acme/shop', harness.clock.ms, harness.clock.ms, leaving.signal);
    const stayed = harness.isUnchanged('acme/shop');
    leaving.abort(new Error('went away'));
    await expect(left).rejects.toThrow('went away');
    released.resolve();
    expect(await stayed).toBe(true);
    expect(harness.takeRequests()).toBe(1);
  });

  it('and was the last one leaves no answer behind', async () => {
    const harness = await start();
    await settle(harness, 'acme/shop');
    harness.forge.script = () => ({ fault: 'hang' });
    const leaving = new AbortController();
    const left = harness.shared.isUnchanged('acme/shop', harness.clock.ms, harness.clock.ms, leaving.signal);
    await expect.poll(() => harness.forge.requests.length).toBe(1);
    leaving.abort(new Error('went away'));
    await expect(left).rejects.toThrow('went away');
    harness.behave();
    expect(await harness.isUnchanged('acme/shop')).toBe(true);
  });
});
