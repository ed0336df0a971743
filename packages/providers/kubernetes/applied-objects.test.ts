import { isEphError, type JsonMap } from '@eph/contract';
import { fieldAt, listAt, textAt } from '@eph/kube/fields';
import type { KubeObject } from '@eph/kube/object';
import { describe, expect, it, vi } from 'vitest';
import { cluster as clusterPart } from '../../../test/parts/cluster.ts';
import { describeWith } from '../../../test/parts/describe-with.ts';
import { never, openTestCluster, type TestCluster } from '../../kube/cluster-harness.fake.ts';
import { fieldManager, labels } from './marks.ts';
import { computeGuards, computeNamespace, type NamespaceSettings } from './namespace-objects.ts';
import { prepareObjects } from './prepare-objects.ts';
import { factsOf, resolvedComponent, shopIdentity } from './resolved-component.fake.ts';
import { parseKubernetesValues } from './values.ts';

vi.setConfig({ testTimeout: 120_000, hookTimeout: 120_000 });

const app = { app: 'web' };
const pods: JsonMap = {
  serviceAccountName: 'web',
  containers: [
    {
      name: 'main',
      image: 'nginx:1',
      ports: [{ containerPort: 80 }],
      env: [{ name: 'EPH_URL', valueFrom: { secretKeyRef: { name: 'eph-env-web', key: 'EPH_URL' } } }],
      resources: { requests: { cpu: '1500m', memory: '64Mi' } },
    },
  ],
  initContainers: [{ name: 'wait', image: 'busybox:1', resources: {} }],
  // As charts write what nobody has chosen.
  nodeSelector: null,
  tolerations: null,
  affinity: {},
  securityContext: {},
};
const template: JsonMap = { metadata: { labels: app, annotations: null }, spec: pods };
const once: JsonMap = { metadata: null, spec: { ...pods, restartPolicy: 'Never' } };
const selector: JsonMap = { matchLabels: app };
const claim: JsonMap = { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Gi' } } };
const ref: JsonMap = { apiVersion: 'apps/v1', kind: 'Deployment', name: 'web' };

const object = (apiVersion: string, kind: string, content: JsonMap, name = 'web'): JsonMap => ({
  apiVersion,
  kind,
  metadata: { name },
  ...content,
});
const deployment = (spec: JsonMap = {}, name = 'web'): JsonMap =>
  object('apps/v1', 'Deployment', { spec: { selector, template, ...spec } }, name);

const ports = [{ port: 80, name: 'http' }];
const metrics = [{ type: 'Resource', resource: { name: 'cpu', target: { type: 'Utilization', averageUtilization: 80 } } }];
const backend: JsonMap = { service: { name: 'web', port: { name: 'http' } } };
const rules = [{ apiGroups: [''], resources: ['configmaps'], verbs: ['get'] }];
const roleRef: JsonMap = { apiGroup: 'rbac.authorization.k8s.io', kind: 'Role', name: 'web' };
const subjects = [{ kind: 'ServiceAccount', name: 'web', namespace: 'eph-environment-namespace' }];

const realistic: readonly JsonMap[] = [
  deployment({ strategy: { rollingUpdate: { maxSurge: 0, maxUnavailable: 1 } } }),
  object('apps/v1', 'StatefulSet', {
    spec: { selector, template, serviceName: 'web', volumeClaimTemplates: [{ metadata: { name: 'data' }, spec: claim }] },
  }),
  object('apps/v1', 'DaemonSet', { spec: { selector, template } }),
  object('apps/v1', 'ReplicaSet', { spec: { selector, template } }),
  object('batch/v1', 'Job', { spec: { template: once, ttlSecondsAfterFinished: 5 } }),
  object('batch/v1', 'CronJob', { spec: { schedule: '0 0 1 1 *', jobTemplate: { spec: { template: once } } } }),
  object('v1', 'Pod', { spec: pods }),
  object('autoscaling/v2', 'HorizontalPodAutoscaler', { spec: { scaleTargetRef: ref, maxReplicas: 3, metrics } }),
  object('policy/v1', 'PodDisruptionBudget', { spec: { selector, maxUnavailable: 1 } }),
  object('v1', 'Service', { spec: { selector: app, ports } }),
  object('networking.k8s.io/v1', 'Ingress', {
    spec: { rules: [{ host: 'web.example.com', http: { paths: [{ path: '/', pathType: 'Prefix', backend }] } }] },
  }),
  object('v1', 'ConfigMap', { data: { HOST: 'web.eph-environment-namespace.svc' } }),
  object('v1', 'Secret', { type: 'Opaque', data: { A: 'YQ==' }, stringData: { B: 'b' } }),
  object('v1', 'PersistentVolumeClaim', { spec: claim }),
  object('v1', 'ServiceAccount', { automountServiceAccountToken: true }),
  object('rbac.authorization.k8s.io/v1', 'Role', { rules }),
  object('rbac.authorization.k8s.io/v1', 'RoleBinding', { roleRef, subjects }),
];

const settings: NamespaceSettings = { owner: 'main', podSecurity: 'baseline', reach: ['10.20.0.0/16'], gatewayNamespace: 'eph' };
const budget = { cpu: 8, memoryBytes: 8 * 2 ** 30 };

const prepareFor = (namespace: string, objects: readonly JsonMap[]): readonly KubeObject[] => {
  const values = { objects, secretEnv: { EPH_URL: [{ url: true }] }, secrets: { app: { TOKEN: [{ secret: 'TOKEN' }] } } };
  const component = resolvedComponent('web', values, { budget });
  const facts = factsOf({ namespace, imagePullSecrets: ['registry'] });
  return prepareObjects(component, parseKubernetesValues(component), facts).objects.map((one) => one.object);
};

const apply = (cluster: TestCluster['cluster'], one: KubeObject, dryRun = false): Promise<KubeObject> =>
  cluster.apply(one, { manager: fieldManager, force: true, dryRun }, never);

const applyAll = async (cluster: TestCluster['cluster'], objects: readonly KubeObject[]): Promise<readonly KubeObject[]> => {
  const applied: KubeObject[] = [];
  for (const one of objects) applied.push(await apply(cluster, one));
  return applied;
};

/** With the fields that Eph applied, by which it sees whether others changed them. */
const generationsOf = (objects: readonly KubeObject[]): unknown =>
  objects.map(({ kind, metadata }) => {
    const own = listAt(metadata, 'managedFields').find((one) => textAt(one, 'manager') === fieldManager);
    return [kind, metadata.name, metadata.uid, metadata.generation, fieldAt(own, 'fieldsV1')];
  });

describeWith(clusterPart, 'what is prepared for a cluster', () => {
  describe('the objects of a component', () => {
    it('are accepted as they are', async () => {
      const { cluster, namespace } = await openTestCluster();
      const prepared = prepareFor(namespace, realistic);
      // Without it, the pod would be refused.
      await applyAll(
        cluster,
        prepared.filter(({ kind }) => kind === 'ServiceAccount'),
      );
      const accepted = await Promise.all(prepared.map((one) => apply(cluster, one, true)));
      const isMarked = ({ metadata }: KubeObject): boolean => metadata.labels?.[labels.environment] === shopIdentity.id;
      expect(accepted.filter(isMarked).map(({ kind }) => kind)).toEqual(prepared.map(({ kind }) => kind));
    });

    it('change nothing when they are applied again', async () => {
      const { cluster, namespace } = await openTestCluster();
      const first = await applyAll(cluster, prepareFor(namespace, realistic));
      const second = await applyAll(cluster, prepareFor(namespace, realistic));
      expect(generationsOf(second)).toEqual(generationsOf(first));
    });

    it('may come to replace their pods at once, and to keep serving again', async () => {
      const { cluster, namespace } = await openTestCluster();
      const strategies: JsonMap[] = [
        {},
        { type: 'Recreate' },
        { type: 'Recreate' },
        { rollingUpdate: { maxSurge: '50%' } },
        { type: 'Recreate' },
        {},
      ];
      const seen: unknown[] = [];
      for (const strategy of strategies) {
        const [applied] = await applyAll(
          cluster,
          prepareFor(namespace, [deployment({ strategy })]).filter(({ kind }) => kind === 'Deployment'),
        );
        seen.push([applied?.metadata.generation, fieldAt(applied, 'spec', 'strategy')]);
      }
      const rolling = (maxSurge: string) => ({ type: 'RollingUpdate', rollingUpdate: { maxUnavailable: 0, maxSurge } });
      expect(seen).toEqual([
        [1, rolling('25%')],
        [2, { type: 'Recreate' }],
        [2, { type: 'Recreate' }],
        [3, rolling('50%')],
        [4, { type: 'Recreate' }],
        [5, rolling('25%')],
      ]);
    });
  });

  describe('the namespace of an environment', () => {
    const open = async (more: Partial<NamespaceSettings> = {}): Promise<Pick<TestCluster, 'cluster' | 'namespace'>> => {
      const { cluster, namespace } = await openTestCluster();
      await apply(cluster, computeNamespace(shopIdentity, namespace, { ...settings, ...more }));
      return { cluster, namespace };
    };

    it('and its guards change nothing when they are applied again', async () => {
      const { cluster, namespace } = await open();
      const all = [
        computeNamespace(shopIdentity, namespace, settings),
        ...computeGuards(shopIdentity, namespace, settings, budget),
      ];
      const first = await applyAll(cluster, all);
      const second = await applyAll(cluster, all);
      expect(first.map(({ kind, metadata }) => `${kind}/${metadata.name}`)).toEqual([
        `Namespace/${namespace}`,
        'NetworkPolicy/eph-isolation',
        'LimitRange/eph-limits',
        'ResourceQuota/eph-quota',
      ]);
      expect(generationsOf(second)).toEqual(generationsOf(first));
    });

    it('takes pods without limits, and pods that ask for more than these get', async () => {
      const { cluster, namespace } = await open();
      await applyAll(cluster, computeGuards(shopIdentity, namespace, settings, budget));
      await untilCounted(cluster, namespace);
      const plain = object('v1', 'Pod', { spec: { containers: [{ name: 'main', image: 'nginx:1' }] } }, 'plain');
      const demanding = object(
        'v1',
        'Pod',
        { spec: { containers: (pods as { containers: JsonMap[] }).containers } },
        'demanding',
      );
      const made = await applyAll(cluster, prepareFor(namespace, [plain, demanding]));
      const limits = made.flatMap(({ kind, metadata, spec }) => (kind === 'Pod' ? [[metadata.name, limitsOf(spec)]] : []));
      expect(Object.fromEntries(limits)).toEqual({
        plain: { cpu: '800m', memory: '512Mi' },
        demanding: { cpu: '1500m', memory: '512Mi' },
      });
    });

    it('takes no more than its budget', async () => {
      const { cluster, namespace } = await open();
      await applyAll(cluster, computeGuards(shopIdentity, namespace, settings, { cpu: 1 }));
      await untilCounted(cluster, namespace);
      const containers = [{ name: 'main', image: 'nginx:1', resources: { limits: { cpu: '1100m' } } }];
      const [secret, other, pod] = prepareFor(namespace, [object('v1', 'Pod', { spec: { containers } }, 'greedy')]);
      await applyAll(
        cluster,
        [secret, other].flatMap((one) => one ?? []),
      );
      const refused = pod === undefined ? undefined : await apply(cluster, pod).catch((error: unknown) => error);
      expect(isEphError(refused) && refused.message).toMatch(/exceeded quota: eph-quota/);
    });

    it('takes no pod that has rights on its machine', async () => {
      const { cluster, namespace } = await open({ podSecurity: 'restricted' });
      const [, , pod] = prepareFor(namespace, [
        object('v1', 'Pod', { spec: { containers: [{ name: 'main', image: 'nginx:1' }] } }),
      ]);
      const refused = pod === undefined ? undefined : await apply(cluster, pod).catch((error: unknown) => error);
      expect(isEphError(refused) && refused.message).toMatch(/violates PodSecurity/);
    });
  });
});

const limitsOf = (spec: unknown): unknown =>
  (spec as { readonly containers: readonly { readonly resources: JsonMap }[] }).containers[0]?.resources['limits'];

/** Before the cluster has counted what there is, it refuses everything that a quota counts. */
const untilCounted = async (cluster: TestCluster['cluster'], namespace: string): Promise<void> => {
  const readUsed = async (): Promise<unknown> => {
    const name = { namespace, name: 'eph-quota' };
    return fieldAt(await cluster.client.get({ apiVersion: 'v1', kind: 'ResourceQuota' }, name, never), 'status', 'used');
  };
  await expect.poll(readUsed).toBeDefined();
};
