import {
  type ComponentName,
  type ConfigurationLayers,
  type DeploymentValues,
  type ErrorCode,
  type Failure,
  type Identity,
  type JsonMap,
  type JsonValue,
  type ObservedComponent,
  type Places,
  type ProviderName,
  parseDuration,
  type ResolvedComponent,
  type SecretPart,
  type ServerVariables,
  type Source,
  type Spec,
  type TemplateValues,
} from '@eph/contract';
import { type LayerInput, serviceKind } from './component-layers.ts';
import { distinct, layerAt } from './merged-service.ts';
import type { MergedComponent } from './policy-facts.ts';
import { Preparations, type PreparedComponent } from './prepare.ts';
import type { ForeignOutputs, Surroundings } from './references.ts';
import { computeRevision } from './revision.ts';
import { sourceValues } from './templates.ts';
import { type ResolvedVariable, resolveVariable, type VariableWorld } from './variables.ts';

/** What should be true of one component: all of it, or what it still waits for. */
export type Wish =
  | { readonly state: 'resolved'; readonly component: ResolvedComponent }
  | {
      readonly state: 'waiting';
      readonly name: ComponentName;
      readonly provider: ProviderName;
      readonly code: ErrorCode;
      readonly reason: string;
    };

export interface ComponentInput {
  readonly spec: Spec;
  /** Of `eph.yaml`. */
  readonly places: Places;
  readonly source: Source;
  readonly identity: Identity;
  /** Other names that lead to this environment. */
  readonly aliases?: readonly string[];
  readonly url: string;
  readonly artifact: string;
  readonly observed: readonly ObservedComponent[];
  readonly configuration: ConfigurationLayers;
  /** What the operator lets this project use. */
  readonly variables: ServerVariables;
  /** What the platform adds for templates, such as `registry`. */
  readonly platformValues?: TemplateValues;
  /** What another environment publishes, by its name or alias; undefined when there is none. */
  readonly outputsOf: (namespace: string) => ForeignOutputs | undefined;
  readonly provider: Surroundings['provider'] & { readonly name: ProviderName };
}

export interface ComputedComponents {
  /** In the order of need. Empty when there are faults. */
  readonly wishes: readonly Wish[];
  /** What a person must mend before anything may change. */
  readonly faults: readonly Failure[];
  /** After all layers, for those who set limits. */
  readonly components: readonly MergedComponent[];
  /** Other environments that this one refers to: a change of theirs concerns it. */
  readonly namespaces: readonly string[];
}

/**
 * Every component of an environment, resolved against what is observed now. A reference that cannot resolve yet makes its component
 * wait; what can never be is a fault, and while there is one nothing of the environment is wished to change.
 */
export const computeComponents = (input: ComponentInput, preparations = new Preparations()): ComputedComponents => {
  const { components, faults } = preparations.prepare(input.spec, layerInput(input));
  const world = variableWorld(input);
  const settled = components.map((component) => settle(component, world));
  const found = distinct([...faults, ...settled.flatMap(faultsOf)]);
  return {
    wishes: found.length > 0 ? [] : computeWishes(input, settled),
    faults: found,
    components: components.map(toMerged),
    namespaces: [...new Set(components.flatMap(namespacesOf))],
  };
};

export const layerInput = ({ places, source, configuration }: ComponentInput): LayerInput => ({
  places,
  commit: source.commit,
  configuration,
});

export const variableWorld = (input: ComponentInput): VariableWorld => {
  const { spec, source, identity, aliases = [], url, observed, configuration, variables, platformValues } = input;
  const outputs = new Map(observed.map((one) => [one.name, one.outputs]));
  return {
    builtIn: {
      EPH_PROJECT: source.project,
      EPH_ENVIRONMENT: identity.name,
      EPH_URL: url,
      EPH_COMMIT: source.commit,
      EPH_REF: source.ref.name,
    },
    server: variables,
    template: {
      ...platformValues,
      ...sourceValues(source),
      project: spec.name,
      name: identity.name,
      environment_name: identity.name,
      environment_url: url,
    },
    around: {
      ownNames: [identity.name, ...aliases],
      components: new Set(Object.keys(spec.process?.services ?? {})),
      outputsOf: (component) => outputs.get(component) ?? {},
      platform: configuration.platform.outputs,
      foreign: input.outputsOf,
      provider: input.provider,
    },
  };
};

/** A component with what its variables are in this environment, now. */
interface Settled extends PreparedComponent {
  readonly found: readonly { readonly name: string; readonly variable: ResolvedVariable }[];
}

const settle = (component: PreparedComponent, world: VariableWorld): Settled => ({
  ...component,
  found: component.variables.map((variable) => ({ name: variable.name, variable: resolveVariable(variable, world) })),
});

const faultsOf = ({ found }: Settled): readonly Failure[] =>
  found.flatMap(({ variable }) => (variable.state === 'faulty' ? [variable.fault] : []));

const computeWishes = (input: ComponentInput, components: readonly Settled[]): readonly Wish[] => {
  const observed = new Map(input.observed.map((one) => [one.name, one]));
  const wishes = new Map<ComponentName, Wish>();
  for (const component of components) {
    const obstacle = findObstacle(component, wishes, observed);
    wishes.set(component.name, obstacle === undefined ? resolved(input, component) : waiting(input, component.name, obstacle));
  }
  return [...wishes.values()];
};

const waiting = ({ provider }: ComponentInput, name: ComponentName, reason: string): Wish => ({
  state: 'waiting',
  name,
  provider: provider.name,
  code: 'reference.waiting',
  reason,
});

const resolved = (input: ComponentInput, { name, needs, entry, values, found }: Settled): Wish => {
  const body = {
    name,
    provider: input.provider.name,
    commit: input.source.commit,
    artifact: input.artifact,
    entry,
    dependsOn: [...needs.keys()].toSorted(),
    values: providerValues(values, found),
  };
  return { state: 'resolved', component: { ...body, revision: computeRevision(body) } };
};

/** Keys that provider `process` acts on. Others are merged and shown, and move no revision. */
export const usedKeys: ReadonlySet<string> = new Set(['command', 'directory', 'env', 'ready']);

const providerValues = ({ command, directory, ready }: DeploymentValues, found: Settled['found']): JsonMap => ({
  ...(command === undefined ? {} : { command }),
  ...(directory === undefined ? {} : { directory }),
  env: Object.fromEntries(
    found.flatMap(({ name, variable }): [string, JsonValue][] => {
      if (variable.state === 'private') return [[name, variable.value]];
      return variable.state === 'literal' && variable.secret === undefined ? [[name, variable.value]] : [];
    }),
  ),
  ...secretValues(found),
  ready: ready?.http !== undefined ? { kind: 'http', path: ready.http } : { kind: ready?.none === true ? 'none' : 'tcp' },
  readyTimeoutSeconds: (ready?.timeout === undefined ? undefined : parseDuration(ready.timeout)) ?? 60,
});

/** Providers write down what they are given, so of a secret they are given the name. */
const secretValues = (found: Settled['found']): JsonMap => {
  const secrets = found.flatMap(({ name, variable }): [string, JsonValue][] =>
    variable.state === 'literal' && variable.secret !== undefined ? [[name, variable.secret.map(toJson)]] : [],
  );
  return secrets.length === 0 ? {} : { secretEnv: Object.fromEntries(secrets) };
};

const toJson = (part: string | SecretPart): JsonValue =>
  typeof part === 'string' ? part : { secret: part.secret, ...(part.slice === undefined ? {} : { slice: { ...part.slice } }) };

/** Why a component cannot be what it should be yet. */
const findObstacle = (
  { needs, found }: Settled,
  wishes: ReadonlyMap<ComponentName, Wish>,
  observed: ReadonlyMap<ComponentName, ObservedComponent>,
): string | undefined => {
  for (const [needed, why] of needs) {
    const obstacle = obstacleTo(needed, wishes.get(needed), observed.get(needed));
    if (obstacle !== undefined) return `${why}: ${obstacle}`;
  }
  for (const { variable } of found) if (variable.state === 'waiting') return variable.reason;
  return undefined;
};

/**
 * Why a needed component is not there yet. It has to run the version this very commit asks for: otherwise a dependant would first
 * be started against the old version, and again against the new one.
 */
const obstacleTo = (name: ComponentName, wish: Wish | undefined, seen: ObservedComponent | undefined): string | undefined => {
  if (wish === undefined || wish.state === 'waiting') return `${name} waits itself`;
  if (seen?.current?.revision === wish.component.revision) {
    return seen.current.health === 'ready' ? undefined : `${name} is not ready: ${seen.current.message}`;
  }
  return seen?.next?.health === 'failing' ? `${name} does not get ready: ${seen.next.message}` : `${name} is not ready yet`;
};

const namespacesOf = ({ variables }: PreparedComponent): readonly string[] =>
  variables.flatMap(({ said }) => {
    const namespace = said.kind === 'reference' ? said.reference.namespace : undefined;
    return namespace === undefined || namespace === 'platform' ? [] : [namespace];
  });

const toMerged = ({ name, service, values }: PreparedComponent): MergedComponent => ({
  name,
  kind: serviceKind,
  // Parsed values leave out what is absent.
  values: values as JsonMap,
  where: (path) => {
    const source = layerAt(service, path)?.source;
    const place = source?.place(path);
    return place === undefined ? undefined : `${source?.file}:${place.line}`;
  },
});
