import { existsSync } from 'node:fs';
import { beforeAll, expect, it, onTestFinished, vi } from 'vitest';
import { cluster } from './cluster.ts';
import type { KubernetesObject } from './cluster-api.ts';
import type { ClusterAccess } from './cluster-server.ts';
import { describeWith } from './describe-with.ts';
import { hollow } from './hollow-node.ts';
import { processesIn } from './processes-in.ts';
import { findSharedCluster } from './shared-cluster.ts';

vi.setConfig({ testTimeout: 120_000, hookTimeout: 120_000 });

interface Workload extends KubernetesObject {
  readonly status: { readonly availableReplicas?: number; readonly succeeded?: number };
}

const template = (annotations: Readonly<Record<string, string>> = {}) => ({
  metadata: { labels: { app: 'shop' }, annotations },
  // A namespace waits for half of the time that its pods may take to end.
  spec: { containers: [{ name: 'shop', image: 'shop:1' }], terminationGracePeriodSeconds: 1 },
});

const deployment = (name: string, annotations?: Readonly<Record<string, string>>) => ({
  apiVersion: 'apps/v1',
  kind: 'Deployment',
  metadata: { name },
  spec: { replicas: 2, selector: { matchLabels: { app: 'shop' } }, template: template(annotations) },
});

describeWith(cluster, 'cluster', () => {
  let server: ClusterAccess;
  let namespace: string;

  beforeAll(async () => {
    server = await findSharedCluster();
    namespace = await server.createNamespace('cluster-test');
  });

  const deployments = (): string => `/apis/apps/v1/namespaces/${namespace}/deployments`;

  it('runs pods on a node that has no programs', async () => {
    await server.api.send('POST', deployments(), { body: deployment('shop', { [hollow.readyAfter]: '50' }) });
    const available = async (): Promise<unknown> =>
      (await server.api.send<Workload>('GET', `${deployments()}/shop`)).status.availableReplicas;
    await expect.poll(available).toBe(2);
  });

  it('ends jobs', async () => {
    const jobs = `/apis/batch/v1/namespaces/${namespace}/jobs`;
    const { metadata, spec } = template();
    const body = { metadata: { name: 'seed' }, spec: { template: { metadata, spec: { ...spec, restartPolicy: 'Never' } } } };
    await server.api.send('POST', jobs, { body });
    await expect.poll(async () => (await server.api.send<Workload>('GET', `${jobs}/seed`)).status.succeeded).toBe(1);
  });

  it('reports why a pod does not start, if its annotation says so', async () => {
    const own = await server.createNamespace('cluster-test');
    const body = { metadata: { name: 'stuck', annotations: { [hollow.waiting]: 'ImagePullBackOff' } }, spec: template().spec };
    await expect
      .poll(async () => (await server.api.request('POST', `/api/v1/namespaces/${own}/pods`, { body })).status)
      .toBe(201);
    await expect.poll(() => server.kubectl('--namespace', own, 'get', 'pods')).toContain('ImagePullBackOff');
  });

  it('removes a namespace with everything in it', async () => {
    const own = await server.createNamespace('cluster-test');
    await server.api.send('POST', `/apis/apps/v1/namespaces/${own}/deployments`, { body: deployment('shop') });
    const pods = async (): Promise<string> => server.kubectl('--namespace', own, 'get', 'pods');
    await expect.poll(pods).toContain('Running');
    await server.api.send('DELETE', `/api/v1/namespaces/${own}`);
    await expect.poll(async () => (await server.api.request('GET', `/api/v1/namespaces/${own}`)).status).toBe(404);
  });

  it('grants users and service accounts what roles grant them', async () => {
    const own = await server.createNamespace('cluster-test');
    const path = `/apis/rbac.authorization.k8s.io/v1/namespaces/${own}/rolebindings`;
    const roleRef = { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'view' };
    const subjects = [
      { kind: 'ServiceAccount', name: 'default', namespace: own },
      { kind: 'Group', apiGroup: 'rbac.authorization.k8s.io', name: 'readers' },
    ];
    await server.api.send('POST', path, { body: { metadata: { name: 'readers' }, roleRef, subjects } });
    for (const login of [await server.createUser('alice', ['readers']), await server.createToken(own, 'default')]) {
      const kubeconfig = await server.writeKubeconfig(`${own}-${login.type}`, login, { namespace: own });
      const can = async (...what: readonly string[]): Promise<string> =>
        (await server.kubectl('--kubeconfig', kubeconfig, 'auth', 'can-i', ...what).catch(() => 'no')).trim();
      await expect.poll(() => can('list', 'pods')).toBe('yes');
      expect(await can('create', 'pods')).toBe('no');
      expect(await can('list', 'pods', '--namespace', namespace)).toBe('no');
    }
  });

  it('lets a node speak only for itself', async () => {
    const node = server.as(await server.createUser('system:node:other', ['system:nodes']));
    onTestFinished(() => node.close());
    const body = { metadata: { labels: { mine: 'yes' } } };
    expect((await node.request('PATCH', '/api/v1/nodes/hollow', { patch: 'merge-patch+json', body })).status).toBe(403);
    expect((await node.request('GET', `/api/v1/namespaces/${namespace}/secrets`)).status).toBe(403);
  });

  it('of one test outlives the death of its API server, and leaves no process and no folder once it is stopped', async () => {
    const own = await cluster.start();
    onTestFinished(() => own.stop());
    expect(own.port).not.toBe(server.address.port);
    expect((await own.api.request('GET', `/api/v1/namespaces/${namespace}`)).status).toBe(404);
    const created = await own.createNamespace('kept');

    await own.killApiServer();
    await expect(own.api.request('GET', '/readyz')).rejects.toThrow('fetch failed');
    await own.resumeApiServer();
    expect(await own.kubectl('get', 'namespaces')).toContain(created);

    await own.stop();
    await own.stop();
    expect(processesIn(own.folder)).toEqual([]);
    expect(existsSync(own.folder)).toBe(false);
  });
});
