import { z } from 'zod';
import type { JsonMap } from '../layers.ts';

/** One layer of values with this schema: parts of it, and `null` to remove something below. Rules are for the merged values. */
export const layerOf = (schema: z.core.$ZodType): z.ZodType => {
  const { type, innerType, shape, keyType, valueType } = schema._zod.def as Definition;
  if (innerType !== undefined && type === 'optional') return layerOf(innerType).optional();
  if (shape !== undefined)
    return z.strictObject(Object.fromEntries(Object.entries(shape).map(([key, inner]) => [key, layerOf(inner)]))).nullable();
  if (keyType !== undefined && valueType !== undefined) return z.record(keyType, layerOf(valueType)).nullable();
  return z.nullable(schema);
};

interface Definition {
  readonly type: string;
  readonly innerType?: z.core.$ZodType;
  readonly shape?: { readonly [key: string]: z.core.$ZodType };
  readonly keyType?: z.core.$ZodRecordKey;
  readonly valueType?: z.core.$ZodType;
}

/** One layer of a component whose kind is not known here. */
export const openLayer = z
  .record(z.string(), z.unknown())
  .superRefine((values, context) => {
    for (const path of findInfinite(values))
      context.addIssue({ code: 'custom', path: [...path], message: 'must be a finite number' });
  })
  .transform((values) => values as JsonMap)
  .nullable();

/** Numbers that YAML can write and JSON cannot. */
const findInfinite = (value: unknown): readonly (readonly (string | number)[])[] => {
  if (typeof value === 'number') return Number.isFinite(value) ? [] : [[]];
  if (typeof value !== 'object' || value === null) return [];
  const entries = Array.isArray(value) ? [...value.entries()] : Object.entries(value);
  return entries.flatMap(([key, inner]) => findInfinite(inner).map((path) => [key, ...path]));
};
