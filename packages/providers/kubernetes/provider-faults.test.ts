import { randomBytes } from 'node:crypto';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { setTimeout as delay } from 'node:timers/promises';
import { componentName, EphError, type JsonMap, type Log, type ObservedComponent, silentLog } from '@eph/contract';
import { afterAll, beforeAll, expect, it, onTestFinished } from 'vitest';
import { CertificateAuthority } from '../../../test/parts/certificate-authority.ts';
import { cluster } from '../../../test/parts/cluster.ts';
import type { KubernetesObject } from '../../../test/parts/cluster-api.ts';
import type { ClusterAccess } from '../../../test/parts/cluster-server.ts';
import { describeWith } from '../../../test/parts/describe-with.ts';
import { findSharedCluster } from '../../../test/parts/shared-cluster.ts';
import { createServiceAccount, ensureAtLast, grant, isWrite, openDisturbed, removeAtLast } from './disturbed-provider.fake.ts';
import { KubernetesHarness, never } from './kubernetes-harness.fake.ts';
import { blog, deployment, image, service, settings, shop, version, web } from './sample-components.fake.ts';

/** What is written into objects and must not be quoted anywhere. */
const hush = 'hush-hush-7183';

describeWith(cluster, 'the kubernetes provider and', () => {
  let access: ClusterAccess;

  beforeAll(async () => {
    access = await findSharedCluster();
  });

  afterAll(() => access.api.close());

  const start = () => {
    const harness = new KubernetesHarness(access, image);
    onTestFinished(() => harness[Symbol.asyncDispose]());
    return harness;
  };
  const startDisturbed = async () => {
    const { namespace, login } = await createServiceAccount(access);
    return { account: namespace, login, ...(await openDisturbed(access, login)) };
  };
  const namespaceOf = ({ owner }: KubernetesHarness): string => `${owner}-${shop.name}`;
  const componentOf = async (harness: KubernetesHarness, name = web): Promise<ObservedComponent | undefined> => {
    const { items } = await harness.provider().list({ environment: shop.id, parts: true }, never);
    return items[0]?.components.find((one) => one.name === name);
  };
  const listAll = (harness: KubernetesHarness) => harness.provider().list({ all: true }, never);
  const untilReady = (harness: KubernetesHarness, revision: string): Promise<void> =>
    harness.until(async () => {
      const current = (await componentOf(harness))?.current;
      return current?.revision === revision && current.health === 'ready';
    });
  /** As a person reads it. */
  const failureOf = async (effect: Promise<unknown>): Promise<string> => {
    const error = await effect.then(
      () => undefined,
      (thrown: unknown) => thrown,
    );
    if (!(error instanceof EphError)) throw new Error('it did not fail as it should', { cause: error });
    return `${error.code}: ${error.message}`;
  };

  it.each<readonly [string, JsonMap, RegExp]>([
    [
      'an apiVersion that the cluster does not serve',
      { ...deployment('web'), apiVersion: 'apps/v9' },
      /^object\.missing: Cluster kubernetes does not serve Deployment of apps\/v9\.$/,
    ],
    [
      'a ConfigMap that is too large',
      settings('large', { text: hush.repeat(80_000) }),
      /^object\.refused: Cluster kubernetes refuses to apply ConfigMap .*\/large: .*may not be more than 1048576 bytes\.$/,
    ],
    [
      'an object that is larger than any request may be',
      settings('large', { text: hush.repeat(250_000) }),
      /^object\.refused: ConfigMap .*\/large is larger than 3 MiB, the most that cluster kubernetes takes\.$/,
    ],
    [
      'a field of another type',
      settings('odd', { text: { of: hush } }),
      /^object\.refused: Cluster kubernetes refuses to apply ConfigMap .*\/odd: /,
    ],
  ])('%s: says which object, quotes nothing of it, and is mended by the next version', async (_, object, says) => {
    const harness = start();
    const mended = version(2, [deployment('web'), settings('fine')]);
    await ensureAtLast(harness, blog, mended);
    const failure = await failureOf(harness.provider().ensure(shop, version(1, [object]), never));
    expect(failure).toMatch(says);
    expect(failure).not.toContain(hush);
    expect(await listAll(harness)).toMatchObject({ complete: true, items: [{ complete: true }, { complete: true }] });
    await ensureAtLast(harness, shop, mended);
    await untilReady(harness, mended.revision);
  });

  it('as many objects as manifests may have: makes them, replaces some, and finds them again', {
    timeout: 120_000,
  }, async () => {
    const harness = start();
    const names = Array.from({ length: 2_000 }, (_, index) => `settings-${index}`);
    const renamed = names.map((name, index) => (index < 100 ? `other-${name}` : name));
    const first = version(1, [deployment('web'), ...names.map((name) => settings(name))]);
    const second = version(2, [deployment('web'), ...renamed.map((name) => settings(name))]);
    await harness.provider().ensure(shop, first, never);
    await untilReady(harness, first.revision);
    await harness.provider().ensure(shop, second, never);
    await untilReady(harness, second.revision);
    await ensureAtLast(harness, shop, second);
    const path = `/api/v1/namespaces/${namespaceOf(harness)}/configmaps?labelSelector=eph.io/owner`;
    const { items } = await access.api.send<{ readonly items: readonly KubernetesObject[] }>('GET', path);
    expect(items.map(({ metadata }) => metadata.name).toSorted()).toEqual(renamed.toSorted());
    await harness.restart();
    await untilReady(harness, second.revision);
  });

  it('an admission webhook: waits for one that is slow, and quotes one that refuses or does not answer', {
    timeout: 60_000,
  }, async () => {
    const harness = start();
    const webhook = await startWebhook(access, harness.owner);
    await harness.provider().ensure(shop, version(1, [settings('a')]), never);
    webhook.answer = async () => {
      await delay(1_500);
      return { allowed: true };
    };
    await harness.provider().ensure(shop, version(2, [settings('a', { mode: 'slow' })]), never);
    webhook.answer = () => Promise.resolve({ allowed: false, status: { message: 'not on a Friday' } });
    expect(await failureOf(harness.provider().ensure(shop, version(3, [settings('a', { mode: hush })]), never))).toMatch(
      /^object\.refused: Cluster kubernetes refuses to apply ConfigMap .*\/a: .*not on a Friday\.$/,
    );
    webhook.stop();
    const failure = await failureOf(harness.provider().ensure(shop, version(4, [settings('a', { mode: hush })]), never));
    expect(failure).toMatch(
      /^cluster\.unreachable: Cluster kubernetes could not apply ConfigMap .*\/a: .*failed calling webhook/,
    );
    expect(failure).not.toContain(hush);
    await webhook.remove();
    const last = version(5, [settings('a')]);
    await ensureAtLast(harness, shop, last);
    await untilReady(harness, last.revision);
  });

  it('resources of other kinds: waits for their conditions, and lets go of them when their kind does', {
    timeout: 60_000,
  }, async () => {
    const harness = start();
    const kind = await defineKind(access);
    const database = { apiVersion: `${kind.group}/v1`, kind: 'Database', metadata: { name: 'main' }, spec: { size: 1 } };
    const wanted = version(1, [database, settings('a')]);
    const api = componentName('api');
    await ensureAtLast(harness, shop, version(1, [settings('b')], { name: api }));
    await harness.until(() =>
      harness
        .provider()
        .ensure(shop, wanted, never)
        .then(() => true, falseIf('object.missing')),
    );
    await untilReady(harness, wanted.revision);
    const path = `/apis/${kind.group}/v1/namespaces/${namespaceOf(harness)}/databases/main`;
    const ready = (status: string) => ({
      status: { conditions: [{ type: 'Ready', status, reason: 'Full', message: 'no room' }] },
    });
    await access.api.send('PATCH', `${path}/status`, { patch: 'merge-patch+json', body: ready('False') });
    const state = async () => {
      const { current, next } = (await componentOf(harness)) ?? {};
      return current ?? next;
    };
    await harness.until(async () => (await state())?.message === 'Database main: no room');
    await access.api.send('PATCH', path, { patch: 'merge-patch+json', body: { spec: { size: 2 } } });
    await harness.until(async () => (await state())?.drift === 'Database main was changed');
    await kind.remove();
    await removeAtLast(harness, shop, web);
    expect((await listAll(harness)).items).toMatchObject([{ components: [{ name: api }] }]);
  });

  it('credentials that are refused: reads them again, and meanwhile calls nothing gone', async () => {
    const { harness, login, proxy } = await startDisturbed();
    const wanted = version(1, [settings('a')]);
    await harness.provider().ensure(shop, wanted, never);
    const name = `expired-${randomBytes(4).toString('hex')}`;
    const write = (token: string) => access.writeKubeconfig(name, { type: 'token', token }, { server: proxy.url });
    const location = { kubeconfig: await write(hush) };
    const other = new KubernetesHarness(access, image, { owner: harness.owner, location });
    onTestFinished(() => other[Symbol.asyncDispose]());
    const refused = await listAll(other);
    expect(refused).toMatchObject({ complete: false, items: [], faults: [{ code: 'cluster.refused' }] });
    expect(JSON.stringify(refused)).not.toContain(hush);
    expect(await failureOf(other.provider().remove(shop, web, never))).toBe(
      'cluster.refused: Cluster kubernetes does not accept the credentials of ephd. An operator must renew what its kubeconfig says.',
    );
    if (login.type === 'token') await write(login.token);
    await other.until(async () => {
      const { complete, items } = await listAll(other);
      return complete && items[0]?.complete === true;
    });
    expect(await listAll(other)).toEqual(await listAll(harness));
  });

  it('rights that are taken away: says which one, and goes on when they are given back', { timeout: 60_000 }, async () => {
    const { harness, account, proxy } = await startDisturbed();
    await harness.provider().ensure(shop, version(1, [settings('a')]), never);
    const before = await listAll(harness);
    await access.kubectl('delete', 'clusterrolebinding', account);
    expect(await failureOf(harness.provider().ensure(shop, version(2, [settings('b')]), never))).toMatch(
      /^cluster\.refused: ephd has no right to apply Secret .*\/eph-component-web in cluster kubernetes\. An operator must grant it/,
    );
    proxy.resetAll();
    await harness.until(async () => !(await listAll(harness)).complete);
    await harness.until(async () => {
      const reading = await listAll(harness);
      return !reading.complete && reading.faults[0]?.code === 'cluster.refused';
    });
    expect((await listAll(harness)).items.map(({ identity }) => identity)).toEqual(before.items.map(({ identity }) => identity));
    await grant(access, account);
    const wanted = version(2, [settings('b')]);
    await harness.until(async () => (await listAll(harness)).complete);
    await ensureAtLast(harness, shop, wanted);
    await untilReady(harness, wanted.revision);
  });

  it('a namespace that somebody deletes: makes it again when it is gone', { timeout: 60_000 }, async () => {
    const harness = start();
    const wanted = version(1, [deployment('web'), settings('a')]);
    await harness.provider().ensure(shop, wanted, never);
    await untilReady(harness, wanted.revision);
    const { uid } = (await access.api.send('GET', `/api/v1/namespaces/${namespaceOf(harness)}`)).metadata;
    await access.api.send('DELETE', `/api/v1/namespaces/${namespaceOf(harness)}`);
    await harness.until(async () => (await componentOf(harness))?.current?.revision !== wanted.revision);
    await ensureAtLast(harness, shop, wanted);
    await untilReady(harness, wanted.revision);
    expect((await access.api.send('GET', `/api/v1/namespaces/${namespaceOf(harness)}`)).metadata.uid).not.toBe(uid);
  });

  it('pods that are evicted: shows why, and that others took their place', async () => {
    const harness = start();
    const wanted = version(1, [deployment('web'), service('web')]);
    await harness.provider().ensure(shop, wanted, never);
    await untilReady(harness, wanted.revision);
    const instance = (await componentOf(harness))?.parts?.[0]?.instance ?? '';
    const status = { phase: 'Failed', reason: 'Evicted', message: 'The node was low on resource: memory. ' };
    const path = `/api/v1/namespaces/${namespaceOf(harness)}/pods/${instance}/status`;
    await access.api.send('PATCH', path, { patch: 'merge-patch+json', body: { status } });
    await harness.until(async () => {
      const component = await componentOf(harness);
      const isAnother = component?.parts?.some((one) => one.instance !== instance && one.message === '');
      return isAnother === true && component?.current?.health === 'ready';
    });
    const parts = (await componentOf(harness))?.parts ?? [];
    expect(parts.find((one) => one.instance === instance)?.message).toBe(
      'The node evicted the pod: The node was low on resource: memory.',
    );
    expect((await componentOf(harness))?.current?.revision).toBe(wanted.revision);
  });

  it('a namespace that does not say whose it is: tells it once, and knows nothing about that environment alone', async () => {
    const lines: string[] = [];
    const log: Log = { ...silentLog, warn: (_, message) => void lines.push(message) };
    const harness = new KubernetesHarness(access, image, { log });
    onTestFinished(() => harness[Symbol.asyncDispose]());
    await harness.provider().ensure(shop, version(1, [settings('a')]), never);
    await harness.provider().ensure(blog, version(1, [settings('a')]), never);
    const path = `/api/v1/namespaces/${namespaceOf(harness)}`;
    const annotations = { 'eph.io/identity': '{"name":"none"}' };
    await access.api.send('PATCH', path, { patch: 'merge-patch+json', body: { metadata: { annotations } } });
    await access.api.send('DELETE', `${path}/secrets/eph-component-web`);
    const listShop = () => harness.provider().list({ environment: shop.id }, never);
    await harness.until(async () => !(await listShop()).complete);
    const sentence = `namespace ${namespaceOf(harness)} carries the label of this ephd, and nothing in it says of which environment it is; restore its annotation eph.io/identity, or remove it`;
    expect(await listShop()).toEqual({ items: [], complete: false, faults: [expect.objectContaining({ message: sentence })] });
    expect(await listAll(harness)).toMatchObject({ complete: true, items: [{ identity: blog, complete: true }] });
    expect(lines).toEqual([sentence]);
    await harness.provider().ensure(shop, version(1, [settings('a')]), never);
    expect(await listShop()).toMatchObject({ complete: true, items: [{ identity: shop }] });
  });

  it('a request that nothing answers: stops when it is told to, and leaves what can be completed', async () => {
    const { harness, proxy } = await startDisturbed();
    await listAll(harness);
    const wanted = version(1, [deployment('web'), settings('a')]);
    proxy.fault = ({ method, url }) =>
      isWrite({ method }) && url.pathname.includes('configmaps') ? { type: 'stall' } : undefined;
    const abort = new AbortController();
    const ensured = harness
      .provider()
      .ensure(shop, wanted, abort.signal)
      .catch((error: unknown) => error);
    await harness.until(async () => (await componentOf(harness))?.next?.message === 'it was begun and not finished');
    abort.abort(new Error('enough'));
    expect(await ensured).toMatchObject({ message: 'enough' });
    proxy.fault = () => undefined;
    await ensureAtLast(harness, shop, wanted);
    await untilReady(harness, wanted.revision);
  });
});

const falseIf =
  (code: string) =>
  (error: unknown): false => {
    if (error instanceof EphError && error.code === code) return false;
    throw error;
  };

/** A kind of one's own, whose objects have a status. */
const defineKind = async (access: ClusterAccess) => {
  const group = `t${randomBytes(4).toString('hex')}.example.com`;
  const definition = `databases.${group}`;
  const anything = { type: 'object', 'x-kubernetes-preserve-unknown-fields': true };
  const schema = { openAPIV3Schema: { type: 'object', properties: { spec: anything, status: anything } } };
  const body = {
    metadata: { name: definition },
    spec: {
      group,
      scope: 'Namespaced',
      names: { plural: 'databases', singular: 'database', kind: 'Database' },
      versions: [{ name: 'v1', served: true, storage: true, schema, subresources: { status: {} } }],
    },
  };
  await access.api.send('POST', '/apis/apiextensions.k8s.io/v1/customresourcedefinitions', { body });
  const remove = () => access.kubectl('delete', 'crd', definition, '--ignore-not-found');
  onTestFinished(() => void remove());
  return { group, remove };
};

interface Verdict {
  readonly allowed: boolean;
  readonly status?: { readonly message: string };
}

/** Asked about every ConfigMap in namespaces of this owner. */
const startWebhook = async (access: ClusterAccess, owner: string) => {
  const authority = new CertificateAuthority(access.address.folder);
  const { certificate, key } = await authority.issue({ name: owner, hosts: ['IP:127.0.0.1'] });
  const webhook = {
    answer: (): Promise<Verdict> => Promise.resolve({ allowed: true }),
    stop: () => server.close().closeAllConnections(),
    remove: () => access.kubectl('delete', 'validatingwebhookconfiguration', owner, '--ignore-not-found'),
  };
  const server = createServer({ cert: certificate, key }, (request, response) => {
    void (async () => {
      const review = JSON.parse(await text(request)) as { readonly request: { readonly uid: string } };
      const verdict = { uid: review.request.uid, ...(await webhook.answer()) };
      response.end(JSON.stringify({ apiVersion: 'admission.k8s.io/v1', kind: 'AdmissionReview', response: verdict }));
    })();
  });
  server.listen(0, '127.0.0.1');
  await new Promise((resolve) => server.once('listening', resolve));
  const { port } = server.address() as AddressInfo;
  const caBundle = Buffer.from(access.address.authority).toString('base64');
  const rule = { apiGroups: [''], apiVersions: ['v1'], operations: ['CREATE', 'UPDATE'], resources: ['configmaps'] };
  const body = {
    metadata: { name: owner },
    webhooks: [
      {
        name: 'slow.example.com',
        clientConfig: { url: `https://127.0.0.1:${port}/`, caBundle },
        rules: [rule],
        objectSelector: { matchLabels: { 'eph.io/owner': owner } },
        admissionReviewVersions: ['v1'],
        sideEffects: 'None',
        timeoutSeconds: 5,
      },
    ],
  };
  await access.api.send('POST', '/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations', {
    body,
  });
  onTestFinished(async () => {
    webhook.stop();
    await webhook.remove();
  });
  return webhook;
};
