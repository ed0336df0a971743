import { isEphError } from '@eph/contract';
import { systemClock } from '@eph/engine/time/system-clock';
import { describe, expect, it, vi } from 'vitest';
import { cluster as clusterPart } from '../../test/parts/cluster.ts';
import { describeWith } from '../../test/parts/describe-with.ts';
import { openCluster } from './cluster.ts';
import { configMap, never, openTestCluster } from './cluster-harness.fake.ts';
import type { KubeObject } from './object.ts';
import type { ObservedRequest } from './observer.ts';

vi.setConfig({ testTimeout: 120_000, hookTimeout: 120_000 });

const kind = { apiVersion: 'v1', kind: 'ConfigMap' };
const apply = { manager: 'eph', force: true } as const;
const signal = never;

const definition = (group: string, plural: string): KubeObject => ({
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
  metadata: { name: `${plural}.${group}` },
  spec: {
    group,
    scope: 'Namespaced',
    names: { plural, singular: 'thing', kind: 'Thing' },
    versions: [
      {
        name: 'v1',
        served: true,
        storage: true,
        schema: { openAPIV3Schema: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true } },
      },
    ],
  },
});

describeWith(clusterPart, 'the API of a cluster', () => {
  it('creates, reads, applies, patches, replaces and deletes objects', async () => {
    const { cluster, namespace } = await openTestCluster();
    const { client } = cluster;
    const name = { namespace, name: 'web' };
    expect(await client.get(kind, name, signal)).toBeUndefined();
    await cluster.create(configMap(namespace, 'web', {}, { a: '1' }), signal);
    await expect(cluster.create(configMap(namespace, 'web'), signal)).rejects.toMatchObject({ code: 'object.conflict' });
    await cluster.apply(configMap(namespace, 'web', {}, { b: '2' }), apply, signal);
    expect(await cluster.apply(configMap(namespace, 'web', {}, { c: '3' }), apply, signal)).toMatchObject({
      data: { a: '1', c: '3' },
    });
    expect(await cluster.apply(configMap(namespace, 'dry'), { ...apply, dryRun: true }, signal)).toMatchObject({
      metadata: { name: 'dry' },
    });
    expect(await client.get(kind, { namespace, name: 'dry' }, signal)).toBeUndefined();
    await cluster.patch(kind, name, { type: 'merge', fields: { data: { a: null } } }, signal);
    const operations = [
      { op: 'test', path: '/data/c', value: '3' },
      { op: 'replace', path: '/data/c', value: '4' },
    ];
    const patched = await cluster.patch(kind, name, { type: 'json', operations }, signal);
    expect(patched['data']).toEqual({ c: '4' });
    await expect(cluster.patch(kind, name, { type: 'json', operations }, signal)).rejects.toMatchObject({
      code: 'object.refused',
    });
    const replaced = await client.update({ ...patched, data: {} }, signal);
    await expect(client.update(patched, signal)).rejects.toMatchObject({ code: 'object.conflict' });
    const outdated = { propagation: 'Background', preconditions: { uid: 'another' } } as const;
    await expect(cluster.delete(kind, name, outdated, signal)).rejects.toMatchObject({ code: 'object.conflict' });
    const uid = replaced.metadata.uid ?? '';
    expect(await cluster.delete(kind, name, { propagation: 'Background', preconditions: { uid } }, signal)).toEqual({
      state: 'gone',
      uid,
    });
    expect(await cluster.delete(kind, name, { propagation: 'Background' }, signal)).toEqual({ state: 'gone' });
  });

  it('knows that an object is gone whose kind is answered with what it was', async () => {
    const { cluster, namespace } = await openTestCluster();
    const service = { apiVersion: 'v1', kind: 'Service' };
    const name = { namespace, name: 'web' };
    const made = await cluster.create({ ...service, metadata: name, spec: { ports: [{ port: 80 }] } }, signal);
    const { uid } = made.metadata;
    expect(await cluster.delete(service, name, { propagation: 'Background' }, signal)).toEqual({ state: 'gone', uid });
    expect(await cluster.client.get(service, name, signal)).toBeUndefined();
  });

  it('says that an object with finalizers is being removed', async () => {
    const { cluster, namespace } = await openTestCluster();
    await cluster.create(configMap(namespace, 'web', { finalizers: ['example.com/wait'] }), signal);
    const deletion = await cluster.delete(kind, { namespace, name: 'web' }, { propagation: 'Background' }, signal);
    expect(deletion).toMatchObject({ state: 'removing', object: { metadata: { deletionTimestamp: expect.any(String) } } });
    await cluster.patch(kind, { namespace, name: 'web' }, { type: 'merge', fields: { metadata: { finalizers: null } } }, signal);
  });

  it('lists in pages by label, also names only', async () => {
    const { cluster, namespace } = await openTestCluster();
    for (let index = 0; index < 5; index += 1)
      await cluster.create(configMap(namespace, `c${index}`, { labels: { odd: String(index % 2) } }, { x: 'y' }), signal);
    const selection = { ...kind, namespace, labels: { odd: '0' } };
    const first = await cluster.client.page(selection, 2, undefined, signal);
    expect([first.objects.length, first.next]).toEqual([2, expect.any(String)]);
    const second = await cluster.client.page(selection, 2, first.next, signal);
    expect(second.objects.map(({ metadata }) => metadata.name)).toEqual(['c4']);
    const named = await cluster.client.page({ ...selection, metadataOnly: true }, 10, undefined, signal);
    expect(named.objects.map((object) => [object.kind, object['data']])).toEqual(
      Array.from({ length: 3 }, () => ['ConfigMap', undefined]),
    );
    expect(await Array.fromAsync(cluster.client.list(selection, signal))).toHaveLength(3);
  });

  it('finds kinds that come with what defines them, and that go again', async () => {
    const { cluster, proxy, namespace } = await openTestCluster();
    const group = `${namespace}.example.com`;
    const thing = (name: string): KubeObject => ({ apiVersion: `${group}/v1`, kind: 'Thing', metadata: { namespace, name } });
    const asked = (): number => proxy.count(({ url }) => url.pathname === `/apis/${group}/v1`);
    for (let round = 0; round < 5; round += 1)
      await expect(cluster.apply(thing('one'), apply, signal)).rejects.toMatchObject({
        code: 'object.missing',
        message: `Cluster test does not serve Thing of ${group}/v1.`,
        retryAfterMs: expect.any(Number),
      });
    expect(asked()).toBe(1);
    await cluster.apply(definition(group, 'things'), apply, signal);
    const tryAgain = () =>
      cluster.apply(thing('one'), apply, signal).then(
        ({ metadata }) => metadata.name,
        () => undefined,
      );
    await expect.poll(tryAgain).toBe('one');
    await cluster.delete(definition(group, 'things'), { name: `things.${group}` }, { propagation: 'Background' }, signal);
    const read = () => cluster.client.get(thing('one'), { namespace, name: 'one' }, signal).catch((error: unknown) => error);
    // As long as the kind is served, the object may be gone already; after that, nobody can say.
    await expect.poll(read).toMatchObject({ code: 'object.missing' });
  });

  it.each([
    ['a kind that there is not', { apiVersion: 'v1', kind: 'Nonsense' }, 'x', 'object.missing', /does not serve Nonsense of v1/],
    ['a version that is a path', { apiVersion: '../v1', kind: 'Pod' }, 'x', 'object.refused', /is no apiVersion/],
    ['a name that is a path', kind, '../secrets/x', 'object.refused', /cannot be the name/],
    ['a name that is no name', kind, 'Not A Name', 'object.refused', /status 422/],
  ])('refuses %s', async (_, of, name, code, message) => {
    const { cluster, namespace } = await openTestCluster();
    const object = { ...of, metadata: { namespace, name } };
    const error = expect.objectContaining({ code, message: expect.stringMatching(message) });
    await expect(cluster.apply(object, apply, signal)).rejects.toEqual(error);
  });

  it('refuses objects without the namespace that they need, that are too large, and in a namespace that is not there', async () => {
    const { cluster, namespace } = await openTestCluster();
    const { namespace: _, ...lost } = configMap(namespace, 'web').metadata;
    await expect(cluster.apply({ ...configMap(namespace, 'web'), metadata: lost }, apply, signal)).rejects.toMatchObject({
      code: 'object.refused',
      message: 'ConfigMap web needs a namespace.',
    });
    const large = configMap(namespace, 'large', {}, { x: 'x'.repeat(3 * 1024 * 1024) });
    await expect(cluster.apply(large, apply, signal)).rejects.toMatchObject({
      code: 'object.refused',
      message: expect.stringContaining('larger than 3 MiB'),
    });
    const tooLarge = configMap(namespace, 'large', {}, { x: 'x'.repeat(1_100_000) });
    await expect(cluster.apply(tooLarge, apply, signal)).rejects.toMatchObject({ code: 'object.refused' });
    await expect(cluster.apply(configMap('not-there', 'web'), apply, signal)).rejects.toMatchObject({ code: 'object.missing' });
  });

  it('says what a user may not do, without what a Secret holds', async () => {
    const { access, namespace } = await openTestCluster();
    const kubeconfig = await access.writeKubeconfig(`${namespace}-nobody`, await access.createUser('nobody-special'));
    await using cluster = openCluster({ name: 'prod', location: { kubeconfig }, clock: systemClock, random: Math.random });
    const secret = {
      apiVersion: 'v1',
      kind: 'Secret',
      metadata: { namespace, name: 'keys' },
      stringData: { password: 'hunter2hunter2' },
    };
    const error: unknown = await cluster.apply(secret, apply, signal).catch((error: unknown) => error);
    expect(error).toMatchObject({
      code: 'cluster.refused',
      message: `ephd has no right to apply Secret ${namespace}/keys in cluster prod. An operator must grant it.`,
    });
    expect(JSON.stringify(error)).not.toContain('hunter2');
    await expect(cluster.client.get(kind, { namespace, name: 'web' }, signal)).rejects.toMatchObject({ code: 'cluster.refused' });
  });
});

describeWith(clusterPart, 'an API server that is in trouble', () => {
  it('gets the time that it asks for', async () => {
    const { cluster, proxy, namespace } = await openTestCluster();
    let refusals = 3;
    proxy.fault = ({ method }) => {
      if (method !== 'PATCH' || refusals === 0) return undefined;
      refusals -= 1;
      return { type: 'answer', status: refusals === 1 ? 503 : 429, headers: { 'retry-after': '0' } };
    };
    await cluster.apply(configMap(namespace, 'web'), apply, signal);
    expect(proxy.count(({ method }) => method === 'PATCH')).toBe(4);
  });

  it.each([
    ['does not get better', { type: 'answer', status: 429, headers: { 'retry-after': '0' } }, 'cluster.unreachable', 0, 5],
    [
      'asks for a long pause',
      { type: 'answer', status: 429, headers: { 'retry-after': '60' } },
      'cluster.unreachable',
      60_000,
      1,
    ],
    [
      'fails',
      { type: 'answer', status: 500, body: { kind: 'Status', message: 'etcdserver: request timed out' } },
      'cluster.unreachable',
      undefined,
      1,
    ],
    ['is gone', { type: 'reset' }, 'cluster.unreachable', undefined, 1],
    ['sends half an answer', { type: 'half', bytes: 30 }, 'cluster.unreachable', undefined, 1],
    ['sends something else', { type: 'answer', status: 200, body: '<html>' }, 'cluster.unreachable', undefined, 1],
    ['sends another thing', { type: 'answer', status: 200, body: { kind: 'Status' } }, 'cluster.unreachable', undefined, 1],
    ['is not the API server', { type: 'answer', status: 404, body: '<html>' }, 'object.missing', undefined, 1],
    ['does not believe us', { type: 'answer', status: 401, body: {} }, 'cluster.refused', undefined, 2],
  ] as const)('and %s is an error, never an absence', async (_, fault, code, retryAfterMs, asked) => {
    const { cluster, proxy, namespace } = await openTestCluster();
    await cluster.create(configMap(namespace, 'web'), signal);
    const isGet = ({ url }: { url: URL }): boolean => url.pathname.endsWith('/configmaps/web');
    proxy.fault = (request) => (isGet(request) ? fault : undefined);
    const error: unknown = await cluster.client.get(kind, { namespace, name: 'web' }, signal).catch((error: unknown) => error);
    expect(isEphError(error) && [error.code, error.retryAfterMs]).toEqual([code, retryAfterMs]);
    expect(proxy.count(isGet)).toBe(asked);
  });

  it('can be left', async () => {
    const { cluster, proxy, namespace } = await openTestCluster();
    await cluster.client.get(kind, { namespace, name: 'web' }, signal);
    proxy.fault = () => ({ type: 'stall' });
    const abort = new AbortController();
    const asking = cluster.client.get(kind, { namespace, name: 'web' }, abort.signal);
    await expect.poll(() => proxy.requests.length).toBeGreaterThan(2);
    abort.abort(new Error('enough'));
    await expect(asking).rejects.toThrow('enough');
    const closing = cluster.client.get(kind, { namespace, name: 'web' }, signal);
    await expect.poll(() => proxy.requests.length).toBeGreaterThan(3);
    await cluster[Symbol.asyncDispose]();
    await expect(closing).rejects.toMatchObject({ code: 'cluster.unreachable' });
    await expect(cluster.client.get(kind, { namespace, name: 'web' }, signal)).rejects.toMatchObject({
      message: 'The connection to cluster test is closed.',
    });
  });
});

describeWith(clusterPart, 'metrics', () => {
  it('count requests by verb, kind and status', async () => {
    const requests: ObservedRequest[] = [];
    const observer = { requested: (request: ObservedRequest) => void requests.push(request), restarted: () => undefined };
    const { cluster, proxy, namespace } = await openTestCluster({ observer });
    await cluster.apply(configMap(namespace, 'web'), apply, signal);
    await cluster.client.get(kind, { namespace, name: 'other' }, signal);
    proxy.fault = () => ({ type: 'reset' });
    await cluster.client.get(kind, { namespace, name: 'web' }, signal).catch(() => undefined);
    expect(requests.map(({ verb, kind: of, status }) => [verb, of, status])).toEqual([
      ['get', 'APIResourceList', 200],
      ['apply', 'ConfigMap', 201],
      ['get', 'ConfigMap', 404],
      ['get', 'ConfigMap', 'failed'],
    ]);
    expect(requests.every(({ cluster: name, milliseconds }) => name === 'test' && milliseconds >= 0)).toBe(true);
  });
});

describe('nothing', () => {
  it('is asked when a cluster is opened', async () => {
    const cluster = openCluster({
      name: 'none',
      location: { kubeconfig: '/not/there' },
      clock: systemClock,
      random: Math.random,
    });
    await expect(cluster[Symbol.asyncDispose]()).resolves.toBeUndefined();
  });
});
