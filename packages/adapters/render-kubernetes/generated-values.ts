import { type Generated, type JsonMap, type JsonValue, toPointer, withValue } from '@eph/contract';
import { keyOf, type Manifest, printObject, refuse } from './manifest.ts';

type Path = readonly (string | number)[];

/** Marks what differs between two renderings of the same files. */
export const markGenerated = (first: readonly Manifest[], second: readonly Manifest[]): readonly Manifest[] => {
  const again = new Map(second.map((one) => [keyOf(one), one]));
  const lost = first.find((one) => !again.has(keyOf(one)));
  if (lost !== undefined || second.length !== first.length)
    throw refuse(
      (lost ?? first[0])?.file ?? '',
      `${lost === undefined ? 'it' : printObject(lost)} has another name in every rendering, so each pass would make another one; give it a fixed name`,
    );
  return first.map((one) => {
    const paths = findDifferences(one.object, again.get(keyOf(one))?.object ?? {}, []);
    if (paths.length === 0) return one;
    const generated: Generated = Object.fromEntries(paths.map((path) => [toPointer(path), valueAt(one.object, path)]));
    return {
      ...one,
      object: paths.reduce<JsonValue>((value, path) => withValue(value, path, null), one.object) as JsonMap,
      generated,
    };
  });
};

/** The smallest values that differ. Of lists of different lengths, and of maps with other keys, the whole. */
const findDifferences = (a: JsonValue, b: JsonValue, path: Path): readonly Path[] => {
  if (a === b) return [];
  if (typeof a !== 'object' || typeof b !== 'object' || a === null || b === null || Array.isArray(a) !== Array.isArray(b))
    return [path];
  const [keys, others] = [Object.keys(a), Object.keys(b)];
  if (keys.length !== others.length || keys.some((key) => !Object.hasOwn(b, key))) return [path];
  const inner = (value: JsonValue, key: string): JsonValue => (value as JsonMap)[key] ?? null;
  return keys.flatMap((key) => findDifferences(inner(a, key), inner(b, key), [...path, Array.isArray(a) ? Number(key) : key]));
};

const valueAt = (value: JsonValue, path: Path): JsonValue =>
  path.reduce<JsonValue>((inner, key) => (inner as { readonly [key: string]: JsonValue })[key] ?? null, value);
