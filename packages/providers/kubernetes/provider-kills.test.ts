import { componentName } from '@eph/contract';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { cluster } from '../../../test/parts/cluster.ts';
import type { KubernetesObject, Login } from '../../../test/parts/cluster-api.ts';
import type { ClusterAccess } from '../../../test/parts/cluster-server.ts';
import { describeWith } from '../../../test/parts/describe-with.ts';
import { findSharedCluster } from '../../../test/parts/shared-cluster.ts';
import {
  createServiceAccount,
  ensureAtLast,
  isWrite,
  openDisturbed,
  readNamespaces,
  removeAtLast,
} from './disturbed-provider.fake.ts';
import { KubernetesHarness, never } from './kubernetes-harness.fake.ts';
import { deployment, image, service, settings, shop, version } from './sample-components.fake.ts';

const namespaceName = componentName('namespace');
const rest = version(1, [settings('shared')], { name: namespaceName });
const old = version(2, [deployment('web'), service('web'), settings('old')]);
const fresh = version(3, [deployment('web', { env: [{ name: 'A', value: 'b' }] }), service('web'), settings('fresh')]);

/** The request does not arrive, or its answer does not. */
type Loss = 'request' | 'answer';

describeWith(cluster, 'a provider that is killed', () => {
  let access: ClusterAccess;

  beforeAll(async () => {
    access = await findSharedCluster();
  });

  afterAll(() => access.api.close());

  /** The life of an environment, until the write of this number is lost with the provider. */
  const live = async (login: Login, fatal: number, loss: Loss) => {
    const { harness, proxy } = await openDisturbed(access, login);
    const dead = Promise.withResolvers<'dead'>();
    let writes = 0;
    proxy.fault = (request) => {
      if (writes > fatal) return { type: 'reset' };
      if (!isWrite(request)) return undefined;
      writes += 1;
      if (writes <= fatal) return undefined;
      // What was on its way has arrived by then.
      setTimeout(() => dead.resolve('dead'), 300);
      return loss === 'request' ? { type: 'reset' } : { type: 'half', bytes: 0 };
    };
    let step: 'creating' | 'removing' = 'creating';
    const life = async (): Promise<'alive'> => {
      await ensureAtLast(harness, shop, rest);
      await ensureAtLast(harness, shop, old);
      await untilCurrent(harness, old.revision);
      await ensureAtLast(harness, shop, fresh);
      await untilCurrent(harness, fresh.revision);
      await ensureAtLast(harness, shop, fresh);
      step = 'removing';
      await removeAtLast(harness, shop, old.name);
      await removeAtLast(harness, shop, namespaceName);
      return 'alive';
    };
    // An error is not what ends it, but the loss that caused it.
    const end = await Promise.race([life().catch(() => dead.promise), dead.promise]);
    await harness[Symbol.asyncDispose]();
    return { end, step, owner: harness.owner };
  };

  const untilCurrent = (harness: KubernetesHarness, wanted: string): Promise<void> =>
    harness.until(async () => {
      const [environment] = (await harness.provider().list({ environment: shop.id }, never)).items;
      const web = environment?.components.find(({ name }) => name === 'web');
      return web?.current?.revision === wanted && web.current.health === 'ready';
    });

  /** Another provider finds what is there, and makes it what it should be. */
  const converge = async (owner: string, step: 'creating' | 'removing'): Promise<void> => {
    const harness = new KubernetesHarness(access, image, { owner });
    try {
      const before = await harness.provider().list({ all: true }, never);
      expect(before).toMatchObject({ complete: true });
      const namespaces = await readNamespaces(access, owner);
      expect(before.items).toHaveLength(namespaces.length);
      if (step === 'creating') {
        await ensureAtLast(harness, shop, rest);
        await ensureAtLast(harness, shop, fresh);
        await untilCurrent(harness, fresh.revision);
        await ensureAtLast(harness, shop, fresh);
        const path = `/api/v1/namespaces/${owner}-${shop.name}/configmaps?labelSelector=eph.io/owner`;
        const { items } = await access.api.send<{ readonly items: readonly KubernetesObject[] }>('GET', path);
        expect(items.map(({ metadata }) => metadata.name)).toEqual(['fresh', 'shared']);
      }
      for (const { components } of (await harness.provider().list({ all: true }, never)).items)
        for (const { name } of components) await removeAtLast(harness, shop, name);
      expect((await harness.provider().list({ all: true }, never)).items).toEqual([]);
      expect(await readNamespaces(access, owner)).toEqual([]);
    } finally {
      await harness[Symbol.asyncDispose]();
    }
  };

  it('between any two writes is followed by one that completes the work', { timeout: 240_000 }, async () => {
    const { login } = await createServiceAccount(access);
    // One more than the writes of such a life.
    const most = 24;
    const ends = await Promise.all(
      Array.from({ length: most }, async (_, fatal) => {
        const { end, step, owner } = await live(login, fatal, fatal % 2 === 0 ? 'request' : 'answer');
        await converge(owner, step);
        return `${end} while ${step}`;
      }),
    );
    expect(new Set(ends)).toEqual(new Set(['dead while creating', 'dead while removing', 'alive while removing']));
  });
});
