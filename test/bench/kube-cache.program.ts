import { systemClock } from '@eph/engine/time/system-clock';
import { openCluster } from '@eph/kube/cluster';
import { keepPod, keepSecret, keepService, keepStatus } from '@eph/kube/kept-fields';
import { readHeap, readRestingHeap } from './resting-heap.ts';

/**
 * Keeps the objects of a cluster in memory, and prints how many bytes the API server sent for them and how many its heap holds. Then
 * waits until everything has been listed again, and prints the most that its heap held meanwhile.
 */
const kubeconfig = process.argv[2];
if (kubeconfig === undefined) throw new Error('run with a kubeconfig');

let bytes = 0;
let lists = 0;
let peak = 0;
const cluster = openCluster({
  name: 'bench',
  location: { kubeconfig },
  clock: systemClock,
  random: Math.random,
  observer: {
    // Its page is in memory now.
    requested: ({ verb, bytes: received }) => {
      if (verb !== 'list') return;
      lists += 1;
      bytes += received;
      peak = Math.max(peak, readHeap());
    },
    restarted: () => undefined,
  },
});
for await (const _ of cluster.client.list({ apiVersion: 'v1', kind: 'Namespace' }, new AbortController().signal));
const empty = await readRestingHeap();
bytes = 0;

const labels = { 'eph.io/owner': 'bench' };
const byEnvironment = {
  environment: ({ metadata }: { readonly metadata: { readonly labels?: Readonly<Record<string, string>> } }) =>
    [metadata.labels?.['eph.io/environment'] ?? []].flat(),
};
const reflectors = [
  cluster.reflect({ apiVersion: 'v1', kind: 'Pod', labels }, keepPod, byEnvironment),
  cluster.reflect({ apiVersion: 'v1', kind: 'Service', labels }, keepService, byEnvironment),
  cluster.reflect({ apiVersion: 'apps/v1', kind: 'Deployment', labels }, keepStatus, byEnvironment),
  cluster.reflect({ apiVersion: 'v1', kind: 'Secret', labels }, keepSecret, byEnvironment),
];
const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));
await Promise.all(reflectors.map((one) => one.untilFirstSync(new AbortController().signal)));
for (const { cache } of reflectors) for (const environment of cache.valuesOf('environment')) cache.by('environment', environment);
const objects = reflectors.reduce((sum, { cache }) => sum + cache.size, 0);
const [sent, listed] = [bytes, lists];
const held = (await readRestingHeap()) - empty;
peak = 0;
process.stdout.write(`${JSON.stringify({ objects, sent, held })}\n`);
// The first list was of namespaces.
while (lists < 2 * listed - 1 || reflectors.some(({ sync }) => !sync.inSync)) await pause(50);
process.stdout.write(`${JSON.stringify({ peak: peak - empty })}\n`);
await cluster[Symbol.asyncDispose]();
