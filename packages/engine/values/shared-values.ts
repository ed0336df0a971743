import {
  type ConfigurationLayers,
  componentName,
  type Failure,
  failure,
  type JsonMap,
  type SectionComponent,
  toFailure,
} from '@eph/contract';
import { commonValues, composeLayers, type LayerInput, type SpecFile } from './component-layers.ts';
import {
  distinct,
  findComponentFaults,
  type MergedComponent,
  mergeComponent,
  readVariables,
  type Variable,
} from './merged-component.ts';
import { type GraphNode, orderByNeed } from './order.ts';
import { Resolutions } from './resolution.ts';

export interface SharedComponent extends GraphNode {
  readonly merged: MergedComponent;
  readonly values: JsonMap;
  readonly variables: readonly Variable[];
}

/** What all environments of one `eph.yaml` under one configuration have in common. */
export interface ResolvedFile {
  /** In the order of need. Empty when there are faults. */
  readonly components: readonly SharedComponent[];
  readonly faults: readonly Failure[];
  /** All of its components after all layers, in the order of the file. */
  readonly merged: readonly MergedComponent[];
}

interface Kept {
  /** Of the chosen section, and of those without a choice. */
  readonly components: readonly SectionComponent[];
  readonly common: JsonMap;
  readonly resolutions: Resolutions;
  readonly shared: Map<SectionComponent, SharedComponent>;
  last: { readonly configuration: ConfigurationLayers; readonly resolved: ResolvedFile } | undefined;
}

export interface SharedInput extends Omit<LayerInput, 'places'> {
  /** The section that a provider was chosen for; without one, the components of all sections count. */
  readonly choice: string | undefined;
}

/** Merges the components of a file once for all its environments, and again only those that a new configuration concerns. */
export class SharedValues {
  readonly #kept = new WeakMap<readonly SectionComponent[], Map<string | undefined, Kept>>();

  resolve(file: SpecFile, input: SharedInput): ResolvedFile {
    const kept = this.#keep(file, input);
    if (kept.last?.configuration === input.configuration) return kept.last.resolved;
    const merged = this.merge(file, input);
    const resolved = { ...resolveAll(merged.filter(isMade), kept.shared, input), merged };
    kept.last = resolved.faults.length === 0 ? { configuration: input.configuration, resolved } : undefined;
    return resolved;
  }

  /** In the order of the file. */
  merge(file: SpecFile, input: SharedInput): readonly MergedComponent[] {
    const { components, common, resolutions } = this.#keep(file, input);
    const layers = composeLayers(components, common, { ...input, places: file.places });
    return Array.from(layers, ([declared, own]) =>
      mergeComponent(declared, own, resolutions.resolve(`${declared.section.name}.${declared.name}`, own.layers)),
    );
  }

  #keep({ spec, components }: SpecFile, { choice }: SharedInput): Kept {
    const byChoice = this.#kept.get(components) ?? new Map<string | undefined, Kept>();
    this.#kept.set(components, byChoice);
    const kept = byChoice.get(choice) ?? {
      components: components.filter(({ section }) => section.choice !== true || choice === undefined || section.name === choice),
      common: commonValues(spec.environment),
      resolutions: new Resolutions(),
      shared: new Map(),
      last: undefined,
    };
    byChoice.set(choice, kept);
    return kept;
  }
}

/** There is a type of providers for it. */
export const isMade = ({ declared }: MergedComponent): boolean => declared.section.provider !== undefined;

const resolveAll = (
  merged: readonly MergedComponent[],
  known: Map<SectionComponent, SharedComponent>,
  { choice }: SharedInput,
): Omit<ResolvedFile, 'merged'> => {
  const isKnown = ({ declared, resolution }: MergedComponent): boolean => known.get(declared)?.merged.resolution === resolution;
  const faults = merged.flatMap((component) => (isKnown(component) ? [] : findComponentFaults(component)));
  // An environment without components would be removed piece by piece.
  if (merged.length === 0) faults.push(failure('feature.unavailable', `${choice ?? 'this file'} is not available yet`));
  if (faults.length > 0) return { components: [], faults: distinct(faults) };
  const names = new Set(merged.flatMap(({ declared }) => (declared.preparation === true ? [] : [declared.name])));
  for (const component of merged) if (!isKnown(component)) known.set(component.declared, toShared(component, names));
  try {
    return { components: orderByNeed(merged.flatMap(({ declared }) => known.get(declared) ?? [])), faults: [] };
  } catch (error) {
    return { components: [], faults: [toFailure(error)] };
  }
};

const toShared = (merged: MergedComponent, names: ReadonlySet<string>): SharedComponent => {
  const { name, kind, needs: dependsOn = [], preparation = false, rendered } = merged.declared;
  const word = rendered === undefined ? 'depends_on' : 'needs';
  const isOwn = ({ content }: Variable): boolean =>
    content.kind === 'reference' && content.reference.namespace === undefined && names.has(content.reference.component);
  // Before the components run there is nothing to refer to.
  const variables = readVariables(merged).filter((variable) => !preparation || !isOwn(variable));
  const needs = new Map(dependsOn.map((needed) => [componentName(needed), `${word} ${needed}`]));
  for (const variable of variables) {
    const { content } = variable;
    if (content.kind === 'reference' && isOwn(variable)) needs.set(content.reference.component, content.reference.text);
  }
  // Parsed values leave out what is absent.
  const values = (kind.schema?.parse(merged.values) ?? merged.values) as JsonMap;
  return { name: componentName(name), needs, merged, variables, values };
};
