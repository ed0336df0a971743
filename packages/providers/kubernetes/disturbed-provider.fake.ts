import { randomBytes } from 'node:crypto';
import { type ComponentName, type Identity, isEphError, type ResolvedComponent } from '@eph/contract';
import { ApiProxy, type ProxiedRequest } from '@eph/kube/api-proxy.fake';
import { onTestFinished } from 'vitest';
import type { KubernetesObject, Login } from '../../../test/parts/cluster-api.ts';
import type { ClusterAccess } from '../../../test/parts/cluster-server.ts';
import { KubernetesHarness, never } from './kubernetes-harness.fake.ts';
import type { KubernetesProviderOptions } from './provider.ts';
import { image } from './sample-components.fake.ts';

/** A service account that may do everything, until the test ends. */
export const createServiceAccount = async (
  access: ClusterAccess,
): Promise<{ readonly namespace: string; readonly login: Login }> => {
  const namespace = await access.createNamespace('provider');
  await access.api.send('POST', `/api/v1/namespaces/${namespace}/serviceaccounts`, { body: { metadata: { name: 'eph' } } });
  await grant(access, namespace);
  onTestFinished(async () => {
    await access.kubectl('delete', 'clusterrolebinding', namespace, '--ignore-not-found');
    await access.api.send('DELETE', `/api/v1/namespaces/${namespace}`);
  });
  return { namespace, login: await access.createToken(namespace, 'eph') };
};

/** All rights for the service account of this namespace. */
export const grant = async (access: ClusterAccess, namespace: string): Promise<void> => {
  const body = {
    metadata: { name: namespace },
    roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'cluster-admin' },
    subjects: [{ kind: 'ServiceAccount', name: 'eph', namespace }],
  };
  await access.api.send('POST', '/apis/rbac.authorization.k8s.io/v1/clusterrolebindings', { body });
};

/** Requests that change something. */
export const isWrite = ({ method }: Pick<ProxiedRequest, 'method'>): boolean => method !== 'GET';

/** A provider whose way to the cluster a test can disturb. */
export const openDisturbed = async (
  access: ClusterAccess,
  login: Login,
  options: Partial<KubernetesProviderOptions> = {},
): Promise<{ readonly harness: KubernetesHarness; readonly proxy: ApiProxy }> => {
  const proxy = await ApiProxy.start(access.url, access.address.authority);
  const name = `disturbed-${randomBytes(4).toString('hex')}`;
  const kubeconfig = await access.writeKubeconfig(name, login, { server: proxy.url });
  const harness = new KubernetesHarness(access, image, { location: { kubeconfig }, ...options });
  onTestFinished(async () => {
    await harness[Symbol.asyncDispose]();
    await proxy[Symbol.asyncDispose]();
  });
  return { harness, proxy };
};

/** Again and again, as the engine does it while something else has to go first. */
export const ensureAtLast = (harness: KubernetesHarness, identity: Identity, wanted: ResolvedComponent): Promise<void> =>
  harness.until(() =>
    harness
      .provider()
      .ensure(identity, wanted, never)
      .then(() => true, falseWhileRemoving),
  );

export const removeAtLast = (harness: KubernetesHarness, identity: Identity, name: ComponentName): Promise<void> =>
  harness.until(() =>
    harness
      .provider()
      .remove(identity, name, never)
      .then(() => true, falseWhileRemoving),
  );

const falseWhileRemoving = (error: unknown): false => {
  if (isEphError(error) && error.code === 'component.removing') return false;
  throw error;
};

export const readNamespaces = async (access: ClusterAccess, owner: string): Promise<readonly string[]> => {
  const path = `/api/v1/namespaces?labelSelector=eph.io/owner%3D${owner}`;
  const { items } = await access.api.send<{ readonly items: readonly KubernetesObject[] }>('GET', path);
  return items.map(({ metadata }) => metadata.name);
};
