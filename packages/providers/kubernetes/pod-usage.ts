import { type ComponentName, type EnvironmentId, isEphError, parseQuantity, type Usage } from '@eph/contract';
import type { Cluster } from '@eph/kube/cluster';
import { listAt, textAt } from '@eph/kube/fields';
import type { ComponentPods } from './component-pods.ts';

/**
 * What the pods of components use now, as the metrics server of the cluster measured it some seconds ago. Empty where a cluster
 * has none. Pods that have just begun are missing until they are measured.
 */
export const readPodUsage = async (
  cluster: { readonly client: Pick<Cluster['client'], 'read'> },
  pods: ComponentPods,
  environment: EnvironmentId,
  components: readonly ComponentName[],
  signal: AbortSignal,
): Promise<ReadonlyMap<ComponentName, Usage>> => {
  const owners = new Map<string, ComponentName>();
  const namespaces = new Set<string>();
  for (const component of components)
    for (const { metadata } of pods.podsOf(environment, component) ?? []) {
      const { namespace = '', name } = metadata;
      owners.set(`${namespace}/${name}`, component);
      namespaces.add(namespace);
    }
  const usage = new Map<ComponentName, Usage>();
  for (const namespace of namespaces)
    for (const metrics of await readMetrics(cluster, namespace, signal)) {
      const component = owners.get(`${namespace}/${textAt(metrics, 'metadata', 'name') ?? ''}`);
      if (component !== undefined) usage.set(component, add(usage.get(component), metrics));
    }
  return usage;
};

const readMetrics = async (
  { client }: { readonly client: Pick<Cluster['client'], 'read'> },
  namespace: string,
  signal: AbortSignal,
): Promise<readonly unknown[]> => {
  const path = `/apis/metrics.k8s.io/v1beta1/namespaces/${encodeURIComponent(namespace)}/pods`;
  try {
    return listAt(await client.read(path, `the metrics of pods in ${namespace}`, signal), 'items');
  } catch (error) {
    // Nobody serves this path.
    if (isEphError(error) && error.code === 'object.missing') return [];
    throw error;
  }
};

const add = (before: Usage | undefined, metrics: unknown): Usage => {
  let cpuCores = before?.cpuCores ?? 0;
  let memoryBytes = before?.memoryBytes ?? 0;
  for (const container of listAt(metrics, 'containers')) {
    cpuCores += parseQuantity(textAt(container, 'usage', 'cpu') ?? '') ?? 0;
    memoryBytes += parseQuantity(textAt(container, 'usage', 'memory') ?? '') ?? 0;
  }
  return { cpuSeconds: null, cpuCores, memoryBytes };
};
