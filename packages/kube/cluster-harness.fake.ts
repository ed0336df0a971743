import type { Clock } from '@eph/engine/time/clock';
import { systemClock } from '@eph/engine/time/system-clock';
import { onTestFinished } from 'vitest';
import type { Login } from '../../test/parts/cluster-api.ts';
import type { ClusterAccess } from '../../test/parts/cluster-server.ts';
import { findSharedCluster } from '../../test/parts/shared-cluster.ts';
import { ApiProxy } from './api-proxy.fake.ts';
import { type Cluster, openCluster } from './cluster.ts';
import type { KubeObject } from './object.ts';
import type { KubeObserver } from './observer.ts';

export const never = new AbortController().signal;

export interface TestCluster {
  readonly access: ClusterAccess;
  readonly cluster: Cluster;
  readonly proxy: ApiProxy;
  /** Nobody else's. */
  readonly namespace: string;
  /** As another process has it. */
  openAgain(): Cluster;
}

export interface TestClusterOptions {
  readonly clock?: Clock;
  readonly observer?: KubeObserver;
}

/** The shared cluster, through a proxy that is ours alone, with all rights. */
export const openTestCluster = async (options: TestClusterOptions = {}): Promise<TestCluster> => {
  const access = await findSharedCluster();
  const namespace = await access.createNamespace('kube');
  const login = await createAdmin(access, namespace);
  const proxy = await ApiProxy.start(access.url, access.address.authority);
  const kubeconfig = await access.writeKubeconfig(`${namespace}-proxy`, login, { server: proxy.url });
  const opened: Cluster[] = [];
  const openAgain = (): Cluster => {
    const cluster = openCluster({
      name: 'test',
      location: { kubeconfig },
      clock: options.clock ?? systemClock,
      random: () => 0.01,
      ...(options.observer === undefined ? {} : { observer: options.observer }),
    });
    opened.push(cluster);
    return cluster;
  };
  const cluster = openAgain();
  onTestFinished(async () => {
    await Promise.all(opened.map((one) => one[Symbol.asyncDispose]()));
    await proxy[Symbol.asyncDispose]();
    await access.api.send('DELETE', `/api/v1/namespaces/${namespace}`);
    await access.api.close();
  });
  return { access, cluster, proxy, namespace, openAgain };
};

/** The token of a service account that may do everything; the proxy cannot pass a certificate on. */
const createAdmin = async (access: ClusterAccess, namespace: string): Promise<Login> => {
  const account = { metadata: { name: 'admin' } };
  await access.api.send('POST', `/api/v1/namespaces/${namespace}/serviceaccounts`, { body: account });
  const body = {
    metadata: { name: namespace },
    roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'cluster-admin' },
    subjects: [{ kind: 'ServiceAccount', name: 'admin', namespace }],
  };
  await access.api.send('POST', '/apis/rbac.authorization.k8s.io/v1/clusterrolebindings', { body });
  return await access.createToken(namespace, 'admin');
};

export const configMap = (
  namespace: string,
  name: string,
  more: Partial<KubeObject['metadata']> = {},
  data: object = {},
): KubeObject => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { namespace, name, ...more },
  data,
});
