import {
  type ComponentName,
  componentName,
  type Identity,
  isEphError,
  type JsonMap,
  type ObservedComponent,
  type ResolvedComponent,
  toFailure,
} from '@eph/contract';
import type { ObservedRequest } from '@eph/kube/observer';
import { afterAll, beforeAll, expect, it, onTestFinished } from 'vitest';
import { cluster } from '../../../test/parts/cluster.ts';
import type { KubernetesObject } from '../../../test/parts/cluster-api.ts';
import type { ClusterAccess } from '../../../test/parts/cluster-server.ts';
import { describeWith } from '../../../test/parts/describe-with.ts';
import { findSharedCluster } from '../../../test/parts/shared-cluster.ts';
import { KubernetesHarness, never } from './kubernetes-harness.fake.ts';
import type { KubernetesProviderOptions } from './provider.ts';
import { blog, deployment, image, job, service, settings, shop, version, web, workload } from './sample-components.fake.ts';

describeWith(cluster, 'the kubernetes provider, beside others in a cluster,', () => {
  let access: ClusterAccess;

  beforeAll(async () => {
    access = await findSharedCluster();
  });

  afterAll(() => access.api.close());

  const start = (options: Partial<KubernetesProviderOptions> = {}) => {
    const requests: ObservedRequest[] = [];
    const observer = { requested: (request: ObservedRequest) => void requests.push(request), restarted: () => undefined };
    const harness = new KubernetesHarness(access, image, { observer, ...options });
    onTestFinished(() => harness[Symbol.asyncDispose]());
    const namespaceOf = (identity: Identity): string => `${harness.owner}-${identity.name}`;
    const environment = async (identity: Identity = shop) =>
      (await harness.provider().list({ environment: identity.id }, never)).items[0];
    const component = async (name: ComponentName = web): Promise<ObservedComponent | undefined> =>
      (await environment())?.components.find((one) => one.name === name);
    const ensure = async (wanted: ResolvedComponent, identity: Identity = shop): Promise<void> => {
      const again = () => harness.provider().ensure(identity, wanted, never);
      await harness.until(() => again().then(() => true, failUnlessRemoving));
    };
    const remove = async (name: ComponentName = web, identity: Identity = shop): Promise<void> => {
      const again = () => harness.provider().remove(identity, name, never);
      await harness.until(() => again().then(() => true, failUnlessRemoving));
    };
    const untilCurrent = ({ name, revision: wanted }: ResolvedComponent): Promise<void> =>
      harness.until(async () => {
        const current = (await component(name))?.current;
        return current?.revision === wanted && current.health === 'ready';
      });
    const inNamespace = (path: string): string => path.replace('*', `namespaces/${namespaceOf(shop)}`);
    const read = (path: string) => access.api.send<KubernetesObject & { data: JsonMap; spec: JsonMap }>('GET', inNamespace(path));
    const edit = (path: string, body: object) => access.api.send('PATCH', inNamespace(path), { patch: 'merge-patch+json', body });
    return { harness, requests, namespaceOf, environment, component, ensure, remove, untilCurrent, read, edit, inNamespace };
  };
  const toCode = (error: unknown): string => toFailure(error).code;
  const failUnlessRemoving = (error: unknown): false => {
    if (isEphError(error) && error.code === 'component.removing') return false;
    throw error;
  };

  it('shows another version while somebody changes what it applied, and makes it again as it should be', async () => {
    const { component, ensure, untilCurrent, edit, read, harness } = start();
    const wanted = version(1, [deployment('web'), settings('web')]);
    await ensure(wanted);
    await untilCurrent(wanted);
    await edit('/api/v1/*/configmaps/web', { data: { mode: 'dark', extra: 'kept' } });
    await harness.until(async () => (await component())?.current?.revision !== wanted.revision);
    expect((await component())?.current).toMatchObject({ health: 'ready', drift: 'ConfigMap web was changed' });
    await ensure(wanted);
    await untilCurrent(wanted);
    expect((await read('/api/v1/*/configmaps/web')).data).toEqual({ mode: 'bright', extra: 'kept' });
  });

  it('makes again what somebody deleted', async () => {
    const { component, ensure, untilCurrent, inNamespace, harness } = start();
    const wanted = version(1, [deployment('web'), settings('web')]);
    await ensure(wanted);
    await untilCurrent(wanted);
    await access.api.send('DELETE', inNamespace('/apis/apps/v1/*/deployments/web'));
    await harness.until(async () => (await component())?.next?.drift === 'Deployment web is gone');
    await ensure(wanted);
    await untilCurrent(wanted);
    expect((await component())?.next).toBeNull();
  });

  it('leaves alone what others add, and replicas that follow the load', async () => {
    const { component, ensure, untilCurrent, edit } = start();
    const wanted = version(1, [deployment('web'), service('web')]);
    await ensure(wanted);
    await untilCurrent(wanted);
    await edit('/api/v1/*/services/web', { metadata: { annotations: { 'example.com/seen': 'yes' } } });
    await edit('/apis/apps/v1/*/deployments/web', { spec: { replicas: 2 } });
    const { resourceVersion } = (await access.api.send('GET', '/api/v1/namespaces/default')).metadata;
    expect(resourceVersion).not.toBe('');
    await untilCurrent(wanted);
    expect((await component())?.current?.drift).toBeUndefined();
  });

  it('keeps the pods that there are when an autoscaler takes over', async () => {
    const { ensure, untilCurrent, read } = start();
    const scaled = (spec: JsonMap): JsonMap => {
      const one = deployment('web') as { readonly spec: JsonMap };
      return { ...one, spec: { ...one.spec, ...spec } };
    };
    const scaler = {
      apiVersion: 'autoscaling/v2',
      kind: 'HorizontalPodAutoscaler',
      metadata: { name: 'web' },
      spec: { scaleTargetRef: { apiVersion: 'apps/v1', kind: 'Deployment', name: 'web' }, minReplicas: 2, maxReplicas: 5 },
    };
    await ensure(version(1, [scaled({ replicas: 3 })]));
    await untilCurrent(version(1, []));
    const { generation } = (await read('/apis/apps/v1/*/deployments/web')).metadata as unknown as { readonly generation: number };
    await ensure(version(2, [scaled({}), scaler]));
    await untilCurrent(version(2, []));
    const after = await read('/apis/apps/v1/*/deployments/web');
    expect(after).toMatchObject({ metadata: { generation }, spec: { replicas: 3 } });
  });

  it('puts right less and less often what somebody changes again and again', async () => {
    const { component, ensure, untilCurrent, edit, harness } = start();
    const wanted = version(1, [deployment('web'), settings('web')]);
    await ensure(wanted);
    await untilCurrent(wanted);
    let repairs = 0;
    const until = Date.now() + 4_000;
    for (let round = 0; Date.now() < until; round += 1) {
      await edit('/api/v1/*/configmaps/web', { data: { mode: `dark ${round}` } });
      if ((await component())?.current?.drift === undefined) continue;
      await ensure(wanted);
      repairs += 1;
    }
    expect(repairs).toBeGreaterThan(0);
    expect(repairs).toBeLessThanOrEqual(3);
    await harness.until(async () => (await component())?.current?.drift !== undefined);
    await ensure(wanted);
    await untilCurrent(wanted);
  });

  it('removes what a version no longer has, once that version serves', async () => {
    const { component, ensure, untilCurrent, read } = start();
    const [old, fresh] = [version(1, [deployment('web'), settings('old')]), version(2, [deployment('web'), settings('fresh')])];
    await ensure(old);
    await untilCurrent(old);
    await ensure(fresh);
    await untilCurrent(fresh);
    expect((await component())?.retiring).toBe(true);
    expect((await read('/api/v1/*/configmaps/old')).data).toEqual({ mode: 'bright' });
    await ensure(fresh);
    expect((await component())?.retiring).toBe(false);
    await expect(read('/api/v1/*/configmaps/old')).rejects.toThrow('not found');
  });

  it('leaves what another component has taken over', async () => {
    const { component, ensure, remove, untilCurrent, read } = start();
    const api = componentName('api');
    const [old, fresh] = [version(1, [deployment('web'), service('web')]), version(2, [deployment('web')])];
    await ensure(old);
    await untilCurrent(old);
    await ensure(version(1, [service('web')], { name: api }));
    await ensure(fresh);
    await untilCurrent(fresh);
    await ensure(fresh);
    expect((await component())?.retiring).toBe(false);
    expect((await read('/api/v1/*/services/web')).metadata).toMatchObject({ labels: { 'eph.io/component': 'api' } });
    await ensure(version(3, [deployment('web'), settings('mine')]));
    await ensure(version(2, [service('web'), settings('mine')], { name: api }));
    await remove();
    expect((await read('/api/v1/*/configmaps/mine')).data).toEqual({ mode: 'bright' });
  });

  it('removes by labels what an inventory no longer names', async () => {
    const { ensure, remove, edit, read, harness, environment } = start();
    await ensure(version(1, [settings('api')], { name: componentName('api') }));
    await ensure(version(1, [deployment('web')]));
    await edit('/api/v1/*/secrets/eph-component-web', { data: { inventory: btoa('{}') } });
    await harness.restart();
    await remove();
    await expect(read('/apis/apps/v1/*/deployments/web')).rejects.toThrow('not found');
    expect((await environment())?.components.map(({ name }) => name)).toEqual(['api']);
  });

  it('does not make anew what holds data', async () => {
    const { ensure, read } = start();
    const claims = [
      { metadata: { name: 'data' }, spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Mi' } } } },
    ];
    const database = (number: number, serviceName: string) =>
      version(number, [workload('StatefulSet', 'apps/v1', 'web', { serviceName, volumeClaimTemplates: claims })]);
    await ensure(database(1, 'one'));
    const { uid } = (await read('/apis/apps/v1/*/statefulsets/web')).metadata;
    await expect(ensure(database(2, 'two'))).rejects.toMatchObject({ code: 'object.immutable' });
    expect((await read('/apis/apps/v1/*/statefulsets/web')).metadata).toMatchObject({ uid });
    expect((await read('/apis/apps/v1/*/statefulsets/web')).metadata.deletionTimestamp).toBeUndefined();
  });

  it('shows again what it could not put right', async () => {
    const { component, edit, ensure, untilCurrent, harness, inNamespace } = start();
    const wanted = version(1, [deployment('web'), settings('web')]);
    await ensure(wanted);
    await untilCurrent(wanted);
    const spec = { hard: { 'count/configmaps': '0' } };
    const quota = { apiVersion: 'v1', kind: 'ResourceQuota', metadata: { name: 'full' }, spec };
    const path = inNamespace('/api/v1/*/resourcequotas/full');
    await access.api.send('POST', inNamespace('/api/v1/*/resourcequotas'), { body: quota });
    const read = () => access.api.send<KubernetesObject & { status: { hard?: object } }>('GET', path);
    await harness.until(async () => (await read()).status.hard !== undefined);
    await access.api.send('DELETE', inNamespace('/api/v1/*/configmaps/web'));
    const untilDrift = () => harness.until(async () => (await component())?.current?.drift === 'ConfigMap web is gone');
    await untilDrift();
    await expect(ensure(wanted)).rejects.toThrow('exceeded quota');
    await edit('/api/v1/*/secrets/eph-component-web', { metadata: { labels: { seen: 'yes' } } });
    await harness.until(async () => (await component())?.current?.drift === undefined);
    await access.api.send('DELETE', path);
    await untilDrift();
    await ensure(wanted);
    expect((await component())?.current?.revision).toBe(wanted.revision);
  });

  it('gives a namespace that two environments want to one of them', async () => {
    const { harness } = start();
    const wanted = version(1, [settings('web')]);
    const values = { ...wanted.values, namespace: `${harness.owner}-both` };
    const attempt = (identity: Identity) =>
      harness
        .provider()
        .ensure(identity, { ...wanted, values }, never)
        .then(() => 'made', toCode);
    const first = await Promise.all([shop, blog].map(attempt));
    expect(first.toSorted()).toEqual(['made', 'object.conflict']);
    expect((await Promise.all([shop, blog].map(attempt))).toSorted()).toEqual(['component.refused', 'made']);
    const { items } = await harness.provider().list({ all: true }, never);
    expect(items.map(({ identity }) => identity.id)).toEqual([first[0] === 'made' ? shop.id : blog.id]);
  });

  it('makes anew what cannot be changed', async () => {
    const { ensure, untilCurrent, read } = start();
    const migrate = (number: number, command: string) => version(number, [job('web', { command: [command] })]);
    await ensure(migrate(1, 'one'));
    await untilCurrent(migrate(1, 'one'));
    const before = (await read('/apis/batch/v1/*/jobs/web')).metadata.uid;
    await ensure(migrate(2, 'two'));
    await untilCurrent(migrate(2, 'two'));
    expect((await read('/apis/batch/v1/*/jobs/web')).metadata.uid).not.toBe(before);
  });

  it('finishes what was cut off in the middle', async () => {
    const { component, ensure, untilCurrent, harness } = start();
    const [old, fresh] = [
      version(1, [deployment('web')]),
      version(2, [deployment('web', { env: [{ name: 'A', value: 'b' }] }), { ...settings('x'), data: 1 }]),
    ];
    await ensure(old);
    await untilCurrent(old);
    await expect(harness.provider().ensure(shop, fresh, never)).rejects.toMatchObject({ code: 'object.refused' });
    const half = await component();
    expect(half).toMatchObject({ current: { revision: old.revision, health: 'ready' } });
    expect(half?.next?.revision).not.toBe(fresh.revision);
    await harness.restart();
    expect(await component()).toEqual(half);
    await ensure(old);
    await untilCurrent(old);
    expect((await component())?.next).toBeNull();
  });

  it('refuses a namespace that is not of the environment', async () => {
    const { harness, environment } = start();
    const foreign = await access.createNamespace('foreign');
    onTestFinished(() => void access.api.send('DELETE', `/api/v1/namespaces/${foreign}`));
    const wanted = version(1, [deployment('web')]);
    const elsewhere = { ...wanted, values: { ...wanted.values, namespace: foreign } };
    await expect(harness.provider().ensure(shop, elsewhere, never)).rejects.toMatchObject({
      code: 'component.refused',
      message: expect.stringContaining(`namespace ${foreign} exists and is not of this environment`),
    });
    expect(await environment()).toBeUndefined();
  });

  it('keeps environments of two ephd apart', async () => {
    const [one, other] = [start(), start()];
    const wanted = version(1, [deployment('web')]);
    await one.ensure(wanted);
    await other.ensure(wanted);
    await other.remove();
    expect((await one.environment())?.components).toHaveLength(1);
    expect(await other.environment()).toBeUndefined();
  });

  it('says what keeps a namespace from going, and lists the environment until it is gone', async () => {
    const { harness, ensure, remove, environment, edit, component } = start();
    const wanted = version(1, [deployment('web'), settings('web')]);
    await ensure(wanted);
    await edit('/api/v1/*/configmaps/web', { metadata: { finalizers: ['example.com/keep'] } });
    const removal = () => harness.provider().remove(shop, web, never);
    await harness.until(async () => {
      const error = await removal().catch((thrown: unknown) => thrown);
      return isEphError(error) && error.message.includes('example.com/keep');
    });
    expect(await environment()).toMatchObject({ identity: shop });
    await expect(harness.provider().ensure(shop, wanted, never)).rejects.toMatchObject({ code: 'component.removing' });
    await edit('/api/v1/*/configmaps/web', { metadata: { finalizers: [] } });
    await remove();
    expect(await component()).toBeUndefined();
  });

  it('finds a namespace that was left without components, and removes it', async () => {
    const { harness, ensure, environment, inNamespace, remove } = start();
    await ensure(version(1, [deployment('web')]));
    await access.api.send('DELETE', inNamespace('/api/v1/*/secrets/eph-component-web'));
    await harness.until(async () => (await environment())?.components[0]?.name === 'namespace');
    expect((await environment())?.components).toMatchObject([{ name: 'namespace', current: null, next: null }]);
    await remove(componentName('namespace'));
    expect(await environment()).toBeUndefined();
  });

  it('copies secrets for images that the operator allows, beside pods that use them', async () => {
    const shared = await access.createNamespace('shared');
    const data = { '.dockerconfigjson': btoa('{"auths":{}}') };
    const secret = { apiVersion: 'v1', kind: 'Secret', metadata: { name: 'pull' }, type: 'kubernetes.io/dockerconfigjson', data };
    await access.api.send('POST', `/api/v1/namespaces/${shared}/secrets`, { body: secret });
    const { ensure, read } = start({ copyRules: [{ namespace: shared, names: ['pull'], projects: ['shop'] }] });
    const values = { objects: [], imagePullSecrets: ['pull'] };
    await ensure(version(1, [], { name: componentName('namespace'), values }));
    await ensure(version(1, [deployment('web')]));
    expect(await read('/api/v1/*/secrets/pull')).toMatchObject({ type: 'kubernetes.io/dockerconfigjson', data });
    expect(await read('/apis/apps/v1/*/deployments/web')).toMatchObject({
      spec: { template: { spec: { imagePullSecrets: [{ name: 'pull' }] } } },
    });
    await access.api.send('DELETE', `/api/v1/namespaces/${shared}`);
  });

  it('asks the cluster for nothing while nothing changes', async () => {
    const { harness, ensure, untilCurrent, requests } = start();
    const wanted = version(1, [deployment('web'), settings('web')]);
    await ensure(wanted);
    await untilCurrent(wanted);
    const before = await harness.provider().list({ all: true }, never);
    requests.length = 0;
    const after = await harness.provider().list({ all: true }, never);
    await ensure(wanted);
    expect(requests).toEqual([]);
    expect(after.items[0]).toBe(before.items[0]);
    await harness.restart();
    requests.length = 0;
    expect((await harness.provider().list({ all: true }, never)).items).toEqual(after.items);
    await ensure(wanted);
    expect(requests.filter(({ verb }) => !['get', 'list', 'watch'].includes(verb))).toEqual([]);
  });

  it('calls nothing gone that it could not read', async () => {
    const { harness, ensure } = start();
    await ensure(version(1, [deployment('web')]));
    const kubeconfig = await access.writeKubeconfig('away', access.address.admin, { server: 'https://127.0.0.1:9' });
    const away = new KubernetesHarness(access, image, { owner: harness.owner, location: { kubeconfig } });
    onTestFinished(() => away[Symbol.asyncDispose]());
    expect(await away.provider().list({ all: true }, never)).toMatchObject({ complete: false, items: [] });
    await expect(away.provider().remove(shop, web, never)).rejects.toMatchObject({ code: 'cluster.unreachable' });
  });

  it('lets one environment fail alone', async () => {
    const { harness, ensure, environment } = start();
    await ensure(version(1, [deployment('web')]));
    const broken = version(1, [{ ...deployment('web'), spec: { replicas: 'many' } }]);
    await expect(harness.provider().ensure(blog, broken, never)).rejects.toMatchObject({ code: 'object.refused' });
    expect(await environment()).toMatchObject({ complete: true });
    expect((await environment(blog))?.components[0]?.next?.message).toBe('it was begun and not finished');
  });
});
