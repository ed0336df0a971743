import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import {
  commitSha,
  componentName,
  environmentId,
  environmentName,
  type Identity,
  isEphError,
  type JsonMap,
  projectId,
  type ResolvedComponent,
  revision,
} from '@eph/contract';
import type { ObservedRequest } from '@eph/kube/observer';
import { expect, it, onTestFinished } from 'vitest';
import { parse } from 'yaml';
import { cluster } from '../../../test/parts/cluster.ts';
import type { ClusterAccess } from '../../../test/parts/cluster-server.ts';
import { describeWith } from '../../../test/parts/describe-with.ts';
import { findSharedCluster } from '../../../test/parts/shared-cluster.ts';
import { KubernetesHarness, never } from './kubernetes-harness.fake.ts';

interface Role {
  readonly rules: readonly { readonly resources: readonly string[]; readonly verbs: readonly string[] }[];
}

/** The ClusterRole of the guide. */
const readRole = (): Role => {
  const guide = readFileSync(join(import.meta.dirname, '../../../docs/guides/kubernetes.md'), 'utf8');
  const block = /```yaml\n( *)# eph-rights\.yaml\n([\s\S]*?)```/.exec(guide);
  return parse(block?.[2]?.replaceAll(new RegExp(`^${block[1]}`, 'gm'), '') ?? '') as Role;
};

const shop: Identity = {
  id: environmentId('00000000000000cc'),
  name: environmentName('shop-mild-meadow-2210'),
  project: projectId('shop'),
  source: { kind: 'branch', name: 'preview/rights' },
  createdAt: '2026-01-05T09:00:00.000Z',
};

const web = componentName('web');
const labels = { app: 'web' };
const image = 'registry.example.com/web@sha256:'.padEnd(96, 'a');
const template = { metadata: { labels }, spec: { terminationGracePeriodSeconds: 0, containers: [{ name: 'web', image }] } };
const once = { ...template, spec: { ...template.spec, restartPolicy: 'Never' } };
const selected = { selector: { matchLabels: labels }, template };

const object = (apiVersion: string, kind: string, content: JsonMap): JsonMap => ({
  apiVersion,
  kind,
  metadata: { name: 'web' },
  ...content,
});

/** One of every kind that an environment may hold without a policy. */
const everyKind: readonly JsonMap[] = [
  object('apps/v1', 'Deployment', { spec: selected }),
  object('apps/v1', 'StatefulSet', { spec: { ...selected, serviceName: 'web' } }),
  object('apps/v1', 'DaemonSet', { spec: selected }),
  object('apps/v1', 'ReplicaSet', { spec: selected }),
  object('batch/v1', 'Job', { spec: { template: once } }),
  object('batch/v1', 'CronJob', { spec: { schedule: '0 0 1 1 *', jobTemplate: { spec: { template: once } } } }),
  object('v1', 'Pod', { spec: once.spec }),
  object('v1', 'Service', { spec: { selector: labels, ports: [{ port: 80 }] } }),
  object('v1', 'ConfigMap', { data: { a: 'b' } }),
  object('v1', 'Secret', { stringData: { a: 'b' } }),
  object('v1', 'ServiceAccount', {}),
  object('v1', 'LimitRange', { spec: { limits: [{ type: 'Container', default: { cpu: '1' } }] } }),
  object('v1', 'PersistentVolumeClaim', {
    spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Gi' } } },
  }),
  object('autoscaling/v2', 'HorizontalPodAutoscaler', {
    spec: { scaleTargetRef: { apiVersion: 'apps/v1', kind: 'StatefulSet', name: 'web' }, maxReplicas: 2 },
  }),
  object('policy/v1', 'PodDisruptionBudget', { spec: { selector: { matchLabels: labels } } }),
  object('networking.k8s.io/v1', 'Ingress', {
    spec: { defaultBackend: { service: { name: 'web', port: { number: 80 } } } },
  }),
  object('networking.k8s.io/v1', 'NetworkPolicy', { spec: { podSelector: {} } }),
  object('discovery.k8s.io/v1', 'EndpointSlice', { addressType: 'IPv4', endpoints: [] }),
];

const version = (number: number, objects: readonly JsonMap[]): ResolvedComponent => {
  const digits = String(number).padStart(40, '0');
  return {
    name: web,
    provider: 'kubernetes' as ResolvedComponent['provider'],
    commit: commitSha(digits),
    artifact: null,
    entry: false,
    dependsOn: [],
    values: { objects: [...objects] },
    revision: revision(digits),
    budget: { cpu: 100, memoryBytes: 100 * 2 ** 30 },
  };
};

describeWith(cluster, 'the rights of the guide', () => {
  it('are enough for the life of an environment with every kind, and no verb of them is unused', {
    timeout: 120_000,
  }, async () => {
    const access = await findSharedCluster();
    const role = readRole();
    const requests: ObservedRequest[] = [];
    const observer = { requested: (request: ObservedRequest) => void requests.push(request), restarted: () => undefined };
    const harness = await startWithRights(access, role, observer);
    const provider = harness.provider();
    const untilDone = (effect: () => Promise<void>): Promise<void> =>
      harness.until(() => effect().then(() => true, failUnlessRemoving));

    expect(await provider.list({ all: true }, never)).toMatchObject({ complete: true, faults: [] });
    await untilDone(() => provider.ensure(shop, version(1, everyKind), never));
    // The first object is the workload, without which there is no component.
    await untilDone(() => provider.ensure(shop, version(2, everyKind.slice(0, 1)), never));
    await harness.until(async () => {
      await provider.ensure(shop, version(2, everyKind.slice(0, 1)), never).catch(failUnlessRemoving);
      const [environment] = (await provider.list({ environment: shop.id }, never)).items;
      return environment?.components[0]?.current !== null && environment?.components[0]?.retiring === false;
    });
    await provider.usage(shop.id, never);
    // The hollow node has no logs and runs no commands; whoever may not ask learns that first.
    const signal = AbortSignal.timeout(10_000);
    for (const ask of [
      async () => await Array.fromAsync(provider.logs(shop.id, web, { tail: 1, follow: false, signal })),
      async () => await provider.exec(shop.id, web, { command: ['true'], signal }),
      async () => await provider.connect(shop.id, web, 80, signal),
    ])
      await ask().catch(() => undefined);
    await untilDone(() => provider.remove(shop, web, never));
    expect(await provider.list({ all: true }, never)).toMatchObject({ items: [], complete: true, faults: [] });

    const refused = requests.filter(({ status }) => status === 403 || status === 401);
    expect(refused).toEqual([]);
    const used = new Set(requests.map(({ verb }) => verb));
    expect([...used]).toEqual(expect.arrayContaining(['get', 'list', 'watch', 'apply', 'delete']));
    const whole = role.rules.filter(
      ({ resources }) => !resources.some((one) => one.includes('/')) && !resources.includes('pods'),
    );
    for (const { verbs } of whole) expect(verbs).toEqual(['get', 'list', 'watch', 'create', 'patch', 'delete']);
  });
});

const failUnlessRemoving = (error: unknown): false => {
  if (isEphError(error) && error.code === 'component.removing') return false;
  throw error;
};

/** As an account with nothing but these. */
const startWithRights = async (
  access: ClusterAccess,
  role: Role,
  observer: NonNullable<ConstructorParameters<typeof KubernetesHarness>[2]>['observer'],
): Promise<KubernetesHarness> => {
  const namespace = await access.createNamespace('rights');
  await access.api.send('POST', `/api/v1/namespaces/${namespace}/serviceaccounts`, { body: { metadata: { name: 'eph' } } });
  const authorization = '/apis/rbac.authorization.k8s.io/v1';
  await access.api.send('POST', `${authorization}/clusterroles`, { body: { ...role, metadata: { name: namespace } } });
  const binding = {
    metadata: { name: namespace },
    roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: namespace },
    subjects: [{ kind: 'ServiceAccount', name: 'eph', namespace }],
  };
  await access.api.send('POST', `${authorization}/clusterrolebindings`, { body: binding });
  const kubeconfig = await access.writeKubeconfig(namespace, await access.createToken(namespace, 'eph'));
  const harness = new KubernetesHarness(access, image, { location: { kubeconfig }, ...(observer && { observer }) });
  onTestFinished(async () => {
    for (const path of [`${authorization}/clusterrolebindings`, `${authorization}/clusterroles`, '/api/v1/namespaces'])
      await access.api.send('DELETE', `${path}/${namespace}`);
    await harness[Symbol.asyncDispose]();
  });
  return harness;
};
