import {
  asList,
  asMap,
  asText,
  at,
  clusterScoped,
  type Identity,
  isWorkload,
  type JsonMap,
  type JsonValue,
  namespacePlaceholder,
  objectKindOf,
  type ResolvedComponent,
  toPointer,
  type WorkloadKind,
} from '@eph/contract';
import type { KubeObject } from '@eph/kube/object';
import { fillVolatile, type VolatileObject } from './fill-volatile.ts';
import { computeSecrets, computeVariableSecret } from './filled-secrets.ts';
import { identityLabels } from './marks.ts';
import { prepareTemplates } from './pod-template.ts';
import { type PreparedMetadata, prepareMetadata } from './prepare-metadata.ts';
import { prepareSecretData } from './secret-data.ts';
import { prepareUpdates } from './update-strategy.ts';
import { type GivenObject, type KubernetesValues, refuse } from './values.ts';

export interface PreparedObjects {
  /** In the order in which they are applied: what a workload needs comes before it. */
  readonly objects: readonly PreparedObject[];
}

export interface PreparedObject {
  readonly object: KubeObject;
  /** JSON pointers into it: where the object exists already, the value that it has there is kept. */
  readonly keep: readonly string[];
}

/** What is known of the environment and its cluster. */
export interface EnvironmentFacts {
  /** Which ephd it belongs to. */
  readonly owner: string;
  readonly identity: Identity;
  readonly namespace: string;
  secretOf(name: string): string | undefined;
  /** Where the environment is reached now. */
  readonly url: string;
  readonly imagePullSecrets: readonly string[];
  /** Of a claim that another component made; undefined where it is not there. */
  accessModesOf(claim: string): readonly string[] | undefined;
}

/**
 * Pure. What is applied of one component, with copies of secrets that it was given. Throws `component.refused` for what would break what
 * Eph writes down.
 */
export const prepareObjects = (
  component: ResolvedComponent,
  values: KubernetesValues,
  facts: EnvironmentFacts,
  copies: readonly KubeObject[] = [],
): PreparedObjects => {
  const isServed = values.objects.some((one) => kindOf(one) === 'Service');
  const context: Context = { component, facts, isServed, isForOnePod: findClaims(values.objects, facts) };
  const variables = computeVariableSecret(component, values, facts);
  const secrets = [...computeSecrets(values, facts), ...copies];
  for (const one of secrets) checkName(one, blameFor(component, one));
  const all = [
    ...[...(variables === undefined ? [] : [variables]), ...secrets].map((one) => ({ object: mark(one, context), keep: [] })),
    ...fillVolatile(component, values).map((one) => prepareObject(one, context)),
  ];
  const keys = new Set<string>();
  for (const { object } of all) {
    const key = `${kindOf(object)}/${object.metadata.name}`;
    if (keys.has(key)) throw blameFor(component, object)('it is there twice; remove one of the two');
    keys.add(key);
  }
  return { objects: all.toSorted((a, b) => rankOf(a.object) - rankOf(b.object)) };
};

const kindOf = ({ apiVersion, kind }: KubeObject): string => objectKindOf({ apiVersion, kind });

type Blame = (why: string) => Error;

const blameFor =
  (component: ResolvedComponent, { kind, metadata }: KubeObject): Blame =>
  (why) =>
    refuse(component, `${kind} ${metadata.name}: ${why}`);

/** An object that Eph makes itself. */
const mark = (object: KubeObject, { component, facts: { owner, identity, namespace } }: Context): KubeObject => ({
  ...object,
  metadata: { name: object.metadata.name, namespace, labels: identityLabels(owner, identity.id, component.name) },
});

interface Context {
  readonly component: ResolvedComponent;
  readonly facts: EnvironmentFacts;
  readonly isServed: boolean;
  readonly isForOnePod: (claim: string) => boolean;
}

const prepareObject = ({ object: given, pointers }: VolatileObject, context: Context): PreparedObject => {
  const { component, facts, isServed, isForOnePod } = context;
  const { owner, identity, namespace } = facts;
  const blame = blameFor(component, given);
  checkPlace(given, namespace, blame);
  const { status: _, ...rest } = asMap(putNamespace(given, namespace));
  const labels = identityLabels(owner, identity.id, component.name);
  const markMetadata = (metadata: JsonMap): PreparedMetadata => prepareMetadata(metadata, labels, blame);
  const name = asText(at(rest, ['metadata', 'name']));
  const metadata = { ...markMetadata(asMap(rest['metadata'])), name, namespace };
  const prepareContent = (): JsonMap => {
    if (kindOf(given) === 'Secret') return prepareSecretData(rest, namespace, blame);
    if (!isWorkloadObject(given)) return rest;
    const podFacts = { budget: component.budget, imagePullSecrets: facts.imagePullSecrets, isServed, mark: markMetadata };
    return prepareUpdates(prepareTemplates(rest, given.kind, podFacts), given.kind, isForOnePod);
  };
  const { apiVersion, kind } = given;
  const object = { ...prepareContent(), apiVersion, kind, metadata };
  checkName(object, blame);
  return { object, keep: keptPointers(object, pointers, namespace) };
};

const checkPlace = (given: GivenObject, namespace: string, blame: Blame): void => {
  if (clusterScoped.has(kindOf(given))) throw blame('it belongs to the whole cluster, which all environments share');
  const written = given.metadata['namespace'] ?? namespacePlaceholder;
  if (written !== namespacePlaceholder && written !== namespace)
    throw blame('it is for another namespace; leave metadata.namespace out, since every environment has its own');
};

/** What Eph itself makes in the namespace of an environment, by kind. */
const ownNames: { readonly [kind: string]: RegExp } = {
  Secret: /^eph-(?:component|env)-/,
  'NetworkPolicy.networking.k8s.io': /^eph-isolation$/,
  ResourceQuota: /^eph-quota$/,
  LimitRange: /^eph-limits$/,
};

const checkName = (object: KubeObject, blame: Blame): void => {
  if (ownNames[kindOf(object)]?.test(object.metadata.name) === true) throw blame('Eph uses this name itself; choose another');
};

/** Everywhere, also in keys. */
const putNamespace = (value: JsonValue, namespace: string): JsonValue => {
  if (typeof value === 'string') return value.replaceAll(namespacePlaceholder, namespace);
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return value.map((one: JsonValue) => putNamespace(one, namespace));
  const entries = Object.entries(value).map(([key, one]): [string, JsonValue] => [
    key.replaceAll(namespacePlaceholder, namespace),
    putNamespace(one, namespace),
  ]);
  return Object.fromEntries(entries);
};

/** Where the values are now. What was taken out of the object is kept nowhere. */
const keptPointers = (object: KubeObject & JsonMap, pointers: VolatileObject['pointers'], namespace: string): readonly string[] =>
  pointers.flatMap((steps) => {
    const written = steps.map((step) => step.replaceAll(namespacePlaceholder, namespace));
    const path = kindOf(object) === 'Secret' && written[0] === 'stringData' ? ['data', ...written.slice(1)] : written;
    return at(object, path) === undefined ? [] : [toPointer(path)];
  });

const findClaims = (objects: readonly GivenObject[], facts: EnvironmentFacts): Context['isForOnePod'] => {
  const own = new Map(
    objects
      .filter((one) => kindOf(one) === 'PersistentVolumeClaim')
      .map((one) => [one.metadata.name, asList(at(one, ['spec', 'accessModes'])).map((mode) => asText(mode))]),
  );
  // Of a claim that is not known: a pod too few for a moment is better than one that never starts.
  return (claim) => {
    const modes = own.get(claim) ?? facts.accessModesOf(claim) ?? [];
    return !modes.includes('ReadWriteMany') && !modes.includes('ReadOnlyMany');
  };
};

/** Others have kinds of the same names. */
const isWorkloadObject = <T extends KubeObject>(object: T): object is T & { readonly kind: WorkloadKind } =>
  isWorkload(object.kind) && ['', '.apps', '.batch'].some((group) => kindOf(object) === `${object.kind}${group}`);

const order = [
  'Secret',
  'ConfigMap',
  'ServiceAccount',
  'Role.rbac.authorization.k8s.io',
  'RoleBinding.rbac.authorization.k8s.io',
  'PersistentVolumeClaim',
  'Service',
  'anything else',
  'HorizontalPodAutoscaler.autoscaling',
  'PodDisruptionBudget.policy',
];

const rankOf = (object: KubeObject): number => {
  if (isWorkloadObject(object)) return order.length;
  const rank = order.indexOf(kindOf(object));
  return rank === -1 ? order.indexOf('anything else') : rank;
};
