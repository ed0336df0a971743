import type { JsonMap, Layer } from '@eph/contract';
import { type Merged, mergeLayer, nothing } from './layers.ts';

/** The merged values of one component: the same object for as long as no layer of it changes. */
export interface Resolution extends Merged {
  readonly layers: readonly Layer[];
}

/** What some lower layers merge to, and others over them; kept only for as long as those layers are in use. */
interface Foundation {
  readonly merged: Merged;
  readonly over: WeakMap<JsonMap, Foundation>;
}

/** Merges layers and remembers the result. Layers below the developer's are merged once for all components of a kind. */
export class Resolutions {
  readonly #known = new Map<string, Resolution>();
  readonly #ground: Foundation = { merged: nothing, over: new WeakMap() };

  resolve(component: string, layers: readonly Layer[]): Resolution {
    const known = this.#known.get(component);
    if (known !== undefined && isSame(known.layers, layers)) return known;
    const resolution = this.#merge(layers);
    this.#known.set(component, resolution);
    return resolution;
  }

  #merge(layers: readonly Layer[]): Resolution {
    let foundation: Foundation | undefined = this.#ground;
    let merged = nothing;
    let index = 0;
    for (const layer of layers) {
      foundation = foundation !== undefined && isShared(layer) ? layOver(foundation, layer, index) : undefined;
      merged = foundation?.merged ?? mergeLayer(merged, layer, index);
      index += 1;
    }
    return { values: merged.values, origins: merged.origins, layers };
  }
}

const isSame = (known: readonly Layer[], layers: readonly Layer[]): boolean => {
  if (known.length !== layers.length) return false;
  for (let index = 0; index < known.length; index += 1)
    if (known[index] !== layers[index] && known[index]?.values !== layers[index]?.values) return false;
  return true;
};

const isShared = ({ source }: Layer): boolean => source.layer === 'default' || source.layer === 'cluster';

const layOver = (foundation: Foundation, layer: Layer, index: number): Foundation => {
  const known = foundation.over.get(layer.values);
  if (known !== undefined) return known;
  const fresh: Foundation = { merged: mergeLayer(foundation.merged, layer, index), over: new WeakMap() };
  foundation.over.set(layer.values, fresh);
  return fresh;
};
