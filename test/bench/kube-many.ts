import { readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { ImageRegistry } from '../e2e/image-registry.ts';
import { cluster } from '../parts/cluster.ts';
import type { ClusterServer } from '../parts/cluster-server.ts';
import { HollowNode } from '../parts/hollow-node.ts';
import { getCommand } from '../parts/part.ts';
import { registry } from '../parts/registry.ts';
import { skopeo } from '../parts/skopeo.ts';
import { type RunningEphd, until } from './bench-ephd.ts';
import { atMost, type Figure, median, missing } from './figure.ts';
import { countRequests, KubeSite, objectCount, objectsOf, writes } from './kube-site.ts';

const count = 200;
const rounds = 3;
/** How many requests ephd has under way at once, at most. */
const atOnce = 32;
const idlePasses = 5;
const figures = ['kube-200', 'kube-writes', 'kube-idle-calls', 'kube-restart-calls'] as const;

const timed = async (work: () => Promise<unknown>): Promise<number> => {
  const start = performance.now();
  await work();
  return performance.now() - start;
};

const places: Readonly<Record<string, string>> = {
  Deployment: 'apis/apps/v1/namespaces/<namespace>/deployments',
  Service: 'api/v1/namespaces/<namespace>/services',
  ConfigMap: 'api/v1/namespaces/<namespace>/configmaps',
  Secret: 'api/v1/namespaces/<namespace>/secrets',
  ServiceAccount: 'api/v1/namespaces/<namespace>/serviceaccounts',
  PodDisruptionBudget: 'apis/policy/v1/namespaces/<namespace>/poddisruptionbudgets',
};

/** The same objects by hand, without looking at anything, and so many small ones more that there are as many writes. */
const writeByHand = async ({ api }: ClusterServer, image: string, writesEach: number): Promise<void> => {
  const apply = (path: string, body: object): Promise<unknown> =>
    api.send('PATCH', `/${path}?fieldManager=bench&force=true`, { patch: 'apply-patch+yaml', body });
  const write = async (namespace: string): Promise<void> => {
    await apply(`api/v1/namespaces/${namespace}`, { apiVersion: 'v1', kind: 'Namespace', metadata: { name: namespace } });
    const objects = objectsOf(image);
    const more = Array.from({ length: writesEach - objects.length - 1 }, (_, index) => ({
      apiVersion: 'v1',
      kind: 'Secret',
      metadata: { name: `more-${Math.floor(index / 2)}` },
      stringData: { inventory: `${index}`.repeat(200) },
    }));
    for (const one of [...objects, ...more])
      await apply(`${places[one.kind]?.replace('<namespace>', namespace)}/${one.metadata.name}`, one);
  };
  const names = Array.from({ length: count }, (_, index) => `by-hand-${index}`).values();
  await Promise.all(
    Array.from({ length: atOnce }, async () => {
      for (const name of names) await write(name);
    }),
  );
};

interface DeploymentList {
  readonly items: readonly {
    readonly metadata: { readonly namespace: string };
    readonly status: { readonly availableReplicas?: number };
  }[];
}

const untilAvailable = ({ api }: ClusterServer): Promise<void> =>
  until(
    'deployments by hand',
    async () => {
      const { items } = await api.send<DeploymentList>('GET', '/apis/apps/v1/deployments');
      const own = items.filter(
        ({ metadata, status }) => metadata.namespace.startsWith('by-hand-') && status.availableReplicas === 1,
      );
      return own.length === 2 * count;
    },
    200,
  );

const readyCount = async (ephd: RunningEphd): Promise<number> =>
  Number(/^eph_environments\{phase="Ready"\} (\d+)$/m.exec(await ephd.metrics())?.[1] ?? 0);

const untilReady = (ephd: RunningEphd): Promise<void> =>
  until(`${count} environments`, async () => (await readyCount(ephd)) === count, 200);

/** Another text once anything was rendered. What is only read gets another time. */
const renderings = (folder: string): string =>
  readdirSync(folder, { recursive: true })
    .map(String)
    .toSorted()
    .map((path) => `${path} ${statSync(join(folder, path)).ino}`)
    .join('\n');

const passes = async (ephd: RunningEphd): Promise<number> =>
  Number(/^eph_pass_duration_seconds_count (\d+)$/m.exec(await ephd.metrics())?.[1] ?? 0);

/** What is asked of the cluster in passes over environments that are as they should be. */
const measureIdle = async (ephd: RunningEphd, renderFolder: string): Promise<number> => {
  const asked = ['list', ...writes];
  const rendered = renderings(renderFolder);
  const before = await countRequests(ephd, asked);
  for (let pass = 0; pass < idlePasses; pass += 1) {
    const done = await passes(ephd);
    const response = await fetch(`${ephd.apiUrl}/hooks/git?project=shop`, { method: 'POST', headers: ephd.headers });
    if (!response.ok) throw new Error(`no pass: ${response.status}`);
    await until('a pass', async () => (await passes(ephd)) > done, 50);
  }
  return (await countRequests(ephd, asked)) - before + (renderings(renderFolder) === rendered ? 0 : 1);
};

/** Many environments at once, and what they cost when they are there. */
export const measureKubeMany = async (): Promise<readonly Figure[]> => {
  if (![cluster, registry, skopeo].every((part) => part.find().found))
    return figures.map((name) => missing(name, getCommand('cluster', 'registry', 'skopeo')));
  await using images = await ImageRegistry.start();
  const image = await images.publish('acme/web', 'one');
  const byEphd: Awaited<ReturnType<typeof measureEphd>>[] = [];
  const byHand: number[] = [];
  for (let round = 0; round < rounds; round += 1) {
    const measured = await measureEphd(images.host, image);
    byEphd.push(measured);
    byHand.push(await measureByHand(image, Math.round(measured.written / count)));
  }
  const most = (figure: 'written' | 'idle' | 'again'): number => Math.max(...byEphd.map((one) => one[figure]));
  return [
    atMost('kube-200', median(byEphd.map(({ made }) => made)) / median(byHand), 1.3),
    atMost('kube-writes', most('written') / (count * objectCount), 2.5, 'writes'),
    atMost('kube-idle-calls', most('idle'), 0, 'calls'),
    atMost('kube-restart-calls', most('again'), 0, 'calls'),
  ];
};

/** Each has a cluster that nobody has used: what is being removed would slow down what comes after. */
const startCluster = async (stack: AsyncDisposableStack): Promise<ClusterServer> => {
  const server = await cluster.start();
  stack.defer(() => server.stop());
  const hollow = await HollowNode.start(server);
  stack.defer(() => hollow.stop());
  return server;
};

const measureEphd = async (registryHost: string, image: string) => {
  await using stack = new AsyncDisposableStack();
  const server = await startCluster(stack);
  const site = stack.use(new KubeSite({ kubeconfig: server.kubeconfig, registry: registryHost, image }));
  const first = await site.start();
  stack.defer(() => first.stop());
  const made = await timed(async () => {
    site.change('create', 0, count);
    await untilReady(first);
  });
  const written = await countRequests(first, writes);
  const idle = await measureIdle(first, site.renderFolder);
  await first.stop();

  const rendered = renderings(site.renderFolder);
  const second = await site.start();
  stack.defer(() => second.stop());
  await untilReady(second);
  const again = (await countRequests(second, writes)) + (renderings(site.renderFolder) === rendered ? 0 : 1);
  return { made, written, idle, again };
};

const measureByHand = async (image: string, writesEach: number): Promise<number> => {
  await using stack = new AsyncDisposableStack();
  const server = await startCluster(stack);
  return await timed(async () => {
    await writeByHand(server, image, writesEach);
    await untilAvailable(server);
  });
};
