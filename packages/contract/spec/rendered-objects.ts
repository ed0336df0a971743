import type { JsonValue } from '../environment.ts';
import type { JsonMap } from '../layers.ts';

/** An object of Kubernetes as a manifest, a kustomization or a chart gives it. */
export interface RenderedObject {
  readonly object: JsonMap;
  /** The file or chart, from the root of the repository. */
  readonly file: string;
  /** Null where only the file is known. */
  readonly line: number | null;
  /** What differs in every rendering, by JSON pointers into the object, where `null` stands in its place. */
  readonly generated?: Generated;
}

/** Values by JSON pointers. */
export type Generated = { readonly [pointer: string]: JsonValue };

/** What files say about one component. */
export interface RenderedObjects {
  /** Its workload first, if it has one. */
  readonly objects: readonly RenderedObject[];
  /** The service, and its port, that get the environment's traffic. */
  readonly entry?: { readonly service: string; readonly port: number | string };
  /** It runs once, before or after the others. */
  readonly hook?: 'before' | 'after';
}

/** What `toObjects` puts into the objects of a component. */
export interface ResolvedValues {
  readonly name: string;
  readonly rendered: RenderedObjects;
  /** After all layers. */
  readonly values: JsonMap;
  /** Variables: text, or a map that names a private value. */
  readonly env: JsonMap;
  /** Variables that go in at a start, as parts. */
  readonly secretEnv: JsonMap;
  /** References with digests, by `image` or `containers.<name>.image`. */
  readonly images: { readonly [slot: string]: string };
  /** Puts variables into the value of a key that is a template. */
  readonly fill: (key: 'kubernetes.context' | 'kubernetes.namespace_template', template: string) => string;
}

export interface ProviderObjects {
  readonly values: JsonMap;
  /** By JSON pointers into `values.objects`: no part of the revision. */
  readonly generated?: Generated;
}

/** Stands for the namespace of the environment in what is rendered, which is the same for all environments of a commit. */
export const namespacePlaceholder = 'eph-environment-namespace';

/** The secret that holds the variables of a component that go in at a start. */
export const variableSecret = (component: string): string => `eph-env-${component}`;

export const workloadKinds = ['Deployment', 'StatefulSet', 'DaemonSet', 'ReplicaSet', 'Job', 'CronJob', 'Pod'] as const;
export type WorkloadKind = (typeof workloadKinds)[number];

const templatePaths: { readonly [kind in WorkloadKind]: readonly string[] } = {
  Deployment: ['spec', 'template'],
  StatefulSet: ['spec', 'template'],
  DaemonSet: ['spec', 'template'],
  ReplicaSet: ['spec', 'template'],
  Job: ['spec', 'template'],
  CronJob: ['spec', 'jobTemplate', 'spec', 'template'],
  Pod: [],
};

export const isWorkload = (kind: unknown): kind is WorkloadKind => workloadKinds.some((one) => one === kind);

/** Where the pods of a workload are described: their metadata and their `spec`. */
export const podTemplatePath = (kind: WorkloadKind): readonly string[] => templatePaths[kind];

/** The container that values without a name mean: the one called as the component, or else the first. */
export const findMainContainer = (containers: readonly JsonValue[], component: string): number => {
  const named = containers.findIndex((one) => asMap(one)['name'] === component);
  return Math.max(named, 0);
};

export const asMap = (value: JsonValue | undefined): JsonMap =>
  typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as JsonMap) : {};

export const asList = (value: JsonValue | undefined): readonly JsonValue[] =>
  Array.isArray(value) ? (value as readonly JsonValue[]) : [];

export const asText = (value: JsonValue | undefined): string => (typeof value === 'string' ? value : '');

export const at = (value: JsonValue | undefined, path: readonly (string | number)[]): JsonValue | undefined =>
  path.reduce<JsonValue | undefined>((inner, key) => {
    if (typeof inner !== 'object' || inner === null || !Object.hasOwn(inner, key)) return undefined;
    return (inner as { readonly [key: string]: JsonValue })[key];
  }, value);

/** A copy with another value at a path, whose maps are made where they are missing; without one, the key goes. */
export const withValue = (
  value: JsonValue | undefined,
  path: readonly (string | number)[],
  changed: JsonValue | undefined,
): JsonValue => {
  const [key, ...rest] = path;
  if (key === undefined) return changed ?? null;
  const isGone = rest.length === 0 && changed === undefined;
  if (Array.isArray(value))
    return value.map((one: JsonValue, index) => (String(index) === String(key) ? withValue(one, rest, changed) : one));
  const map = asMap(value);
  if (isGone || (changed === undefined && !Object.hasOwn(map, key)))
    return Object.fromEntries(Object.entries(map).filter(([one]) => one !== key));
  return { ...map, [key]: withValue(at(map, [key]), rest, changed) };
};

export const toPointer = (path: readonly (string | number)[]): string =>
  path.map((step) => `/${String(step).replaceAll('~', '~0').replaceAll('/', '~1')}`).join('');

/** The steps of a JSON pointer; undefined for what is none. */
export const parsePointer = (pointer: string): readonly string[] | undefined => {
  if (!/^(?:\/(?:[^~]|~[01])*)?$/s.test(pointer)) return undefined;
  const steps = pointer.split('/').slice(1);
  return steps.map((step) => step.replaceAll('~1', '/').replaceAll('~0', '~'));
};
