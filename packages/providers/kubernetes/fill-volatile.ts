import { asMap, at, type JsonMap, parsePointer, type ResolvedComponent, withValue } from '@eph/contract';
import { type GivenObject, type KubernetesValues, refuse } from './values.ts';

/** An object with what its rendering made anew, and where that is in it. */
export interface VolatileObject {
  readonly object: GivenObject;
  readonly pointers: readonly (readonly string[])[];
}

export const fillVolatile = (component: ResolvedComponent, values: KubernetesValues): readonly VolatileObject[] => {
  const { objects, volatile = [] } = values;
  const found = Map.groupBy(
    volatile.map((pointer) => locate(component, objects, pointer)),
    ({ index }) => index,
  );
  return objects.map((object, index) => {
    const own = found.get(index) ?? [];
    const filled = own.reduce<JsonMap>((one, { path, value }) => asMap(withValue(one, path, value)), object);
    const { apiVersion, kind, metadata } = object;
    return {
      object: { ...filled, apiVersion, kind, metadata: { ...asMap(filled['metadata']), name: metadata.name } },
      pointers: own.map(({ path }) => path),
    };
  });
};

const locate = ({ generated = {}, name }: ResolvedComponent, objects: readonly GivenObject[], pointer: string) => {
  const blame = (why: string): Error => refuse({ name }, `volatile: ${JSON.stringify(pointer.slice(0, 100))} ${why}`);
  const [first = '', ...path] = parsePointer(pointer) ?? [];
  const index = /^\d{1,4}$/.test(first) ? Number(first) : -1;
  const object = objects[index];
  if (object === undefined || isFixed(path) || at(object, path) === undefined) throw blame('names no value of its objects');
  const value = Object.hasOwn(generated, pointer) ? generated[pointer] : undefined;
  if (value === undefined) throw blame('has no value');
  return { index, path, value };
};

/** By which the object is found again. */
const isFixed = ([first, second, ...rest]: readonly string[]): boolean =>
  first === undefined ||
  ['apiVersion', 'kind'].includes(first) ||
  (first === 'metadata' && (second === undefined || (rest.length === 0 && ['name', 'namespace'].includes(second))));
