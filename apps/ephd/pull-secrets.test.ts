import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createTestRegistry, plain, RealRegistry } from '@eph/adapters/registry-oci/registry-harness.fake';
import { projectId, providerName, toFailure } from '@eph/contract';
import { createImageRequest } from '@eph/engine/images/image-request.fake';
import { ImageResolver } from '@eph/engine/images/image-resolver';
import { ManualClock } from '@eph/engine/time/clock.fake';
import { KubernetesHarness } from '@eph/providers/kubernetes/kubernetes-harness.fake';
import { afterAll, afterEach, beforeAll, expect, it, onTestFinished } from 'vitest';
import { cluster } from '../../test/parts/cluster.ts';
import type { ClusterAccess } from '../../test/parts/cluster-server.ts';
import { describeWith } from '../../test/parts/describe-with.ts';
import { registry, registryUser } from '../../test/parts/registry.ts';
import { findSharedCluster } from '../../test/parts/shared-cluster.ts';
import { skopeo } from '../../test/parts/skopeo.ts';
import { pullSecretsOf } from './pull-secrets.ts';

const { signal } = new AbortController();
const [shop, blog] = [projectId('shop'), projectId('blog')];
const pullSecrets = { provider: providerName('kubernetes'), names: ['pull'] };

describeWith(cluster, 'a secret for images in a cluster', () => {
  describeWith(registry, 'and a registry with a password', () => {
    describeWith(skopeo, 'with images', () => {
      let access: ClusterAccess;
      let real: RealRegistry;
      let namespace: string;
      let repository: string;
      let digest: string;

      const path = (name = ''): string => `/api/v1/namespaces/${namespace}/secrets/${name}`;

      const createSecret = async (name: string, password: string, type = 'kubernetes.io/dockerconfigjson'): Promise<void> => {
        const auth = Buffer.from(`${registryUser.name}:${password}`).toString('base64');
        const file = JSON.stringify({ auths: { [real.server.host]: { auth } } });
        const stringData = { '.dockerconfigjson': file };
        await access.api.send('POST', path(), {
          body: { apiVersion: 'v1', kind: 'Secret', metadata: { name }, type, stringData },
        });
      };

      const deleteSecret = (name: string): Promise<unknown> => access.api.send('DELETE', path(name));

      beforeAll(async () => {
        access = await findSharedCluster();
        real = await RealRegistry.start('password');
        namespace = await access.createNamespace('pull');
        const publisher = real.connect();
        ({ repository } = publisher);
        digest = await publisher.publish('v1', {});
        await publisher[Symbol.asyncDispose]();
      });

      afterEach(() => access.api.send('DELETE', path()));

      afterAll(async () => {
        await real[Symbol.asyncDispose]();
        await access.api.send('DELETE', `/api/v1/namespaces/${namespace}`);
        await access.api.close();
      });

      /** ephd lets the project shop use secrets called pull of the namespace. */
      const start = (kubeconfig = access.kubeconfig) => {
        const clock = new ManualClock();
        const copyRules = [{ namespace, names: ['pull'], projects: ['shop'] }];
        const harness = new KubernetesHarness(access, '', { copyRules, location: { kubeconfig } });
        const adapter = createTestRegistry({
          registries: new Map([[real.server.host, plain]]),
          readPullSecrets: pullSecretsOf(() => harness.provider()),
          clock,
        });
        const times = { fallbackAfterMs: 1, giveUpAfterMs: 1, freshForMs: 1 };
        const resolver = new ImageResolver({
          registry: adapter,
          readNote: () => Promise.resolve(undefined),
          now: () => clock.now(),
          times,
        });
        onTestFinished(async () => {
          resolver[Symbol.dispose]();
          await adapter[Symbol.asyncDispose]();
          await harness[Symbol.asyncDispose]();
        });
        const find = async (more: object = {}) => {
          const asked = { project: shop, pullSecrets, repository, reference: 'v1', ...more };
          return await adapter.find(asked, signal).catch((error: unknown) => toFailure(error));
        };
        return { adapter, resolver, clock, find };
      };

      const refused = { code: 'registry.refused', message: expect.stringContaining('it needs credentials') };

      it('finds what pods fetch with it, and nothing for others', async () => {
        await createSecret('pull', registryUser.password);
        const { find, resolver } = start();
        expect(await find()).toEqual({ state: 'found', digest });
        expect(await find({ project: blog })).toMatchObject(refused);
        expect(await find({ pullSecrets: { ...pullSecrets, names: ['other'] } })).toMatchObject(refused);
        expect(await find({ pullSecrets: undefined })).toMatchObject(refused);
        const answer = await resolver.resolve(createImageRequest({ repository, fixed: 'v1' }, { pullSecrets }), signal);
        expect(answer).toMatchObject({ state: 'found', image: { reference: `${repository}@${digest}` } });
        const without = await resolver.resolve(createImageRequest({ repository, fixed: 'v1' }), signal);
        expect(without).toMatchObject({ state: 'unknown', fault: { code: 'registry.refused' } });
      });

      it('has no credentials if it is of another type', async () => {
        await createSecret('pull', registryUser.password, 'Opaque');
        expect(await start().find()).toMatchObject(refused);
      });

      it('is read again after a minute, and is in no message', async () => {
        await createSecret('pull', 'a-wrong-password');
        const { find, clock } = start();
        const answer = await find();
        expect(answer).toMatchObject({ code: 'registry.refused', message: expect.stringContaining('may not read it') });
        expect(JSON.stringify(answer)).not.toContain('a-wrong-password');
        await deleteSecret('pull');
        await createSecret('pull', registryUser.password);
        clock.advance(59_000);
        expect(await find()).toMatchObject({ code: 'registry.refused' });
        clock.advance(1_000);
        expect(await find()).toEqual({ state: 'found', digest });
      });

      it('leaves it unknown whether there is an image while the cluster is away', async () => {
        const folder = mkdtempSync(join(tmpdir(), 'eph-kubeconfig-'));
        onTestFinished(() => rmSync(folder, { recursive: true }));
        const kubeconfig = join(folder, 'config');
        const nowhere = { cluster: { server: 'https://127.0.0.1:1' }, name: 'a' };
        const context = { context: { cluster: 'a', user: 'a' }, name: 'a' };
        const user = { user: { token: 'a' }, name: 'a' };
        writeFileSync(
          kubeconfig,
          JSON.stringify({ clusters: [nowhere], contexts: [context], users: [user], 'current-context': 'a' }),
        );
        const { resolver } = start(kubeconfig);
        const answer = await resolver.resolve(createImageRequest({ repository, fixed: 'v1' }, { pullSecrets }), signal);
        expect(answer).toMatchObject({ state: 'unknown', fault: { code: 'cluster.unreachable' } });
      });
    });
  });
});
