import { type ComponentName, componentName, type EnvironmentId, environmentId } from '@eph/contract';
import { keepPod } from '@eph/kube/kept-fields';
import { openTestNode, type PodRequest, type TestNode } from '@eph/kube/node-harness.fake';
import type { KubeObject } from '@eph/kube/object';
import type { ComponentPods } from './component-pods.ts';
import { identityLabels, labels } from './marks.ts';

export const environment: EnvironmentId = environmentId('00000000000000aa');
export const web: ComponentName = componentName('web');

export interface TestPods {
  readonly test: TestNode;
  readonly cluster: TestNode['cluster'];
  readonly pods: ComponentPods;
  /** Makes a pod of the component, and waits until it is ready and listed. */
  start(name: string, request: PodRequest): Promise<KubeObject>;
  /** Resolves when the pod is gone. */
  remove(name: string): Promise<void>;
  /** From now on there is no such component. */
  forget(): void;
}

/** One component on the shared node, whose pods are listed as they are. */
export const openTestPods = async (): Promise<TestPods> => {
  const test = await openTestNode();
  const { cluster, namespace } = test;
  const reflector = cluster.reflect({ apiVersion: 'v1', kind: 'Pod', namespace }, keepPod, {
    component: ({ metadata }) => [metadata.labels?.[labels.component] ?? []].flat(),
  });
  const known = new Set<ComponentName>([web]);
  const listeners = new Set<() => void>();
  const announce = (): void => listeners.forEach((changed) => changed());
  reflector.listen(announce);
  const until = async (check: () => boolean): Promise<void> => {
    while (!check()) await new Promise((resolve) => setTimeout(resolve, 50));
  };
  await until(() => reflector.sync.inSync);
  return {
    test,
    cluster,
    pods: {
      podsOf: (asked, component) =>
        asked === environment && known.has(component) ? reflector.cache.by('component', component) : undefined,
      listen: (_environment, changed) => {
        listeners.add(changed);
        return () => void listeners.delete(changed);
      },
    },
    async start(name, request) {
      const pod = await test.startPod(name, { ...request, labels: identityLabels('owner', environment, web) });
      // The list may be a moment behind.
      await until(() => {
        const listed = reflector.cache.get({ namespace, name });
        return listed !== undefined && JSON.stringify(listed['status']).includes('"Ready","status":"True"') === isReady(pod);
      });
      return pod;
    },
    async remove(name) {
      const options = { propagation: 'Background', graceSeconds: 1 } as const;
      await cluster.delete({ apiVersion: 'v1', kind: 'Pod' }, { namespace, name }, options, new AbortController().signal);
      await until(() => reflector.cache.get({ namespace, name }) === undefined);
    },
    forget() {
      known.clear();
      announce();
    },
  };
};

const isReady = (pod: KubeObject): boolean => JSON.stringify(keepPod(pod)['status']).includes('"Ready","status":"True"');
