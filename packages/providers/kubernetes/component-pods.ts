import { type ComponentName, type EnvironmentId, EphError } from '@eph/contract';
import { fieldAt, listAt, textAt } from '@eph/kube/fields';
import type { KubeObject } from '@eph/kube/object';
import type { PodName } from '@eph/kube/pod-path';
import { conditionOf } from '@eph/kube/readiness';

/** Which pods run for a component, answered from a cache. */
export interface ComponentPods {
  /** Undefined where there is no such component. */
  podsOf(environment: EnvironmentId, component: ComponentName): readonly KubeObject[] | undefined;
  /** Calls back when pods of a component may have changed. Returns how to stop. */
  listen(environment: EnvironmentId, changed: () => void): () => void;
}

export const requirePods = (pods: ComponentPods, environment: EnvironmentId, component: ComponentName): readonly KubeObject[] => {
  const found = pods.podsOf(environment, component);
  if (found !== undefined) return found;
  throw new EphError('api.not_found', `There is no component ${component} in environment ${environment}.`);
};

export const nameOfPod = ({ metadata: { namespace = '', name } }: KubeObject): PodName => ({ namespace, name });

/** Those that get traffic, newest first. */
export const findReadyPods = (pods: readonly KubeObject[]): readonly KubeObject[] =>
  newestFirst(pods.filter((pod) => !isEnding(pod) && conditionOf(pod, 'Ready')?.status === 'True'));

/** Where none gets traffic, one that does not get ready can be examined. */
export const findRunningPods = (pods: readonly KubeObject[]): readonly KubeObject[] => {
  const ready = findReadyPods(pods);
  return ready.length > 0 ? ready : newestFirst(pods.filter((pod) => !isEnding(pod) && hasRunningContainer(pod)));
};

const isEnding = ({ metadata }: KubeObject): boolean => metadata.deletionTimestamp !== undefined;

const hasRunningContainer = (pod: KubeObject): boolean =>
  listAt(pod, 'status', 'containerStatuses').some((status) => fieldAt(status, 'state', 'running') !== undefined);

const newestFirst = (pods: readonly KubeObject[]): readonly KubeObject[] =>
  pods.toSorted((one, other) => createdAt(other).localeCompare(createdAt(one)));

const createdAt = (pod: KubeObject): string => textAt(pod, 'metadata', 'creationTimestamp') ?? '';
