import type { RawDescription, RawSchema } from './raw-description.ts';

/**
 * Where the published description is stricter than what GitHub sends. An emulator that followed it to the letter would
 * never send the values that break clients.
 */
interface Deviation {
  readonly why: string;
  readonly schema: string;
  /** Property names from the schema down; `[]` steps into the items of an array. */
  readonly path: readonly string[];
  readonly change: (schema: RawSchema) => RawSchema;
}

const nullable = (schema: RawSchema): RawSchema => ({ nullable: true, ...('$ref' in schema ? { allOf: [schema] } : schema) });

const deviations: readonly Deviation[] = ['pull-request-simple', 'pull-request'].flatMap((schema) => [
  { why: 'The fork of a pull request may have been deleted.', schema, path: ['head', 'repo'], change: nullable },
  { why: 'The account of a deleted fork may be gone too.', schema, path: ['head', 'user'], change: nullable },
  { why: 'A label made without a description has none.', schema, path: ['labels', '[]', 'description'], change: nullable },
]);

export const applyDeviations = (description: RawDescription): void => {
  const { schemas } = description.components;
  for (const { schema, path, change } of deviations) {
    const root = schemas[schema];
    if (root === undefined) throw new Error(`GitHub's description has no schema ${schema}.`);
    schemas[schema] = changeAt(root, path, change);
  }
};

const changeAt = (schema: RawSchema, path: readonly string[], change: Deviation['change']): RawSchema => {
  const [step, ...rest] = path;
  if (step === undefined) return change(schema);
  if (step === '[]') return { ...schema, items: changeAt(schema['items'] as RawSchema, rest, change) };
  const properties = schema['properties'] as Readonly<Record<string, RawSchema>>;
  const property = properties[step];
  if (property === undefined) throw new Error(`GitHub's description has no property ${step} where a deviation expects it.`);
  return { ...schema, properties: { ...properties, [step]: changeAt(property, rest, change) } };
};
