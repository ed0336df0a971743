import { systemClock } from '@eph/engine/time/system-clock';
import { onTestFinished, vi } from 'vitest';
import type { NodeAccess } from '../../test/parts/node-server.ts';
import { findSharedNode } from '../../test/parts/shared-node.ts';
import { type Cluster, openCluster } from './cluster.ts';
import type { KubeObject } from './object.ts';
import type { PodName } from './pod-path.ts';

export interface TestNode {
  readonly node: NodeAccess;
  readonly cluster: Cluster;
  /** Nobody else's. */
  readonly namespace: string;
  /** Has a shell with its tools, and answers requests on port 8080. */
  readonly image: string;
  /** Makes a pod, and returns it once it is ready. */
  startPod(name: string, spec: PodRequest): Promise<KubeObject>;
  get(pod: PodName): Promise<KubeObject | undefined>;
}

/** Containers by name, each with the script that its shell runs; undefined is what the image runs by itself. */
export interface PodRequest {
  readonly containers: Readonly<Record<string, string | undefined>>;
  readonly labels?: Readonly<Record<string, string>>;
  readonly ports?: readonly object[];
  /** It is ready when it listens there. */
  readonly listensOn?: number;
  readonly restartPolicy?: string;
  readonly graceSeconds?: number;
  /** What its `spec` has instead. */
  readonly pod?: object;
  /** Until when to wait; `Ready` if absent. */
  readonly until?: (pod: KubeObject) => boolean;
}

const { signal } = new AbortController();

/** The shared node, on which pods really run. */
export const openTestNode = async (): Promise<TestNode> => {
  const node = await findSharedNode();
  const namespace = await node.cluster.createNamespace('kube-node');
  const image = await node.loadAnswer('registry.example.com/kube-node', '1', 'apples');
  const cluster = openCluster({
    name: 'node',
    location: { kubeconfig: node.cluster.address.kubeconfig },
    clock: systemClock,
    random: () => 0.01,
  });
  onTestFinished(async () => {
    await cluster[Symbol.asyncDispose]();
    await node.cluster.api.send('DELETE', `/api/v1/namespaces/${namespace}`);
    await node.cluster.api.close();
  });
  const kind = { apiVersion: 'v1', kind: 'Pod' };
  const get = (pod: PodName): Promise<KubeObject | undefined> => cluster.client.get(kind, pod, signal);
  return {
    node,
    cluster,
    namespace,
    image,
    get,
    async startPod(
      name,
      {
        containers,
        labels = {},
        ports = [],
        listensOn,
        restartPolicy = 'Always',
        graceSeconds = 1,
        pod: instead,
        until = isReady,
      },
    ) {
      await cluster.create(
        {
          ...kind,
          metadata: { namespace, name, labels },
          spec: {
            restartPolicy,
            terminationGracePeriodSeconds: graceSeconds,
            containers: Object.entries(containers).map(([container, script]) => ({
              name: container,
              image,
              ...(script !== undefined && { command: ['sh', '-c', script] }),
              ports,
              ...(listensOn !== undefined && { readinessProbe: { tcpSocket: { port: listensOn }, periodSeconds: 1 } }),
            })),
            ...instead,
          },
        },
        signal,
      );
      const find = async (): Promise<KubeObject> => {
        const pod = await get({ namespace, name });
        if (pod !== undefined && until(pod)) return pod;
        throw new Error(`pod ${name} is not as wanted yet: ${JSON.stringify(pod?.['status'])}`);
      };
      return await vi.waitFor(find, { timeout: 60_000, interval: 200 });
    },
  };
};

const isReady = (pod: KubeObject): boolean => {
  const { conditions = [] } = (pod['status'] ?? {}) as { conditions?: readonly { type: string; status: string }[] };
  return conditions.some(({ type, status }) => type === 'Ready' && status === 'True');
};
