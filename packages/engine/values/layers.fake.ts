import type { Layer } from '@eph/contract';
import { type Merged, mergeLayer, nothing } from './layers.ts';

/** All layers from the bottom up, one after the other. */
export const mergeLayers = (layers: readonly Layer[]): Merged =>
  layers.reduce((merged, layer, index) => mergeLayer(merged, layer, index), nothing);
