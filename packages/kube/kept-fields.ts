import { fieldAt, keepFields, listAt } from './fields.ts';
import { isRecord, type KubeObject, type ObjectMeta } from './object.ts';

/**
 * What is kept of objects in caches: names, labels, and what `readiness.ts`, `pod-trouble.ts` and logs read. A resource version is not
 * among it: objects whose kept fields are equal are the same.
 */
const metaFields = [
  'name',
  'namespace',
  'uid',
  'generation',
  'labels',
  'annotations',
  'creationTimestamp',
  'deletionTimestamp',
  'finalizers',
  'ownerReferences',
] as const satisfies readonly (keyof ObjectMeta)[];

/** Copies of whole objects that others leave in annotations. */
const bulky = ['kubectl.kubernetes.io/last-applied-configuration'];

const keepMeta = (metadata: ObjectMeta): ObjectMeta => {
  const kept = keepFields(metadata, ...metaFields) ?? {};
  const { annotations } = metadata;
  if (annotations !== undefined && bulky.some((name) => Object.hasOwn(annotations, name)))
    kept['annotations'] = Object.fromEntries(Object.entries(annotations).filter(([name]) => !bulky.includes(name)));
  const owners = metadata.ownerReferences;
  if (owners !== undefined)
    kept['ownerReferences'] = owners.map((owner) => keepFields(owner, 'kind', 'name', 'uid', 'controller'));
  return { ...kept, name: metadata.name };
};

const keepObject = (object: KubeObject, more: Readonly<Record<string, unknown>>): KubeObject => {
  const kept: Record<string, unknown> = {};
  for (const [field, value] of Object.entries(more)) if (value !== undefined) kept[field] = value;
  return { ...kept, apiVersion: object.apiVersion, kind: object.kind, metadata: keepMeta(object.metadata) };
};

/** For kinds of which only the existence counts. */
export const keepMetadata = (object: KubeObject): KubeObject => keepObject(object, {});

/** For Deployments, StatefulSets, DaemonSets, ReplicaSets, Jobs, claims, autoscalers, namespaces and whatever has conditions. */
export const keepStatus = (object: KubeObject): KubeObject =>
  keepObject(object, {
    spec: keepFields(object['spec'], 'replicas', 'completions', 'scaleTargetRef', 'updateStrategy', 'accessModes'),
    status: keepConditions(object['status'], undefined, ['lastTransitionTime', 'lastUpdateTime']),
  });

export const keepService = (object: KubeObject): KubeObject =>
  keepObject(object, {
    spec: keepFields(object['spec'], 'type', 'clusterIP', 'ports'),
    status: keepFields(object['status'], 'loadBalancer'),
  });

/** With the whole data: for the few Secrets that Eph writes itself. */
export const keepSecret = (object: KubeObject): KubeObject => keepObject(object, { type: object['type'], data: object['data'] });

/** The others only say how far the pod is until it is ready. */
const podConditions = new Set(['Ready', 'PodScheduled']);

export const keepPod = (object: KubeObject): KubeObject => {
  const { spec, status } = object;
  return keepObject(object, {
    spec: isRecord(spec)
      ? {
          ...keepFields(spec, 'nodeName'),
          ...eachOf(spec, ['initContainers', 'containers', 'ephemeralContainers'], (one) =>
            keepFields(one, 'name', 'image', 'ports'),
          ),
        }
      : undefined,
    status: isRecord(status)
      ? {
          ...keepFields(keepConditions(status, podConditions), 'phase', 'podIP', 'startTime', 'reason', 'message', 'conditions'),
          ...eachOf(status, ['initContainerStatuses', 'containerStatuses', 'ephemeralContainerStatuses'], (one) =>
            keepFields(one, 'name', 'image', 'imageID', 'ready', 'restartCount', 'started', 'state', 'lastState'),
          ),
        }
      : undefined,
  });
};

const eachOf = (
  value: unknown,
  lists: readonly string[],
  keep: (item: unknown) => Record<string, unknown> | undefined,
): Record<string, unknown> => {
  const kept: Record<string, unknown> = {};
  for (const list of lists) {
    const items = listAt(value, list);
    if (items.length > 0) kept[list] = items.flatMap((item) => keep(item) ?? []);
  }
  return kept;
};

/** Without the times at which somebody looked, which change although nothing else does. */
const keepConditions = (
  status: unknown,
  types?: ReadonlySet<unknown>,
  times: readonly string[] = [],
): Record<string, unknown> | undefined => {
  if (!isRecord(status)) return undefined;
  const conditions = listAt(status, 'conditions')
    .filter((condition) => types === undefined || types.has(fieldAt(condition, 'type')))
    .flatMap((condition) => keepFields(condition, 'type', 'status', 'observedGeneration', 'reason', 'message', ...times) ?? []);
  const numbers = Object.entries(status).filter(([, value]) => typeof value === 'number' || typeof value === 'string');
  return { ...Object.fromEntries(numbers), ...(conditions.length === 0 ? {} : { conditions }) };
};
