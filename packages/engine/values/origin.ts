import type { JsonMap, JsonValue, Layer, LayerSource, ValuePlace } from '@eph/contract';
import { isMap, type Origins, originOf, ownValue } from './layers.ts';

export const valueAt = (values: JsonMap, path: readonly string[]): JsonValue | undefined => {
  let at: JsonValue | undefined = values;
  for (const key of path) {
    if (!isMap(at)) return undefined;
    at = ownValue(at, key);
  }
  return at;
};

/** The index of the layer that gave what is there; of a map that several gave, the topmost. Undefined where nothing is. */
export const originAt = (values: JsonMap, origins: Origins, path: readonly string[]): number | undefined => {
  if (valueAt(values, path) === undefined) return undefined;
  return topmost(path.reduce(originOf, origins));
};

const topmost = (origins: Origins): number =>
  typeof origins === 'number' ? origins : Math.max(...Object.values(origins).map(topmost));

/** Where a value is in its file, or else the map it would be part of. */
export const findPlace = (source: LayerSource, path: readonly string[]): ValuePlace | undefined => {
  for (let length = path.length; length >= 0; length -= 1) {
    const place = source.place(path.slice(0, length));
    if (place !== undefined) return { ...place, path: [place.path, ...path.slice(length)].join('.') };
  }
  return undefined;
};

/** `dev/env.yaml:12:5: data.defaults.Deployment.replicas`. */
export const printPlace = ({ source }: Layer, path: readonly string[]): string => {
  const place = findPlace(source, path);
  const file = source.file ?? 'built in';
  return place === undefined ? `${file}: ${path.join('.')}` : `${file}:${place.line}:${place.column}: ${place.path}`;
};
