import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { stringify } from 'yaml';
import { printDuration } from './duration.ts';
import { type JsonSchema, specJsonSchema } from './json-schema.ts';
import { describeParsing, fuzzFactor } from './parse.contract.ts';
import { parseSpec } from './parse.ts';
import { type Spec, specSchema } from './schema.ts';
import { shippedSections } from './sections.ts';

/** Texts of which every key takes some. */
const texts = [
  'web',
  'api-2',
  '/healthz',
  './deploy/app.yaml',
  'src/**',
  'preview/*',
  '90s',
  '1h30m',
  '7d',
  '100m',
  '4Gi',
  'v1.2.3',
  'ghcr.io/acme/api',
  'DATABASE_URL',
  'X-Eph-Environment',
  'https://auth.example.com',
  '*/10 * * * *',
  '192.0.2.0/24',
  '2001:db8::/32',
  '${PREVIEW_PASSWORD}',
  '{project}-{commit_sha:0:7}',
  'outputs/api/url',
  'ünïcödé 🚢',
  'yes',
  '1.0',
  'null',
  ' leading and: trailing ',
  'two\nlines\n',
];

const junk: fc.Arbitrary<unknown> = fc.oneof(
  fc.jsonValue({ maxDepth: 2 }),
  fc.constantFrom(null, '', [], {}, -1, 0.5, 1e300, Number.NaN, '{', '${', '{unknown}', '../x', 'x'.repeat(600), { '<<': {} }),
);

/** Values that a schema asks for, or, as often as `spoil` says, anything else. */
const arbitraryOf = (schema: JsonSchema, spoil: number): fc.Arbitrary<unknown> => {
  const sound = soundOf(schema, spoil);
  return spoil === 0 ? sound : fc.oneof({ weight: 100 - spoil, arbitrary: sound }, { weight: spoil, arbitrary: junk });
};

const soundOf = (schema: JsonSchema, spoil: number): fc.Arbitrary<unknown> => {
  const { const: only, enum: values, type, items, properties, additionalProperties } = schema;
  const options = properties === undefined ? (schema.oneOf ?? schema.anyOf) : undefined;
  if (only !== undefined) return fc.constant(only);
  if (values !== undefined) return fc.constantFrom(...values);
  if (options !== undefined) return fc.oneof(...options.map((option) => arbitraryOf(option, spoil)));
  if (items !== undefined) return fc.array(arbitraryOf(items, spoil), { minLength: 1, maxLength: 2 });
  if (properties !== undefined) return mapOf(properties, schema.required ?? [], spoil);
  if (additionalProperties !== undefined && additionalProperties !== false)
    return fc.dictionary(fc.constantFrom('a', 'web', 'B_2', 'constructor', 'x.y/z'), arbitraryOf(additionalProperties, spoil), {
      minKeys: 1,
      maxKeys: 3,
    });
  if (type === 'boolean') return fc.boolean();
  if (type === 'null') return fc.constant(null);
  if (type === 'integer' || type === 'number') return fc.nat(1000);
  return fc.constantFrom(...textsFor(schema));
};

const textsFor = ({ title, pattern }: JsonSchema): readonly string[] => {
  if (title === 'amount') return ['100m', '4Gi', '2'];
  const fitting = texts.filter((text) => pattern === undefined || new RegExp(pattern, 'u').test(text));
  return fitting.length === 0 ? ['x'] : fitting;
};

const mapOf = (
  properties: { readonly [key: string]: JsonSchema },
  required: readonly string[],
  spoil: number,
): fc.Arbitrary<unknown> => {
  const values = new Map(Object.entries(properties).map(([key, schema]) => [key, arbitraryOf(schema, spoil)]));
  const extra = spoil === 0 ? fc.constant([]) : fc.constantFrom<string[]>(...Array.from({ length: 30 }, () => []), ['extra']);
  const optional = [...values.keys()].filter((key) => !required.includes(key));
  const chosen = fc.subarray(optional, { maxLength: Math.min(4, optional.length) });
  return fc
    .tuple(chosen, extra)
    .chain(([some, more]) =>
      fc.record(Object.fromEntries([...required, ...some, ...more].map((key) => [key, values.get(key) ?? junk]))),
    );
};

/** With a section that every provider would be content with, unless the schema brings its own. */
const complete = (value: unknown): unknown =>
  typeof value === 'object' && value !== null && !('kubernetes' in value) && !('docker-compose' in value) && !('process' in value)
    ? { ...value, process: { services: { web: { command: 'run' } } } }
    : value;

const documents = (spoil: number): fc.Arbitrary<unknown> => arbitraryOf(specJsonSchema(), spoil).map(complete);

const print = (value: unknown): Uint8Array => new TextEncoder().encode(stringify(value, { aliasDuplicateObjects: false }) ?? '');

describe('files made from the schema', () => {
  describeParsing('files with nothing wrong key by key', documents(0).map(print), 1_000);
  describeParsing('files with something wrong here and there', documents(4).map(print), 1_000);
});

describe('a sound file', () => {
  const schema = specSchema(shippedSections);
  const sound = documents(0).filter((value) => schema.safeParse(value).success && parseSpec(print(value)).ok);

  it('says the same printed and read as it did before', { timeout: 60_000 * fuzzFactor }, () => {
    fc.assert(
      fc.property(sound, (value) => {
        const parsed = parseSpec(print(value));
        expect(parsed).toMatchObject({ ok: true });
        expect(parsed.ok && parsed.spec).toEqual(schema.parse(value));
      }),
      { numRuns: 200 * fuzzFactor },
    );
  });

  it('means the same with everything long and filled in', { timeout: 60_000 * fuzzFactor }, () => {
    fc.assert(
      fc.property(sound, (value) => {
        const spec = schema.parse(value);
        const parsed = parseSpec(print(asWritten(spec)));
        expect(parsed).toMatchObject({ ok: true });
        expect(parsed.ok && parsed.spec).toEqual(spec);
      }),
      { numRuns: 200 * fuzzFactor },
    );
  });
});

const durations = ['ttl', 'idle_timeout', 'max_age', 'timeout'];

/** A spec has durations in seconds; a file has them with a unit. */
const asWritten = (spec: Spec): unknown =>
  JSON.parse(
    JSON.stringify(spec, (key: string, value: unknown) =>
      durations.includes(key) && typeof value === 'number' ? printDuration(value) : value,
    ),
  );
