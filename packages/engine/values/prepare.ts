import {
  type ComponentName,
  type ConfigurationLayers,
  componentName,
  type DeploymentValues,
  deploymentValues,
  type Failure,
  failure,
  type Spec,
  toFailure,
} from '@eph/contract';
import { type LayerInput, ServiceLayers } from './component-layers.ts';
import { distinct, findServiceFaults, type MergedService, mergeService, readVariables, type Variable } from './merged-service.ts';
import { type GraphNode, orderByNeed } from './order.ts';
import { Resolutions } from './resolution.ts';

/** A component with all that its environment has no part in. */
export interface PreparedComponent extends GraphNode {
  readonly service: MergedService;
  readonly values: DeploymentValues;
  readonly variables: readonly Variable[];
  readonly entry: boolean;
}

/** What all environments of one `eph.yaml` under one configuration have in common. */
export interface Preparation {
  /** In the order of need. Empty when there are faults. */
  readonly components: readonly PreparedComponent[];
  readonly faults: readonly Failure[];
}

interface Kept {
  readonly layers: ServiceLayers;
  readonly resolutions: Resolutions;
  readonly components: Map<ComponentName, PreparedComponent>;
  last: { readonly configuration: ConfigurationLayers; readonly preparation: Preparation } | undefined;
}

/**
 * Prepares components, and remembers them for as long as somebody has their spec: for all its environments this is done once, and
 * again only for the components that a change of the configuration concerns. All of it can be lost at any moment.
 */
export class Preparations {
  readonly #kept = new WeakMap<Spec, Kept>();

  prepare(spec: Spec, input: LayerInput): Preparation {
    const kept = this.#keep(spec);
    if (kept.last?.configuration === input.configuration) return kept.last.preparation;
    const preparation = prepareAll(spec, this.merge(spec, input), kept.components);
    kept.last = preparation.faults.length === 0 ? { configuration: input.configuration, preparation } : undefined;
    return preparation;
  }

  /** In the order of the file. */
  merge(spec: Spec, input: LayerInput): readonly MergedService[] {
    const { layers, resolutions } = this.#keep(spec);
    return Array.from(layers.compose(input), ([name, own]) =>
      mergeService(componentName(name), own, resolutions.resolve(name, own.layers)),
    );
  }

  #keep(spec: Spec): Kept {
    let kept = this.#kept.get(spec);
    if (kept === undefined) {
      kept = { layers: new ServiceLayers(spec), resolutions: new Resolutions(), components: new Map(), last: undefined };
      this.#kept.set(spec, kept);
    }
    return kept;
  }
}

const prepareAll = (spec: Spec, merged: readonly MergedService[], known: Map<ComponentName, PreparedComponent>): Preparation => {
  const isKnown = ({ name, resolution }: MergedService): boolean => known.get(name)?.service.resolution === resolution;
  const faults = merged.flatMap((service) => (isKnown(service) ? [] : findServiceFaults(service)));
  if (merged.length === 0) return { components: [], faults: [withoutServices(spec)] };
  if (faults.length > 0) return { components: [], faults: distinct(faults) };
  const services = spec.process?.services ?? {};
  const entry = Object.keys(services).find((name) => services[name]?.entry === true) ?? Object.keys(services)[0];
  const names = new Set<string>(Object.keys(services));
  for (const service of merged) {
    const { name } = service;
    const dependsOn = services[name]?.depends_on ?? [];
    if (!isKnown(service)) known.set(name, { ...prepareOne(service, dependsOn, names), entry: name === entry });
  }
  try {
    return { components: orderByNeed(merged.flatMap(({ name }) => known.get(name) ?? [])), faults: [] };
  } catch (error) {
    return { components: [], faults: [toFailure(error)] };
  }
};

/** Nothing to make is no wish that nothing be there. */
const withoutServices = ({ providers }: Spec): Failure =>
  failure('feature.unavailable', `provider ${providers.primary} is not available yet; put the services under process.services`);

const prepareOne = (
  service: MergedService,
  dependsOn: readonly string[],
  names: ReadonlySet<string>,
): Omit<PreparedComponent, 'entry'> => {
  const variables = readVariables(service);
  const needs = new Map(dependsOn.map((needed) => [componentName(needed), `depends_on ${needed}`]));
  for (const { said } of variables) {
    if (said.kind !== 'reference' || said.reference.namespace !== undefined) continue;
    if (names.has(said.reference.component)) needs.set(said.reference.component, said.reference.text);
  }
  return { name: service.name, needs, service, variables, values: deploymentValues.parse(service.values) };
};
