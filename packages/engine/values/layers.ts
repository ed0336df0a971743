import type { JsonMap, JsonValue, Layer } from '@eph/contract';

/** The index of the layer that gave each value. Lists are values, and a map that one layer gave whole is one index. */
export type Origins = number | { readonly [key: string]: Origins };

export interface Merged {
  readonly values: JsonMap;
  readonly origins: Origins;
}

export const nothing: Merged = { values: {}, origins: {} };

/**
 * Merges one layer, the one with this index, over those below: maps merge deeply, lists and scalars replace. `null` removes a key, except
 * that a developer's falls through to the platform. Parts that only one layer gives are shared with it, so nothing is ever changed.
 */
export const mergeLayer = ({ values, origins }: Merged, { source, values: above }: Layer, index: number): Merged =>
  mergeMaps(values, origins, above, index, source.layer !== 'developer');

const mergeMaps = (below: JsonMap, origins: Origins, above: JsonMap, index: number, removes: boolean): Merged => {
  if (isEmpty(below)) return { values: withoutNulls(above), origins: index };
  // Copied at the first change: a map that is left as it is stays the same object.
  let values: Writable<JsonValue> | undefined;
  let marks: Writable<Origins> | undefined;
  let given = 0;
  // Not `Object.keys`: this is the inner loop of every resolution, and lists of keys were a quarter of its time.
  for (const key in above) {
    const value = above[key];
    if (value === undefined || (value === null && !removes)) continue;
    const under = ownValue(below, key);
    if (value === null && under === undefined) continue;
    let result: JsonValue = value;
    let mark: Origins = index;
    if (isMap(value) && isMap(under))
      ({ values: result, origins: mark } = mergeMaps(under, originOf(origins, key), value, index, removes));
    else if (isMap(value)) result = withoutNulls(value);
    values ??= { ...below };
    marks ??= typeof origins === 'number' ? markAll(below, origins) : { ...origins };
    if (result === null) {
      delete values[key];
      delete marks[key];
      continue;
    }
    put(values, key, result);
    put(marks, key, mark);
    if (mark === index) given += 1;
  }
  const result = values ?? below;
  return { values: result, origins: sizeOf(result) === given ? index : (marks ?? origins) };
};

type Writable<T> = { [key: string]: T };

export const isMap = (value: JsonValue | undefined): value is JsonMap =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** `constructor` and `__proto__` are names like any other: nothing is read from a prototype, and nothing is written to one. */
export const ownValue = <T>(map: { readonly [key: string]: T }, key: string): T | undefined =>
  Object.hasOwn(map, key) ? map[key] : undefined;

const put = <T>(map: Writable<T>, key: string, value: T): void => {
  if (key === '__proto__') Object.defineProperty(map, key, { value, enumerable: true, configurable: true, writable: true });
  else map[key] = value;
};

export const originOf = (origins: Origins, key: string): Origins => {
  if (typeof origins === 'number') return origins;
  const origin = ownValue(origins, key);
  if (origin === undefined) throw new TypeError(`${JSON.stringify(key)} has no origin`);
  return origin;
};

const markAll = (map: JsonMap, index: number): Writable<Origins> => {
  const marks: Writable<Origins> = {};
  for (const key in map) put(marks, key, index);
  return marks;
};

/** The same map if it holds no null: there is nothing below to remove. */
const withoutNulls = (map: JsonMap): JsonMap => {
  let clean: Writable<JsonValue> | undefined;
  for (const key in map) {
    const value = map[key];
    const kept = isMap(value) ? withoutNulls(value) : value;
    if (kept === value && kept !== null && kept !== undefined) continue;
    clean ??= { ...map };
    if (kept === null || kept === undefined) delete clean[key];
    else put(clean, key, kept);
  }
  return clean ?? map;
};

const isEmpty = (map: JsonMap): boolean => {
  for (const _ in map) return false;
  return true;
};

const sizeOf = (map: JsonMap): number => {
  let size = 0;
  for (const _ in map) size += 1;
  return size;
};
