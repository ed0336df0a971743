import type { EnvironmentView } from '@eph/contract';
import { isVersioned } from '../e2e/cluster-app.ts';
import type { ClusterApi } from '../parts/cluster-api.ts';

/** What should be in the cluster for one branch, according to Git. */
export interface ExpectedObjects {
  readonly branch: string;
  readonly commit: string;
  readonly version: string;
  readonly objects: readonly { readonly kind: string; readonly metadata: { readonly name: string } }[];
}

interface Metadata {
  readonly name: string;
  readonly namespace: string;
  readonly uid: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly annotations?: Readonly<Record<string, string>>;
  readonly deletionTimestamp?: string;
}

interface ListedObject {
  readonly kind: string;
  readonly metadata: Metadata;
  readonly data?: Readonly<Record<string, string>>;
}

export interface ListedPod extends ListedObject {
  readonly spec: {
    readonly containers: readonly { readonly env?: readonly { readonly name: string; readonly value?: string }[] }[];
  };
  readonly status: {
    readonly phase: string;
    readonly conditions?: readonly { readonly type: string; readonly status: string }[];
  };
}

/** A namespace of an environment, with the branch that it is for. */
export interface EnvironmentNamespace {
  readonly name: string;
  readonly uid: string;
  readonly environment: string;
  readonly branch: string;
  readonly isGoing: boolean;
}

export interface ClusterState {
  readonly namespaces: readonly EnvironmentNamespace[];
  readonly objects: readonly ListedObject[];
  readonly pods: readonly ListedPod[];
}

const kinds = {
  Deployment: 'apis/apps/v1/deployments',
  StatefulSet: 'apis/apps/v1/statefulsets',
  Job: 'apis/batch/v1/jobs',
  Service: 'api/v1/services',
  ConfigMap: 'api/v1/configmaps',
} as const;

const list = async <T>(api: ClusterApi, path: string, owner: string): Promise<readonly T[]> =>
  (await api.send<{ readonly items: readonly T[] }>('GET', `/${path}?labelSelector=eph.io%2Fowner%3D${owner}`)).items;

export const readNamespaces = async (api: ClusterApi, owner: string): Promise<readonly EnvironmentNamespace[]> =>
  (await list<ListedObject>(api, 'api/v1/namespaces', owner)).map(({ metadata }) => {
    const { source } = JSON.parse(metadata.annotations?.['eph.io/identity'] ?? '{}') as {
      readonly source?: { readonly name: string };
    };
    return {
      name: metadata.name,
      uid: metadata.uid,
      environment: metadata.labels['eph.io/environment'] ?? '',
      branch: source?.name ?? '',
      isGoing: metadata.deletionTimestamp !== undefined,
    };
  });

export const readPods = (api: ClusterApi, owner: string): Promise<readonly ListedPod[]> => list(api, 'api/v1/pods', owner);

export const readClusterState = async (api: ClusterApi, owner: string): Promise<ClusterState> => ({
  namespaces: await readNamespaces(api, owner),
  objects: (
    await Promise.all(
      Object.entries(kinds).map(async ([kind, path]) =>
        (await list<ListedObject>(api, path, owner)).map((one) => ({ ...one, kind })),
      ),
    )
  ).flat(),
  pods: await readPods(api, owner),
});

/** What a pod is for: the same twice is one too many, except of tasks, which may be tried again. */
export const workOf = ({ metadata, spec }: ListedPod): string => {
  const version = spec.containers[0]?.env?.find(({ name }) => name === 'VERSION')?.value;
  return `${metadata.labels['eph.io/component']} of ${metadata.namespace} at version ${version}`;
};

export const isTask = ({ metadata }: ListedPod): boolean => metadata.labels['job-name'] !== undefined;

export const isLive = ({ metadata }: { readonly metadata: Metadata }): boolean => metadata.deletionTimestamp === undefined;

/** How one branch differs from what Git says, as sentences. */
export const findShortcomings = (
  { branch, commit, version, objects }: ExpectedObjects,
  { namespaces, objects: present, pods }: ClusterState,
  environments: readonly EnvironmentView[],
): readonly string[] => {
  const view = environments.find((one) => one.source.name === branch);
  const [namespace, ...more] = namespaces.filter((one) => one.branch === branch);
  if (view === undefined) return [`${branch} has no environment`];
  if (namespace === undefined || more.length > 0 || namespace.isGoing)
    return [`${branch} has ${namespace === undefined ? 'no' : 'more than one'} namespace, or one that is going`];
  const here = (one: ListedObject): boolean => one.metadata.namespace === namespace.name && isLive(one);
  const shortcomings: string[] = [];
  if (view.commit !== commit) shortcomings.push(`${branch} is said to be at ${view.commit}, not at ${commit}`);
  if (view.phase !== 'Ready') shortcomings.push(`${branch} is ${view.phase}: ${view.summary}`);
  for (const { kind, metadata } of objects) {
    const found = present.filter(here).find((one) => one.kind === kind && one.metadata.name === metadata.name);
    if (found === undefined) shortcomings.push(`${branch} has no ${kind} ${metadata.name}`);
    if (kind === 'ConfigMap' && found?.data?.['version'] !== version)
      shortcomings.push(`${kind} ${metadata.name} of ${branch} is of version ${found?.data?.['version']}, not ${version}`);
    const work = `${metadata.name} of ${namespace.name} at version ${version}`;
    const running = pods.filter(here).filter((pod) => workOf(pod) === work && (isTask(pod) || isReady(pod)));
    if (isVersioned({ kind }) && running.length !== 1)
      shortcomings.push(`${branch} has ${running.length} pods for ${work}, not 1`);
  }
  return shortcomings;
};

const isReady = ({ status }: ListedPod): boolean =>
  status.conditions?.some(({ type, status: is }) => type === 'Ready' && is === 'True') === true;

/** What exists without a branch that asks for it. */
export const findOrphanedObjects = (
  expected: readonly ExpectedObjects[],
  { namespaces, objects, pods }: ClusterState,
  environments: readonly EnvironmentView[],
): readonly string[] => {
  const wanted = new Map(expected.map((one) => [one.branch, one]));
  const branches = new Map(namespaces.map(({ name, branch }) => [name, branch]));
  const isWanted = ({ kind, metadata }: ListedObject): boolean => {
    const own = wanted.get(branches.get(metadata.namespace) ?? '');
    return own?.objects.some((one) => one.kind === kind && one.metadata.name === metadata.name) === true;
  };
  const isOfVersion = (pod: ListedPod): boolean => {
    const own = wanted.get(branches.get(pod.metadata.namespace) ?? '');
    return workOf(pod).endsWith(` at version ${own?.version}`);
  };
  const print = ({ kind, metadata }: ListedObject): string =>
    `${kind} ${metadata.name} in namespace ${metadata.namespace} is left`;
  return [
    ...namespaces.filter(({ branch }) => !wanted.has(branch)).map(({ name, branch }) => `namespace ${name} of ${branch} is left`),
    ...objects.filter((one) => !isWanted(one)).map(print),
    ...pods.filter((pod) => !isOfVersion(pod)).map((pod) => print({ ...pod, kind: 'Pod' })),
    ...environments.filter((one) => !wanted.has(one.source.name)).map((one) => `ephd still shows ${one.source.name}`),
  ];
};
