import { isRecord } from './object.ts';

/** What is at a path of an object; undefined where something on the way is missing or of another type. */
export const fieldAt = (value: unknown, ...path: readonly string[]): unknown => {
  let at = value;
  for (const field of path) {
    if (!isRecord(at)) return undefined;
    at = Object.hasOwn(at, field) ? at[field] : undefined;
  }
  return at;
};

export const numberAt = (value: unknown, ...path: readonly string[]): number | undefined => {
  const found = fieldAt(value, ...path);
  return typeof found === 'number' ? found : undefined;
};

export const textAt = (value: unknown, ...path: readonly string[]): string | undefined => {
  const found = fieldAt(value, ...path);
  return typeof found === 'string' ? found : undefined;
};

/** Empty where there is no list. */
export const listAt = (value: unknown, ...path: readonly string[]): readonly unknown[] => {
  const found = fieldAt(value, ...path);
  return Array.isArray(found) ? found : [];
};

/** The same object with these fields only; absent ones stay absent. */
export const keepFields = (value: unknown, ...fields: readonly string[]): Record<string, unknown> | undefined => {
  if (!isRecord(value)) return undefined;
  const kept: Record<string, unknown> = {};
  for (const field of fields) if (Object.hasOwn(value, field)) kept[field] = value[field];
  return kept;
};
