import { z } from 'zod';
import { availableIn } from './availability.ts';
import { specSchema } from './schema.ts';
import type { Available, Section } from './section.ts';
import { shippedSections } from './sections.ts';

export interface JsonSchema {
  readonly $schema?: string;
  readonly $id?: string;
  readonly title?: string;
  readonly description?: string;
  readonly type?: string | readonly string[];
  readonly const?: unknown;
  readonly enum?: readonly unknown[];
  readonly pattern?: string;
  readonly items?: JsonSchema;
  readonly properties?: { readonly [key: string]: JsonSchema };
  readonly required?: readonly string[];
  readonly additionalProperties?: JsonSchema | false;
  readonly anyOf?: readonly JsonSchema[];
  readonly oneOf?: readonly JsonSchema[];
}

/** `eph.yaml` for editors. They explain rules about several keys badly, so these are left to `eph config validate`. */
export const specJsonSchema = (sections: readonly Section[] = shippedSections): JsonSchema => {
  // Editors support draft 7 best.
  const emitted = z.toJSONSchema(specSchema(sections), { io: 'input', target: 'draft-7' }) as JsonSchema;
  const { $schema, ...schema } = remark(emitted, availableIn(sections));
  return {
    $schema: $schema ?? '',
    $id: 'https://eph.io/schemas/eph.schema.json',
    title: 'eph.yaml',
    description: 'What gets an environment in this repository, and what runs in it.',
    ...schema,
    anyOf: sections.filter(({ choice }) => choice).map(({ name }) => ({ required: [name] })),
  };
};

const notYet = 'Not available yet.';

const remark = (schema: JsonSchema, known: Available | undefined): JsonSchema => {
  if (known === true) return schema;
  if (known === undefined) return describe(schema, notYet);
  if (known === 'limited') return describe(schema, 'Only compared with the limits of the server today.');
  if (Array.isArray(known)) return remarkChoice(schema, known);
  const within = known as { readonly [key: string]: Available };
  const { properties, additionalProperties, items, anyOf, oneOf } = schema;
  if (properties !== undefined && isOfNoUse(properties, within)) return describe(schema, notYet);
  return {
    ...schema,
    ...(properties && { properties: mapValues(properties, (property, key) => remark(property, within[key] ?? within['*'])) }),
    ...(items && { items: remark(items, within['*']) }),
    ...(additionalProperties && { additionalProperties: remark(additionalProperties, within['*']) }),
    ...(anyOf && { anyOf: anyOf.map((option) => remark(option, known)) }),
    ...(oneOf && { oneOf: oneOf.map((option) => remark(option, known)) }),
  };
};

/** One of several alternatives, and not an available one. */
const isOfNoUse = (properties: { readonly [key: string]: JsonSchema }, known: { readonly [key: string]: Available }): boolean =>
  Object.entries(properties).some(([key, { const: only }]) => {
    const choice = known[key];
    return typeof only === 'string' && Array.isArray(choice) && !choice.includes(only);
  });

const remarkChoice = (schema: JsonSchema, choice: readonly (string | boolean)[]): JsonSchema => {
  const possible =
    schema.const === undefined ? (schema.enum ?? (schema.type === 'boolean' ? [true, false] : choice)) : [schema.const];
  const ready = possible.filter((one) => choice.includes(one as string));
  if (ready.length === possible.length && possible !== choice) return schema;
  if (ready.length === 0) return describe(schema, notYet);
  return describe(schema, `Available today: ${ready.map((one) => `\`${String(one)}\``).join(', ')}.`);
};

const describe = (schema: JsonSchema, sentence: string): JsonSchema => ({
  ...schema,
  description: [schema.description, sentence].filter((one) => one !== undefined).join(' '),
});

const mapValues = <T, U>(map: { readonly [key: string]: T }, change: (value: T, key: string) => U): { [key: string]: U } =>
  Object.fromEntries(Object.entries(map).map(([key, value]) => [key, change(value, key)]));
