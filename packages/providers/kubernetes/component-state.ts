import { createHash } from 'node:crypto';
import {
  type ComponentVersion,
  findMainContainer,
  type Health,
  isWorkload,
  type ObservedComponent,
  type Part,
  type ProviderName,
  revision,
} from '@eph/contract';
import { listAt, numberAt, textAt } from '@eph/kube/fields';
import type { KubeObject } from '@eph/kube/object';
import { findPodTrouble } from '@eph/kube/pod-trouble';
import { computeReadiness, conditionOf } from '@eph/kube/readiness';
import type { Inventory, InventoryService, ObjectReference, RecordedVersion } from './inventory.ts';
import { isSilent, type TrackedObject } from './tracked-object.ts';

/** What the cluster shows of one component. */
export interface ComponentFacts {
  readonly provider: ProviderName;
  readonly inventory: Inventory;
  readonly namespace: string;
  /** Undefined for what is gone, and for what was never read. */
  readonly find: (reference: ObjectReference) => TrackedObject | undefined;
  readonly isRead: (reference: ObjectReference) => boolean;
  readonly pods: readonly KubeObject[];
  /** Where the gateway reaches the entry, if that is known. */
  readonly upstream: string | undefined;
  /** What others changed was put right a moment ago, and is left as it is for now. */
  readonly isTolerant: boolean;
}

/** Pure: which version serves, which is on its way, and how they are. */
export const computeComponent = (facts: ComponentFacts): ObservedComponent => {
  const { provider, inventory, upstream } = facts;
  const { component: name, dependsOn, version, previous, prune } = inventory;
  const serves = hasTakenOver(facts);
  const current = serves ? shownVersion(facts, computeHealth(facts)) : previousVersion(facts, previous);
  return {
    name,
    provider,
    entry: inventory.entry !== null,
    dependsOn,
    current,
    next: serves ? null : version.complete ? shownVersion(facts, computeHealth(facts)) : halfVersion(version),
    retiring: serves && prune.length > 0,
    upstream: current === null ? null : (upstream ?? null),
    outputs: current === null ? {} : computeOutputs(facts),
  };
};

/** A half must not look like what is wanted, whatever is wanted: then somebody makes it whole. */
const halfVersion = ({ complete: _, served: __, ...version }: Inventory['version']): ComponentVersion => ({
  ...version,
  revision: otherRevision(version.revision, 'half'),
  health: 'starting',
  message: 'it was begun and not finished',
});

const shownVersion = (facts: ComponentFacts, { health, message, since, isOver }: HealthFacts): ComponentVersion => {
  const { complete: _, served: __, ...version } = facts.inventory.version;
  const drift = facts.isTolerant ? undefined : findDrift(facts);
  return {
    ...version,
    ...(since !== undefined && { since }),
    ...(drift !== undefined && { revision: otherRevision(version.revision, drift), drift }),
    health,
    message,
    ...(isOver && { stalled: true as const }),
  };
};

/** The pods of the version before serve on, because a rolling update takes none of them away before another is ready. */
const previousVersion = ({ inventory, find }: ComponentFacts, previous: RecordedVersion | null): ComponentVersion | null => {
  if (previous === null) return null;
  const [workload] = inventory.objects;
  const live = workload === undefined ? undefined : find(workload);
  // Nothing of it is left.
  if (live === undefined) return null;
  const isServing = isAvailable(live);
  return {
    ...previous,
    health: isServing ? 'ready' : 'failing',
    message: isServing ? '' : `no pod of ${inventory.component} is available`,
  };
};

const otherRevision = (of: string, why: string): ComponentVersion['revision'] =>
  revision(createHash('sha256').update(`${of}\n${why}`).digest('hex').slice(0, 40));

/** In words: which object differs from what Eph applied. Undefined where none does, or nobody knows. */
export const findDrift = ({
  inventory,
  find,
  isRead,
}: Pick<ComponentFacts, 'inventory' | 'find' | 'isRead'>): string | undefined => {
  if (!inventory.version.complete) return undefined;
  for (const reference of inventory.objects) {
    const live = find(reference);
    if (live === undefined && !isRead(reference)) continue;
    if (live === undefined) return `${print(reference)} is gone`;
    // A deletion that is under way is not undone by applying the object again, but has to be waited for.
    if (live.metadata.deletionTimestamp !== undefined) return `${print(reference)} is being removed`;
    if (reference.fields !== undefined && live.applied !== reference.fields) return `${print(reference)} was changed`;
  }
  return undefined;
};

export const print = ({ kind, name }: ObjectReference): string => `${kind} ${name}`;

/** Whether the version has the traffic, or did what it is for. */
const hasTakenOver = (facts: Pick<ComponentFacts, 'inventory' | 'find' | 'isRead' | 'pods'>): boolean => {
  const { inventory, find } = facts;
  if (!inventory.version.complete) return false;
  if (inventory.version.served === true) return true;
  const live = inventory.objects.flatMap((reference) => find(reference) ?? []).find(({ kind }) => isWorkload(kind));
  const rollout = live === undefined ? undefined : isRolledOut(live);
  return rollout ?? computeHealth(facts).health === 'ready';
};

/** Whether the present template has replaced every other, which stays so whatever happens to single pods later. Undefined where nothing says. */
const isRolledOut = (workload: KubeObject): boolean | undefined => {
  const status = (field: string): number => numberAt(workload, 'status', field) ?? 0;
  if (status('observedGeneration') < (workload.metadata.generation ?? 0)) return false;
  switch (workload.kind) {
    case 'Deployment': {
      const progressing = conditionOf(workload, 'Progressing');
      if (progressing === undefined) return undefined;
      return progressing.status === 'True' && progressing.reason === 'NewReplicaSetAvailable';
    }
    case 'StatefulSet':
      return (
        textAt(workload, 'status', 'currentRevision') === textAt(workload, 'status', 'updateRevision') && isAvailable(workload)
      );
    case 'DaemonSet':
      return status('updatedNumberScheduled') >= status('desiredNumberScheduled') && isAvailable(workload);
    default:
      return undefined;
  }
};

/** At least one pod serves, where there is to be one at all. */
const isAvailable = (workload: KubeObject): boolean => {
  const [available, wanted] =
    workload.kind === 'DaemonSet'
      ? [numberAt(workload, 'status', 'numberAvailable'), numberAt(workload, 'status', 'desiredNumberScheduled')]
      : [numberAt(workload, 'status', 'availableReplicas'), numberAt(workload, 'spec', 'replicas')];
  return (available ?? 0) >= Math.min(1, wanted ?? 1);
};

interface HealthFacts {
  readonly health: Health;
  /** Empty when it is ready. */
  readonly message: string;
  readonly since?: string | undefined;
  /** Nothing is tried again. */
  readonly isOver?: true;
}

/** Services, claims and autoscalers are what they are: some wait for pods, and some for what the cluster does not have. */
const uncounted: ReadonlySet<string> = new Set(['PersistentVolumeClaim', 'HorizontalPodAutoscaler']);

const computeHealth = ({
  inventory,
  find,
  isRead,
  pods,
}: Pick<ComponentFacts, 'inventory' | 'find' | 'isRead' | 'pods'>): HealthFacts => {
  const counted = inventory.objects.filter((one) => !isSilent(one) && !uncounted.has(one.kind));
  const all = counted.map((reference) => {
    const live = find(reference);
    if (live !== undefined || isRead(reference)) return healthOf(reference, live, inventory, pods);
    return { health: 'starting', message: `${print(reference)} has not been read yet` } as const satisfies HealthFacts;
  });
  const worst = all.find(({ health }) => health === 'failing') ?? all.find(({ health }) => health === 'starting');
  return worst ?? { health: 'ready', message: '', since: all.find(({ since }) => since !== undefined)?.since };
};

const healthOf = (
  reference: ObjectReference,
  live: TrackedObject | undefined,
  { version }: Inventory,
  pods: readonly KubeObject[],
): HealthFacts => {
  // It is made again, or the rest follows it.
  if (live === undefined) return { health: 'starting', message: `${print(reference)} is gone` };
  // It served before and was returned to: its pods are there, whatever became of the version between.
  if (version.served === true && isAvailable(live) && live.kind === 'Deployment') return { health: 'ready', message: '' };
  const readiness = computeReadiness(live);
  const reason = `${print(reference)}: ${readiness.reason.replace(/\.$/, '')}`;
  switch (readiness.state) {
    case 'ready':
      return { health: 'ready', message: '', since: readySince(live) };
    // What comes after depends on what is wanted.
    case 'removing':
      return { health: 'starting', message: reason };
    case 'failed':
      return { health: 'failing', message: troubleOf(pods) ?? reason, ...(live.kind === 'Job' && { isOver: true }) };
    case 'progressing': {
      const trouble = isWorkload(live.kind) ? troubleOf(pods) : undefined;
      if (trouble !== undefined) return { health: 'failing', message: trouble };
      const isLost = isRolledOut(live) === true && !isAvailable(live);
      return { health: isLost ? 'failing' : 'starting', message: reason };
    }
  }
};

/** As the cluster has it, so that it is the same after a restart. */
const readySince = (live: KubeObject): string | undefined => {
  const type = live.kind === 'Deployment' ? 'Progressing' : live.kind === 'Job' ? 'Complete' : undefined;
  const found = listAt(live, 'status', 'conditions').find((one) => textAt(one, 'type') === type);
  const time = textAt(found, type === 'Progressing' ? 'lastUpdateTime' : 'lastTransitionTime');
  return time === undefined ? undefined : new Date(time).toISOString();
};

const troubleOf = (pods: readonly KubeObject[]): string | undefined => {
  for (const pod of pods) {
    const trouble = findPodTrouble(pod);
    if (trouble !== undefined) return trouble.sentence.replace(/\.$/, '');
  }
  return undefined;
};

/** The same for every version: the address of a Service does not change with what is behind it. */
const computeOutputs = ({ inventory, namespace }: ComponentFacts): ObservedComponent['outputs'] => {
  const { entry, services } = inventory;
  const service = services.find(({ name }) => name === entry?.service) ?? services[0];
  const port = service === undefined ? undefined : portOf(service, entry?.service === service.name ? entry.port : undefined);
  if (service === undefined) return {};
  const host = `${service.name}.${namespace}.svc`;
  return port === undefined ? { host } : { host, port: String(port.port), url: `http://${host}:${port.port}` };
};

export const portOf = (
  { ports }: InventoryService,
  wanted: number | string | undefined,
): InventoryService['ports'][number] | undefined =>
  wanted === undefined ? ports[0] : ports.find(({ name, port }) => port === wanted || name === wanted);

/** What runs for a component, newest first. */
export const computeParts = (component: string, pods: readonly KubeObject[]): readonly Part[] =>
  pods
    .toSorted((a, b) => ((a.metadata.creationTimestamp ?? '') < (b.metadata.creationTimestamp ?? '') ? 1 : -1))
    .map((pod) => {
      const statuses = ['initContainerStatuses', 'containerStatuses'].flatMap((list) => listAt(pod, 'status', list));
      const containers = listAt(pod, 'spec', 'containers');
      const main = containers[findMainContainer(containers as Parameters<typeof findMainContainer>[0], component)];
      return {
        instance: pod.metadata.name,
        image: textAt(main, 'image') ?? null,
        restarts: statuses.reduce<number>((sum, status) => sum + (numberAt(status, 'restartCount') ?? 0), 0),
        message: messageOf(pod),
      };
    });

const messageOf = (pod: KubeObject): string => {
  const trouble = findPodTrouble(pod);
  if (trouble !== undefined) return trouble.sentence;
  const { state, reason } = computeReadiness(pod);
  return state === 'ready' ? '' : reason;
};
