import { toFailure } from '@eph/contract';
import { ManualClock } from '@eph/engine/time/clock.fake';
import { systemClock } from '@eph/engine/time/system-clock';
import { expect, it, onTestFinished, vi } from 'vitest';
import { cluster as clusterPart } from '../../test/parts/cluster.ts';
import { describeWith } from '../../test/parts/describe-with.ts';
import type { Fault, ProxiedRequest } from './api-proxy.fake.ts';
import { openCluster } from './cluster.ts';
import { configMap, never, openTestCluster } from './cluster-harness.fake.ts';
import { keepMetadata } from './kept-fields.ts';
import type { KubeObject } from './object.ts';
import type { RestartReason } from './observer.ts';

vi.setConfig({ testTimeout: 120_000, hookTimeout: 120_000 });

const kind = { apiVersion: 'v1', kind: 'ConfigMap' };
const applied = { manager: 'eph', force: true } as const;

const start = async (prepare: (proxy: { fault: (request: ProxiedRequest) => Fault | undefined }) => void = () => undefined) => {
  const clock = new ManualClock();
  const restarts: RestartReason[] = [];
  const observer = {
    requested: () => undefined,
    restarted: ({ why }: { readonly why: RestartReason }) => void restarts.push(why),
  };
  const test = await openTestCluster({ clock, observer });
  const { cluster, access, namespace, proxy } = test;
  prepare(proxy);
  const reflector = cluster.reflect({ ...kind, namespace, labels: { shown: 'yes' } }, keepMetadata, {
    color: ({ metadata }) => [metadata.labels?.['color'] ?? []].flat(),
  });
  const heard: (readonly string[])[] = [];
  reflector.listen((keys) => heard.push(keys));
  const path = `/api/v1/namespaces/${namespace}/configmaps`;
  const labelled = (name: string, labels: Record<string, string> = {}): KubeObject =>
    configMap(namespace, name, { labels: { shown: 'yes', ...labels } });
  return {
    ...test,
    clock,
    restarts,
    reflector,
    heard,
    labelled,
    names: (): string[] =>
      reflector.cache
        .all()
        .map(({ metadata }) => metadata.name)
        .toSorted(),
    /** Beside the proxy, by somebody else. */
    put: (name: string, labels?: Record<string, string>) =>
      access.api.send('PATCH', `${path}/${name}?fieldManager=other&force=true`, {
        patch: 'apply-patch+yaml',
        body: labelled(name, labels),
      }),
    remove: (name: string) => access.api.send('DELETE', `${path}/${name}`),
    /** Polls while time goes by. */
    soon: <T>(read: () => T, msPerLook = 500) =>
      // oxlint-disable-next-line vitest/require-awaited-expect-poll -- whoever calls it awaits it
      expect.poll(() => {
        clock.advance(msPerLook);
        return read();
      }),
    lists: () => proxy.count(({ url, isWatch }) => url.pathname === path && !isWatch),
    isWatch: ({ url, isWatch }: ProxiedRequest): boolean => isWatch && url.pathname === path,
  };
};

const inSync = async () => {
  const test = await start();
  await test.reflector.untilFirstSync(never);
  await expect.poll(() => test.proxy.openWatches).toBe(1);
  return test;
};

describeWith(clusterPart, 'a reflector', () => {
  it('is out of sync until everything is listed, and follows what happens', async () => {
    const test = await start();
    expect(test.reflector.sync).toMatchObject({ inSync: false, fault: { code: 'cluster.unreachable' } });
    await test.put('before');
    await test.reflector.untilFirstSync(never);
    await test.put('web', { color: 'red' });
    await expect.poll(test.names).toEqual(['before', 'web']);
    expect(test.reflector.sync).toEqual({ inSync: true });
    const red = test.reflector.cache.by('color', 'red');
    expect(red.map(({ metadata }) => metadata.name)).toEqual(['web']);
    await test.put('before', { color: 'blue' });
    await expect.poll(() => test.reflector.cache.by('color', 'blue')).toHaveLength(1);
    expect(test.reflector.cache.by('color', 'red')).toBe(red);
    // It is there, but not selected any more.
    await test.put('web', { shown: 'no' });
    await expect.poll(test.names).toEqual(['before']);
    await test.put('web');
    await expect.poll(test.names).toEqual(['before', 'web']);
    await test.remove('before');
    await expect.poll(test.names).toEqual(['web']);
    expect(test.heard.flat()).toContain(`${test.namespace}/web`);
    expect(test.lists()).toBe(1);
  });

  it('reads long lists in pages', async () => {
    const test = await inSync();
    const names = Array.from({ length: 620 }, (_, index) => `c${index}`);
    for (let at = 0; at < names.length; at += 31) await Promise.all(names.slice(at, at + 31).map((name) => test.put(name)));
    await expect.poll(() => test.names().length).toBe(620);
    const second = test.cluster.reflect({ ...kind, namespace: test.namespace }, keepMetadata, {});
    await second.untilFirstSync(never);
    expect(second.cache.all().filter(({ metadata }) => /^c\d/.test(metadata.name))).toHaveLength(620);
    expect(test.proxy.count(({ url }) => url.searchParams.get('limit') === '250' && url.searchParams.has('continue'))).toBe(2);
  });

  it('is not in sync because of half a list', async () => {
    const test = await start((proxy) => {
      proxy.fault = ({ isWatch, url }) =>
        !isWatch && url.pathname.endsWith('/configmaps') ? { type: 'half', bytes: 20 } : undefined;
    });
    await test.put('web');
    await test.soon(test.lists).toBeGreaterThan(2);
    expect(test.reflector.sync).toMatchObject({ inSync: false, fault: { code: 'cluster.unreachable' } });
    expect(test.names()).toEqual([]);
    test.proxy.fault = () => undefined;
    await test.soon(test.names).toEqual(['web']);
  });

  it('asks for smaller pages where one is too large', async () => {
    const large = 'x'.repeat(33 * 1024 * 1024);
    const test = await start((proxy) => {
      proxy.fault = ({ url }) =>
        url.searchParams.get('limit') === '250' ? { type: 'answer', status: 200, body: large } : undefined;
    });
    await test.reflector.untilFirstSync(never);
    expect(test.proxy.count(({ url }) => url.searchParams.get('limit') === '62')).toBe(1);
  });
});

describeWith(clusterPart, 'a watch', () => {
  it.each<[string, (test: Awaited<ReturnType<typeof inSync>>) => void, RestartReason, number]>([
    ['is reset', ({ proxy }) => proxy.resetAll(), 'failed', 1],
    ['sends something that makes no sense', ({ proxy }) => proxy.sendToWatches('garbage\n'), 'failed', 1],
    ['sends half a line and ends', ({ proxy }) => [proxy.sendToWatches('{"type":"ADD'), proxy.endWatches()], 'failed', 1],
    [
      'sends something that is no object',
      ({ proxy }) => proxy.sendToWatches('{"type":"ADDED","object":{"metadata":{}}}\n'),
      'failed',
      1,
    ],
    ['fails', ({ proxy }) => proxy.sendToWatches('{"type":"ERROR","object":{"kind":"Status","code":500}}\n'), 'failed', 1],
    ['has expired', ({ proxy }) => proxy.sendToWatches('{"type":"ERROR","object":{"kind":"Status","code":410}}\n'), 'expired', 2],
    ['ends', ({ proxy }) => proxy.endWatches(), 'ended', 1],
  ])('that %s begins again, and misses nothing', async (_, disturb, why, lists) => {
    const test = await inSync();
    await test.put('kept');
    await test.put('web');
    await expect.poll(test.names).toEqual(['kept', 'web']);
    const kept = test.reflector.cache.get({ namespace: test.namespace, name: 'kept' });
    // So that it does not end at once.
    test.clock.advance(2_000);
    test.proxy.fault = (request) => (test.isWatch(request) ? { type: 'stall' } : undefined);
    disturb(test);
    await test.put('more');
    await test.remove('web');
    await expect.poll(() => test.restarts).toEqual([why]);
    // A watch that ended as it was asked to has missed nothing.
    expect(test.reflector.sync.inSync).toBe(why === 'ended');
    test.proxy.fault = () => undefined;
    test.proxy.resetAll();
    await test.soon(test.names).toEqual(['kept', 'more']);
    await test.soon(() => test.reflector.sync).toEqual({ inSync: true });
    expect(test.lists()).toBe(lists);
    expect(test.reflector.cache.get({ namespace: test.namespace, name: 'kept' })).toBe(kept);
  });

  it.each<[string, Fault]>([
    ['is gone', { type: 'reset' }],
    ['answers with 503', { type: 'answer', status: 503 }],
    ['asks for a pause', { type: 'answer', status: 429, headers: { 'retry-after': '2' } }],
    [
      'takes the right away',
      { type: 'answer', status: 403, body: { kind: 'Status', message: 'User "eph" cannot list resource "configmaps"' } },
    ],
    ['ends everything at once', { type: 'answer', status: 200, body: '' }],
  ])('never gives up while the server %s, says so, and waits longer and longer', async (_, fault) => {
    const test = await inSync();
    await test.put('web');
    await expect.poll(test.names).toEqual(['web']);
    test.proxy.fault = () => fault;
    test.proxy.resetAll();
    const asked = (): number => test.proxy.requests.length;
    const before = asked();
    await test.soon(asked).toBeGreaterThan(before + 4);
    expect(test.reflector.sync).toMatchObject({ inSync: false, since: expect.any(Number) });
    expect(test.names()).toEqual(['web']);
    // Half a minute, and a bit for chance.
    test.clock.advance(10 * 60_000);
    const quiet = asked();
    for (let second = 0; second < 20; second += 1) {
      test.clock.advance(1_000);
      await test.clock.nextTurn();
    }
    expect(asked() - quiet).toBeLessThan(4);
    test.proxy.fault = () => undefined;
    await test.remove('web');
    await test.soon(test.names, 5_000).toEqual([]);
    await test.soon(() => test.reflector.sync).toEqual({ inSync: true });
  });

  it.each([
    ['before any bookmark', false],
    ['after bookmarks that came every minute', true],
  ])('on which nothing comes any more, %s, is given up', async (_, hasBookmarks) => {
    const test = await inSync();
    await test.put('web');
    await expect.poll(test.names).toEqual(['web']);
    const { uid: __, ...metadata } = (await test.access.api.send('GET', `/api/v1/namespaces/${test.namespace}/configmaps/web`))
      .metadata;
    if (hasBookmarks) test.proxy.sendToWatches(`${JSON.stringify({ type: 'BOOKMARK', object: { metadata } })}\n`);
    // It comes after the bookmark.
    await test.put('web', { color: 'red' });
    await expect.poll(() => test.reflector.cache.by('color', 'red')).toHaveLength(1);
    test.proxy.silenceWatches();
    await test.put('more');
    test.clock.advance(2 * 60_000);
    await test.clock.nextTurn();
    expect(test.names()).toEqual(['web']);
    test.clock.advance(hasBookmarks ? 61_000 : 9 * 60_000);
    await test.soon(test.names).toEqual(['more', 'web']);
    expect(test.restarts).toEqual([hasBookmarks ? 'silent' : 'failed']);
  });

  it('whose changes come twice and in another order shows the world as it is', async () => {
    let held: string[] = [];
    const rewrite = (line: string): string[] => {
      held.push(line);
      if (held.length < 3) return [];
      const [a = '', b = '', c = ''] = held;
      held = [];
      return [c, a, b, b, a];
    };
    const test = await start((proxy) => {
      proxy.fault = ({ isWatch }) => (isWatch ? { type: 'lines', rewrite } : undefined);
    });
    await test.reflector.untilFirstSync(never);
    await expect.poll(() => test.proxy.openWatches).toBe(1);
    for (const color of ['red', 'blue', 'green']) await test.put('web', { color });
    await test.put('api');
    await test.remove('api');
    await test.put('last');
    await expect.poll(test.names).toEqual(['last', 'web']);
    expect(test.reflector.cache.by('color', 'green')).toHaveLength(1);
    // Something may be missing, too.
    test.proxy.endWatches();
    await test.soon(test.lists).toBe(2);
    expect(test.restarts).toContain('disordered');
  });
});

describeWith(clusterPart, 'a write', () => {
  it('is seen at once, although the watch does not show it yet', async () => {
    const test = await inSync();
    test.proxy.silenceWatches();
    await test.cluster.apply(test.labelled('web', { color: 'red' }), applied, never);
    expect(test.names()).toEqual(['web']);
    const name = { namespace: test.namespace, name: 'web' };
    await test.cluster.patch(kind, name, { type: 'merge', fields: { metadata: { labels: { color: 'blue' } } } }, never);
    expect(test.reflector.cache.by('color', 'blue')).toHaveLength(1);
    await test.cluster.apply(configMap(test.namespace, 'other'), applied, never);
    expect(test.names()).toEqual(['web']);
    await test.cluster.delete(kind, name, { propagation: 'Background' }, never);
    expect(test.names()).toEqual([]);
    // What the watch sends later about the time before changes nothing.
    test.proxy.resetAll();
    await test.put('last');
    await test.soon(test.names).toEqual(['last']);
  });
});

describeWith(clusterPart, 'a cluster whose API server is killed under load', () => {
  it('is shown as it is afterwards', async () => {
    const server = await clusterPart.start();
    onTestFinished(() => server.stop());
    const namespace = await server.createNamespace('kube');
    await using cluster = openCluster({
      name: 'test',
      location: { kubeconfig: server.kubeconfig },
      clock: systemClock,
      random: Math.random,
    });
    const selection = { ...kind, namespace };
    const reflector = cluster.reflect(selection, keepMetadata, {});
    await reflector.untilFirstSync(never);
    const codes = new Set<string>();
    const noteCode = (error: unknown): void => void codes.add(toFailure(error).code);
    let isKilled = false;
    const write = async (worker: number): Promise<void> => {
      for (let step = 0; !isKilled || step < 40; step += 1) {
        const name = `c${worker}-${step % 10}`;
        const how = { propagation: 'Background' } as const;
        if (step % 3 === 2) await cluster.delete(kind, { namespace, name }, how, never).catch(noteCode);
        else await cluster.apply(configMap(namespace, name, {}, { step: String(step) }), applied, never).catch(noteCode);
      }
    };
    const writing = Promise.all([1, 2, 3, 4].map(write));
    await expect.poll(() => reflector.cache.size).toBeGreaterThan(10);
    await server.killApiServer();
    await expect.poll(() => reflector.sync.inSync).toBe(false);
    isKilled = true;
    await writing;
    await server.resumeApiServer();
    await Promise.all([1, 2, 3, 4].map(write));
    await expect.poll(() => reflector.sync.inSync).toBe(true);
    expect([...codes]).toEqual(['cluster.unreachable']);
    const really = async (): Promise<string[]> =>
      (await Array.fromAsync(cluster.client.list(selection, never))).map(({ metadata }) => metadata.name).toSorted();
    const shown = (): string[] =>
      reflector.cache
        .all()
        .map(({ metadata }) => metadata.name)
        .toSorted();
    await expect.poll(shown).toEqual(await really());
  });
});
