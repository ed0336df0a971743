import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { ApiProxy } from '../../packages/kube/api-proxy.fake.ts';
import { cluster } from '../parts/cluster.ts';
import type { ClusterServer } from '../parts/cluster-server.ts';
import { getCommand } from '../parts/part.ts';
import { until } from './bench-ephd.ts';
import { atMost, type Figure, missing } from './figure.ts';

/** Of each kind. */
const each = 2_500;
const environments = 500;
const atOnce = 32;

const digest = `sha256:${'0123456789abcdef'.repeat(4)}`;

const labelsOf = (index: number) => ({
  'eph.io/owner': 'bench',
  'eph.io/environment': `shop-serene-ocean-${1_000 + (index % environments)}`,
  'app.kubernetes.io/name': 'shop',
});

const template = (labels: object) => ({
  metadata: { labels },
  spec: {
    containers: [
      {
        name: 'web',
        image: `registry.example.com/shop/web@${digest}`,
        ports: [{ containerPort: 8080, name: 'http' }],
        env: ['HOST', 'MODE', 'REGION', 'FEATURES'].map((name) => ({ name, value: `the-value-of-${name.toLowerCase()}` })),
        resources: { requests: { cpu: '100m', memory: '128Mi' }, limits: { cpu: '1', memory: '512Mi' } },
        readinessProbe: { httpGet: { path: '/healthz', port: 8080 }, periodSeconds: 5 },
      },
    ],
  },
});

const podStatus = (index: number) => ({
  phase: 'Running',
  podIP: `10.0.${index % 250}.${Math.floor(index / 250)}`,
  startTime: '2026-01-05T09:00:00Z',
  conditions: ['PodReadyToStartContainers', 'Initialized', 'Ready', 'ContainersReady', 'PodScheduled'].map((type) => ({
    type,
    status: 'True',
    lastTransitionTime: '2026-01-05T09:00:00Z',
  })),
  containerStatuses: [
    {
      name: 'web',
      image: 'registry.example.com/shop/web:7',
      imageID: `registry.example.com/shop/web@${digest}`,
      containerID: `containerd://${digest.slice(7)}`,
      ready: true,
      restartCount: 0,
      started: true,
      state: { running: { startedAt: '2026-01-05T09:00:00Z' } },
    },
  ],
});

const fill = async (server: ClusterServer, namespace: string): Promise<void> => {
  const create = async (index: number): Promise<void> => {
    const labels = labelsOf(index);
    const metadata = { name: `shop-${index}`, labels };
    const manager = 'fieldManager=eph&force=true';
    const patch = 'apply-patch+yaml';
    const apply = (group: string, kind: string, plural: string, rest: object) =>
      server.api.send('PATCH', `/${group}/namespaces/${namespace}/${plural}/shop-${index}?${manager}`, {
        patch,
        body: { apiVersion: group.replace(/^apis?\//, ''), kind, metadata, ...rest },
      });
    // A gate keeps the scheduler from pods that no node will run.
    const pod = { spec: { ...template(labels).spec, schedulingGates: [{ name: 'example.com/never' }] } };
    await apply('api/v1', 'Pod', 'pods', pod);
    await server.api.send('PATCH', `/api/v1/namespaces/${namespace}/pods/shop-${index}/status`, {
      patch: 'merge-patch+json',
      body: { status: podStatus(index) },
    });
    const port = { name: 'http', port: 80, targetPort: 'http' };
    await apply('api/v1', 'Service', 'services', { spec: { clusterIP: 'None', selector: labels, ports: [port] } });
    // Controllers write so slowly that nobody could wait for what they make of it.
    const spec = { paused: true, selector: { matchLabels: labels }, template: template(labels) };
    await apply('apis/apps/v1', 'Deployment', 'deployments', { spec });
    const inventory = { component: 'shop', revision: digest, images: [digest], objects: Array.from({ length: 4 }, () => digest) };
    await apply('api/v1', 'Secret', 'secrets', { stringData: { inventory: JSON.stringify(inventory) } });
  };
  for (let at = 0; at < each; at += atOnce)
    await Promise.all(Array.from({ length: Math.min(atOnce, each - at) }, (_, index) => create(at + index)));
};

/** What a cache costs, over what the API server sent to fill it. */
export const measureKubeCache = async (): Promise<readonly Figure[]> => {
  if (!cluster.find().found) return ['kube-cache', 'kube-cache-relist'].map((name) => missing(name, getCommand('cluster')));
  const server = await cluster.start();
  try {
    const namespace = await server.createNamespace('bench');
    await fill(server, namespace);
    await using proxy = await ApiProxy.start(server.url, server.address.authority);
    const kubeconfig = await server.writeKubeconfig('bench', await adminToken(server, namespace), { server: proxy.url });
    const program = fileURLToPath(new URL('kube-cache.program.ts', import.meta.url));
    const child = spawn(process.execPath, ['--expose-gc', program, kubeconfig], { stdio: ['ignore', 'pipe', 'inherit'] });
    try {
      const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
      const { objects, sent, held } = await readLine<{ objects: number; sent: number; held: number }>(lines);
      if (objects !== 4 * each) throw new Error(`the cache has ${objects} objects`);
      await until('every kind is watched', () => Promise.resolve(proxy.openWatches === 4));
      proxy.sendToWatches('{"type":"ERROR","object":{"kind":"Status","code":410}}\n');
      const { peak } = await readLine<{ peak: number }>(lines);
      return [atMost('kube-cache', held / sent, 0.5), atMost('kube-cache-relist', peak / sent, 0.75)];
    } finally {
      child.kill('SIGKILL');
    }
  } finally {
    await server.stop();
  }
};

const adminToken = async (server: ClusterServer, namespace: string) => {
  const body = {
    metadata: { name: 'bench' },
    roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'cluster-admin' },
    subjects: [{ kind: 'ServiceAccount', name: 'default', namespace }],
  };
  await server.api.send('POST', '/apis/rbac.authorization.k8s.io/v1/clusterrolebindings', { body });
  return await server.createToken(namespace, 'default');
};

const readLine = async <T>(lines: AsyncIterator<string>): Promise<T> => {
  const line = await lines.next();
  if (line.done === true) throw new Error('the program has ended');
  return JSON.parse(line.value) as T;
};
