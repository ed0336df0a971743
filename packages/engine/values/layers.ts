import type { JsonValue } from '@eph/contract';

export type Layer = { readonly [key: string]: JsonValue | undefined };

/**
 * Merges layers from the bottom up: maps merge deeply, arrays and scalars replace, `null` removes a key, an absent value falls
 * through. The result shares nothing that could be changed with its inputs' maps.
 */
export const mergeLayers = (...layers: readonly Layer[]): { [key: string]: JsonValue } => {
  const merged: { [key: string]: JsonValue } = {};
  for (const layer of layers) {
    for (const [key, value] of Object.entries(layer)) {
      if (value === undefined) continue;
      if (value === null) {
        delete merged[key];
        continue;
      }
      const below = Object.hasOwn(merged, key) ? merged[key] : undefined;
      const result = isMap(value) ? mergeLayers(isMap(below) ? below : {}, value) : value;
      // `__proto__` is an ordinary key here: defining it cannot reach the prototype.
      Object.defineProperty(merged, key, { value: result, enumerable: true, configurable: true, writable: true });
    }
  }
  return merged;
};

const isMap = (value: JsonValue | undefined): value is { readonly [key: string]: JsonValue } =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
