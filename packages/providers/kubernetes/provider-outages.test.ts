import { environmentId, environmentName, type Identity } from '@eph/contract';
import { afterAll, beforeAll, expect, it, onTestFinished } from 'vitest';
import { cluster } from '../../../test/parts/cluster.ts';
import { ClusterRefusal } from '../../../test/parts/cluster-api.ts';
import type { ClusterServer } from '../../../test/parts/cluster-server.ts';
import { describeWith } from '../../../test/parts/describe-with.ts';
import { HollowNode } from '../../../test/parts/hollow-node.ts';
import { ensureAtLast } from './disturbed-provider.fake.ts';
import { KubernetesHarness, never } from './kubernetes-harness.fake.ts';
import { deployment, image, service, settings, shop, version } from './sample-components.fake.ts';

/** So many bytes etcd stores here before it refuses more: hardly more than a new cluster has. */
const storageBytes = 12 * 2 ** 20;

describeWith(cluster, 'the kubernetes provider, in a cluster of its own', () => {
  let server: ClusterServer;
  let node: HollowNode;

  beforeAll(async () => {
    server = await cluster.start({ storageBytes });
    node = await HollowNode.start(server);
  }, 120_000);

  afterAll(async () => {
    await node.stop();
    await server.stop();
  });

  const start = (): KubernetesHarness => {
    const harness = new KubernetesHarness(server, image);
    // The namespaces go with the cluster.
    onTestFinished(() => harness.stop());
    return harness;
  };
  const identities: readonly Identity[] = Array.from({ length: 20 }, (_, index) => ({
    ...shop,
    id: environmentId(`00000000000000${String(index).padStart(2, '0')}`),
    name: environmentName(`shop-serene-ocean-${4000 + index}`),
  }));
  const readyOf = async (harness: KubernetesHarness): Promise<number> => {
    const { items } = await harness.provider().list({ all: true }, never);
    return items.filter(({ components }) => components[0]?.current?.health === 'ready').length;
  };

  it('loses nothing when the API server is killed under load, and completes what was begun', { timeout: 120_000 }, async () => {
    const harness = start();
    const wanted = version(1, [deployment('web'), service('web'), settings('web')]);
    const [before = shop, ...others] = identities;
    await ensureAtLast(harness, before, wanted);
    await harness.until(async () => (await readyOf(harness)) === 1);
    const ensured = Promise.allSettled(others.map((one) => harness.provider().ensure(one, wanted, never)));
    await harness.until(async () => (await harness.provider().list({ all: true }, never)).items.length > 5);
    await server.killApiServer();
    const failures = (await ensured).flatMap((one) => (one.status === 'rejected' ? [one.reason as unknown] : []));
    expect(failures).not.toEqual([]);
    for (const failure of failures) expect(failure).toMatchObject({ code: 'cluster.unreachable' });
    await harness.until(async () => !(await harness.provider().list({ all: true }, never)).complete);
    expect((await harness.provider().list({ all: true }, never)).items.map(({ identity }) => identity.id)).toContain(before.id);
    await server.resumeApiServer();
    await harness.until(async () => (await harness.provider().list({ all: true }, never)).complete);
    await Promise.all(identities.map((one) => ensureAtLast(harness, one, wanted)));
    await harness.until(async () => (await readyOf(harness)) === identities.length);
  });

  it('says that the cluster is full, and shows what is there', { timeout: 120_000 }, async () => {
    const harness = start();
    const wanted = version(1, [settings('web')]);
    await ensureAtLast(harness, shop, wanted);
    await fill(server);
    const failure = await harness
      .provider()
      .ensure(shop, version(2, [settings('web', { mode: 'dark' })]), never)
      .catch((error: unknown) => error);
    expect(failure).toMatchObject({
      code: 'cluster.unreachable',
      message: 'Cluster kubernetes is full: its etcd stores no more. An operator must make room.',
    });
    expect(await harness.provider().list({ all: true }, never)).toMatchObject({
      complete: true,
      items: [{ components: [{ current: { revision: wanted.revision, health: 'ready' } }] }],
    });
  });
});

/** Until etcd takes no more. */
const fill = async ({ api }: ClusterServer): Promise<void> => {
  const data = { text: 'x'.repeat(900_000) };
  for (let index = 0; index < 100; index += 1) {
    try {
      await api.send('POST', '/api/v1/namespaces/default/configmaps', { body: { metadata: { name: `full-${index}` }, data } });
    } catch (error) {
      if (error instanceof ClusterRefusal && error.message.includes('space exceeded')) return;
      throw error;
    }
  }
  throw new Error('etcd takes everything');
};
