import { type ComponentName, deploymentValues, type Failure, failure, findValueFaults, type Layer } from '@eph/contract';
import type { ComponentLayers } from './component-layers.ts';
import { isMap, type Merged } from './layers.ts';
import { originAt, printPlace, valueAt } from './origin.ts';
import { parseReference, type Reference } from './references.ts';
import type { Resolution } from './resolution.ts';

/** One service after all layers, sound or not. */
export interface MergedService extends ComponentLayers, Merged {
  readonly name: ComponentName;
  readonly resolution: Resolution;
}

export const mergeService = (name: ComponentName, own: ComponentLayers, resolution: Resolution): MergedService => ({
  name,
  resolution,
  ...own,
  ...chooseProbe(resolution),
});

/** Ways to tell that a service is ready. */
export const probes: readonly string[] = ['http', 'tcp', 'none'];

/** Of the ways to tell readiness only one can hold: that of the highest layer. */
const chooseProbe = ({ values, origins }: Merged): Merged => {
  const { ready } = values;
  const given = isMap(ready) ? probes.filter((probe) => Object.hasOwn(ready, probe)) : [];
  if (!isMap(ready) || given.length < 2) return { values, origins };
  const origin = (probe: string): number => originAt(values, origins, ['ready', probe]) ?? -1;
  const top = Math.max(...given.map(origin));
  const chosen = Object.entries(ready).filter(([key]) => !given.includes(key) || origin(key) === top);
  return { values: { ...values, ready: Object.fromEntries(chosen) }, origins };
};

/** A variable of a service, as its layers give it. */
export interface Variable {
  readonly name: string;
  readonly layer: Layer;
  readonly said:
    | { readonly kind: 'built-in' }
    | { readonly kind: 'text'; readonly text: string }
    | { readonly kind: 'reference'; readonly reference: Reference }
    | { readonly kind: 'malformed'; readonly fault: string }
    /** Said to all components, and not meant for the one that it points at. */
    | { readonly kind: 'left-out'; readonly reference: Reference };
}

export const readVariables = (service: MergedService): readonly Variable[] => {
  const { env } = service.values;
  return Object.entries(isMap(env) ? env : {}).flatMap(([name, value]) => {
    const origin = originAt(service.values, service.origins, ['env', name]);
    const layer = origin === undefined ? undefined : service.layers[origin];
    if (typeof value === 'object' || origin === undefined || layer === undefined) return [];
    return [{ name, layer, said: readText(service, String(value), origin, layer) }];
  });
};

const readText = (service: MergedService, text: string, origin: number, layer: Layer): Variable['said'] => {
  if (layer.source.layer === 'default') return { kind: 'built-in' };
  const parsed = parseReference(text);
  if (parsed.kind !== 'reference' || origin >= service.shared) return parsed;
  const { namespace, component } = parsed.reference;
  return namespace === undefined && component === service.name ? { ...parsed, kind: 'left-out' } : parsed;
};

/** Everything that is wrong with the merged values, with the place of the layer that said it. */
export const findServiceFaults = (service: MergedService): readonly Failure[] => {
  const faults = findValueFaults(deploymentValues, service.values).map(({ path, message }) => {
    const layer = layerAt(service, path);
    return layer === undefined
      ? failure('internal', `${service.name}.${path.join('.')}: ${message}`)
      : blame(layer, path, message);
  });
  const malformed = readVariables(service).flatMap(({ name, layer, said }) =>
    said.kind === 'malformed' ? [blame(layer, ['env', name], said.fault)] : [],
  );
  return [...faults, ...malformed, ...findMissingCommand(service)];
};

const findMissingCommand = ({ name, layers, values }: MergedService): readonly Failure[] => {
  if (Object.hasOwn(values, 'command')) return [];
  const remover = layers.findLast((layer) => valueAt(layer.values, ['command']) === null);
  const nothing = `component ${name} is left without a command`;
  return [remover === undefined ? failure('spec.invalid', nothing) : blame(remover, ['command'], nothing)];
};

/** The layer that gave what stands at a path; of a map that several gave, the topmost. */
export const layerAt = ({ values, origins, layers }: MergedService, path: readonly string[]): Layer | undefined => {
  const origin = originAt(values, origins, path);
  return origin === undefined ? undefined : layers[origin];
};

/** A fault of whoever wrote the layer. */
export const blame = (layer: Layer, path: readonly string[], message: string): Failure =>
  failure(layer.source.layer === 'developer' ? 'spec.invalid' : 'config.invalid', `${printPlace(layer, path)}: ${message}`);

/** What is wrong in a layer for all components is one fault. */
export const distinct = (faults: readonly Failure[]): readonly Failure[] => [
  ...new Map(faults.map((fault) => [fault.message, fault])).values(),
];
