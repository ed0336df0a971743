import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { defaultTriggers, specSchema } from './schema.ts';

interface JsonSchema {
  readonly type?: string;
  readonly description?: string;
  readonly properties?: { readonly [key: string]: JsonSchema };
  readonly additionalProperties?: JsonSchema | boolean;
  readonly items?: JsonSchema;
  readonly anyOf?: readonly JsonSchema[];
  readonly oneOf?: readonly JsonSchema[];
  readonly required?: readonly string[];
}

const schema = z.toJSONSchema(specSchema, { io: 'input' }) as JsonSchema;

const within = (
  path: string,
  { properties = {}, additionalProperties, items, anyOf = [], oneOf = [] }: JsonSchema,
): readonly (readonly [string, JsonSchema])[] => {
  const inner: (readonly [string, JsonSchema])[] = Object.entries(properties).map(([key, one]) => [`${path}.${key}`, one]);
  const nested: JsonSchema[] = [items, additionalProperties].filter((one) => typeof one === 'object');
  return [
    ...inner,
    ...[...nested, ...anyOf, ...oneOf].flatMap((one) => within(path, one)),
    ...inner.flatMap(([at, one]) => within(at, one)),
  ];
};

describe('the schema as an editor gets it', () => {
  it('explains every key, in a sentence', () => {
    const keys = within('', schema);
    expect(keys.length).toBeGreaterThan(20);
    expect(keys.filter(([, one]) => one.description === undefined).map(([path]) => path)).toEqual([]);
    expect(keys.filter(([, one]) => !(one.description?.endsWith('.') ?? true)).map(([path]) => path)).toEqual([]);
  });

  it('asks for no more than version, name and process', () => {
    expect(schema.required).toEqual(['version', 'name', 'process']);
  });

  it('lets nobody invent keys', () => {
    const maps = [schema, ...within('', schema).map(([, one]) => one)].filter((one) => one.properties !== undefined);
    expect(maps.filter((one) => one.additionalProperties !== false)).toEqual([]);
  });
});

describe('the default triggers', () => {
  it('are what a file could say itself', () => {
    expect(specSchema.shape.triggers.parse(defaultTriggers)).toEqual(defaultTriggers);
    expect(specSchema.shape.triggers.parse(undefined)).toEqual(defaultTriggers);
  });
});
