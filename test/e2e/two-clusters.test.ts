import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { ApiProxy } from '@eph/kube/api-proxy.fake';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { cluster } from '../parts/cluster.ts';
import type { ClusterAccess } from '../parts/cluster-server.ts';
import { describeWith } from '../parts/describe-with.ts';
import { findSharedCluster } from '../parts/shared-cluster.ts';
import { ownName } from '../parts/shared-gitea.ts';
import { clusterApp, clusterShapes } from './cluster-app.ts';
import { EphdHarness } from './ephd-harness.ts';
import { eventually } from './eventually.ts';
import { describeImages } from './image-app.ts';
import { ImageRegistry } from './image-registry.ts';
import { runEph } from './run-eph.ts';

/** One real cluster under two names, of which one cannot be reached. */
const suite = (): void => {
  let access: ClusterAccess;
  let images: ImageRegistry;
  let image: string;
  let proxy: ApiProxy;
  let harness: EphdHarness;
  const owners = { near: ownName('near'), far: ownName('far') };

  beforeAll(async () => {
    access = await findSharedCluster();
    images = await ImageRegistry.start();
    image = await images.publish('acme/web', 'one');
    harness = await EphdHarness.create();
    const account = await access.createNamespace('two-clusters');
    await access.kubectl('create', 'serviceaccount', 'eph', `--namespace=${account}`);
    await access.kubectl(
      'create',
      'clusterrolebinding',
      account,
      '--clusterrole=cluster-admin',
      `--serviceaccount=${account}:eph`,
    );
    proxy = await ApiProxy.start(access.url, access.address.authority);
    const login = await access.createToken(account, 'eph');
    const far = await access.writeKubeconfig(account, login, { server: proxy.url });
    const config = join(harness.folder, 'ephd.yaml');
    const settings = {
      providers: {
        near: { type: 'kubernetes', kubeconfig: access.kubeconfig, owner: owners.near },
        far: { type: 'kubernetes', kubeconfig: far, owner: owners.far },
      },
      registries: { [images.host]: { plain_http: true } },
      projects: [{ name: 'shop', location: harness.repository.path }],
    };
    await writeFile(config, JSON.stringify(settings));
    await harness.start({ projects: [], args: ['--config', config] });
  });

  afterAll(async () => {
    await harness[Symbol.asyncDispose]();
    await proxy[Symbol.asyncDispose]();
    await images[Symbol.asyncDispose]();
    for (const owner of Object.values(owners))
      await access.kubectl('delete', 'namespaces', `--selector=eph.io/owner=${owner}`, '--wait=false');
    await access.api.close();
  });

  const push = (branch: string, context: string, version: string): Promise<string> => {
    const kubernetes = { manifests: ['k8s.yaml'], entry: { service: 'web' }, context };
    const spec = JSON.stringify({ version: '1.0', name: 'shop', kubernetes });
    return harness.repository.push(branch, { ...clusterApp(clusterShapes.page({ image, version })), 'eph.yaml': spec });
  };
  const namespacesOf = (cluster: keyof typeof owners): Promise<string> =>
    access.kubectl('get', 'namespaces', `--selector=eph.io/owner=${owners[cluster]}`, '--output=name');
  const wake = () => harness.api('/hooks/git', { method: 'POST' });

  it('freezes what is on that one alone, and goes on with it afterwards', { timeout: 120_000 }, async () => {
    const [near, far] = await Promise.all([push('preview/near', 'near', 'one'), push('preview/far', 'far', 'one')]);
    await wake();
    const [{ name: gone }, { name }] = await Promise.all([
      harness.untilReady('preview/near', near, 60),
      harness.untilReady('preview/far', far, 60),
    ]);

    proxy.fault = () => ({ type: 'reset' });
    proxy.resetAll();
    const newer = await push('preview/far', 'far', 'two');
    await push('preview/also-near', 'near', 'one').then((commit) =>
      wake().then(() => harness.untilReady('preview/also-near', commit, 60)),
    );
    await harness.repository.delete('preview/near');
    await wake();
    await eventually('nothing is left of preview/near', async () => !(await namespacesOf('near')).includes(gone), 60);
    await eventually('eph why says why', async () =>
      /Cluster far could not be reached/.test((await runEph(harness, ['why', name])).out),
    );

    proxy.fault = () => undefined;
    await harness.untilReady('preview/far', newer, 60);
    await harness.repository.delete('preview/far');
    await harness.repository.delete('preview/also-near');
    await wake();
    await Promise.all(['near', 'far', 'also-near'].map((branch) => harness.untilGone(`preview/${branch}`, 60)));
    expect([await namespacesOf('near'), await namespacesOf('far')]).toEqual(['', '']);
  });
};

describeWith(cluster, 'two clusters, of which one is away', () => describeImages('with images', suite));
