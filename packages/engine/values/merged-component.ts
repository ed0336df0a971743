import { type Failure, failure, findValueFaults, type Layer, type SectionComponent } from '@eph/contract';
import type { ComponentLayers } from './component-layers.ts';
import { isMap, type Merged } from './layers.ts';
import { findPlace, originAt, printPlace, valueAt } from './origin.ts';
import { parseReference, type Reference } from './references.ts';
import type { Resolution } from './resolution.ts';

/** One component after all layers, with or without faults. */
export interface MergedComponent extends ComponentLayers, Merged {
  readonly declared: SectionComponent;
  readonly resolution: Resolution;
}

export const mergeComponent = (declared: SectionComponent, own: ComponentLayers, resolution: Resolution): MergedComponent => ({
  declared,
  resolution,
  ...own,
  values: Object.entries(declared.kind.alternatives ?? {}).reduce(chooseAlternative(resolution), resolution.values),
  origins: resolution.origins,
});

const chooseAlternative =
  ({ values: all, origins }: Merged) =>
  (values: Merged['values'], [key, options]: readonly [string, readonly string[]]): Merged['values'] => {
    const map = values[key];
    const given = isMap(map) ? options.filter((option) => Object.hasOwn(map, option)) : [];
    if (!isMap(map) || given.length < 2) return values;
    const origin = (option: string): number => originAt(all, origins, [key, option]) ?? -1;
    const top = Math.max(...given.map(origin));
    const chosen = Object.entries(map).filter(([one]) => !given.includes(one) || origin(one) === top);
    return { ...values, [key]: Object.fromEntries(chosen) };
  };

export interface Variable {
  readonly name: string;
  readonly layer: Layer;
  readonly content:
    | { readonly kind: 'text'; readonly text: string }
    | { readonly kind: 'reference'; readonly reference: Reference }
    | { readonly kind: 'malformed'; readonly fault: string }
    /** Given to all components, and not meant for the one that it points at. */
    | { readonly kind: 'left-out'; readonly reference: Reference };
}

export const readVariables = (component: MergedComponent): readonly Variable[] => {
  const { env } = component.values;
  return Object.entries(isMap(env) ? env : {}).flatMap(([name, value]) => {
    const origin = originAt(component.values, component.origins, ['env', name]);
    const layer = origin === undefined ? undefined : component.layers[origin];
    if (typeof value === 'object' || origin === undefined || layer === undefined) return [];
    return [{ name, layer, content: readText(component, String(value), origin) }];
  });
};

const readText = ({ shared, declared }: MergedComponent, text: string, origin: number): Variable['content'] => {
  const parsed = parseReference(text);
  if (parsed.kind !== 'reference' || origin >= shared) return parsed;
  const { namespace, component } = parsed.reference;
  return namespace === undefined && component === declared.name ? { ...parsed, kind: 'left-out' } : parsed;
};

/** Everything that is wrong with the merged values, with the place in the layer that gave it. */
export const findComponentFaults = (component: MergedComponent): readonly Failure[] => {
  const { name, kind } = component.declared;
  const faults = kind.schema === undefined ? [] : findValueFaults(kind.schema, component.values);
  return [
    ...faults.map(({ path, message }) => {
      // What is missing was taken away by a layer, if it was ever there.
      const layer = layerOf(component, path) ?? component.layers.findLast(({ values }) => valueAt(values, path) === null);
      return layer === undefined
        ? failure('spec.invalid', `component ${name}: ${path.join('.')}: ${message}`)
        : blame(layer, path, message);
    }),
    ...readVariables(component).flatMap(({ name: variable, layer, content }) =>
      content.kind === 'malformed' ? [blame(layer, ['env', variable], content.fault)] : [],
    ),
  ];
};

/** The layer that gave the value at a path; of a map that several gave, the topmost. */
export const layerOf = ({ values, origins, layers }: MergedComponent, path: readonly string[]): Layer | undefined => {
  const origin = originAt(values, origins, path);
  return origin === undefined ? undefined : layers[origin];
};

/** `dev/env.yaml:12`: where the value at a path was given. */
export const whereIs = (component: MergedComponent, path: readonly string[]): string | undefined => {
  const source = layerOf(component, path)?.source;
  const place = source === undefined ? undefined : findPlace(source, path);
  return place === undefined ? undefined : `${source?.file}:${place.line}`;
};

export const blame = (layer: Layer, path: readonly string[], message: string): Failure =>
  failure(layer.source.layer === 'developer' ? 'spec.invalid' : 'config.invalid', `${printPlace(layer, path)}: ${message}`);

/** What is wrong in a layer for all components is one fault. */
export const distinct = (faults: readonly Failure[]): readonly Failure[] => [
  ...new Map(faults.map((fault) => [fault.message, fault])).values(),
];
