import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { type JsonSchema, specJsonSchema } from './json-schema.ts';
import { defaultTriggers, triggers } from './sections/triggers.ts';

const schema = specJsonSchema();

type Keyed = readonly [path: string, schema: JsonSchema];

const within = (
  path: string,
  { properties = {}, additionalProperties, items, anyOf = [], oneOf = [] }: JsonSchema,
): readonly Keyed[] => {
  const inner: Keyed[] = Object.entries(properties).map(([key, one]) => [`${path}.${key}`, one]);
  const nested = [items, additionalProperties, ...anyOf, ...oneOf].filter((one) => typeof one === 'object');
  return [...inner, ...nested.flatMap((one) => within(path, one)), ...inner.flatMap(([at, one]) => within(at, one))];
};

const keys = within('', schema);

/** What an editor would underline. */
const complaints = (value: unknown, one: JsonSchema, path = ''): readonly string[] => {
  const options = one.oneOf ?? one.anyOf;
  if (options !== undefined && !options.some((option) => complaints(value, option, path).length === 0))
    return [`${path} fits no option`];
  const wrong =
    typeof one.type === 'string' && typeOf(value) !== one.type && !(one.type === 'number' && typeOf(value) === 'integer');
  if (wrong) return [`${path} is not of type ${one.type}`];
  if (one.const !== undefined && value !== one.const) return [`${path} is not ${JSON.stringify(one.const)}`];
  if (one.enum !== undefined && !one.enum.includes(value)) return [`${path} is none of ${one.enum.join(', ')}`];
  if (typeof value === 'string' && one.pattern !== undefined && !new RegExp(one.pattern, 'u').test(value))
    return [`${path} does not match`];
  if (Array.isArray(value))
    return value.flatMap((item, index) => (one.items ? complaints(item, one.items, `${path}.${index}`) : []));
  if (typeof value !== 'object' || value === null) return [];
  const missing = (one.required ?? []).filter((key) => !Object.hasOwn(value, key)).map((key) => `${path}.${key} is missing`);
  return [...missing, ...Object.entries(value).flatMap(([key, inner]) => complaintsAbout(key, inner, one, path))];
};

const complaintsAbout = (
  key: string,
  value: unknown,
  { properties = {}, additionalProperties }: JsonSchema,
  path: string,
): readonly string[] => {
  const one = properties[key] ?? additionalProperties;
  if (one === false) return [`${path}.${key} is not allowed`];
  return one === undefined ? [] : complaints(value, one, `${path}.${key}`);
};

const typeOf = (value: unknown): string => {
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'array';
  return Number.isInteger(value) ? 'integer' : typeof value;
};

const fixture = (name: string): unknown =>
  parse(readFileSync(join(import.meta.dirname, 'fixtures', `${name}.yaml`), 'utf8'), { uniqueKeys: false });

describe('the schema as an editor gets it', () => {
  it('says what it is', () => {
    expect(schema).toMatchObject({
      $schema: 'http://json-schema.org/draft-07/schema#',
      $id: 'https://eph.io/schemas/eph.schema.json',
      title: 'eph.yaml',
      type: 'object',
    });
  });

  it('explains every key, in a sentence', () => {
    expect(keys.length).toBeGreaterThan(150);
    expect(keys.filter(([, one]) => one.description === undefined).map(([path]) => path)).toEqual([]);
    expect(keys.filter(([, one]) => !/^\S.*\.$/.test(one.description ?? '')).map(([path]) => path)).toEqual([]);
  });

  it('asks for no more than version and name, and for the section of a provider', () => {
    expect(schema.required).toEqual(['version', 'name']);
    expect(complaints({ version: '1.0', name: 'shop' }, schema)).toEqual([' fits no option']);
    expect(complaints({ version: '1.0', name: 'shop', process: { services: {} } }, schema)).toEqual([]);
  });

  it('lets nobody invent keys', () => {
    const maps = [schema, ...keys.map(([, one]) => one)].filter((one) => one.properties !== undefined);
    expect(maps.filter((one) => one.additionalProperties !== false)).toEqual([]);
  });

  it('knows short forms beside long ones', () => {
    const paths = keys.map(([path]) => path);
    const both = ['provider', 'providers.primary', 'environment.name', 'environment.name_template', 'environment.domain'];
    expect(paths).toEqual(
      expect.arrayContaining([...both, 'kubernetes.namespace', 'triggers.pattern'].map((path) => `.${path}`)),
    );
    expect(schema.properties?.['kubernetes']?.properties?.['manifests']?.items?.anyOf).toMatchObject([
      { type: 'string' },
      { type: 'object' },
    ]);
  });

  it('says what is not available yet', () => {
    const described = new Map(keys.map(([path, one]) => [path, one.description]));
    expect(described.get('.environment.idle_timeout')).toMatch(/ Not available yet\.$/);
    expect(described.get('.kubernetes.ingress')).toMatch(/ Not available yet\.$/);
    expect(described.get('.networking.routing.strategy')).toMatch(/ Available today: `subdomain`, `header`\.$/);
    expect(described.get('.networking.routing.header')).toMatch(/ Available today: `X-Eph-Environment`\.$/);
    expect(described.get('.environment.resources.cpu_request')).toMatch(/ Only compared with the limits of the server today\.$/);
    expect(described.get('.environment.env')).not.toMatch(/available/i);
    expect(described.get('.process')).not.toMatch(/available/i);
  });
});

describe('files of all kinds', () => {
  it.each(['complete', 'dogfooding', 'internal-testing'])('%s is accepted', (name) => {
    expect(complaints(fixture(name), schema)).toEqual([]);
  });

  it('with mistakes are not', () => {
    const file = { version: '1.0', name: 'shop', process: { services: { web: { comand: 'run' } } }, environment: { ttl: 5 } };
    expect(complaints(file, schema)).toEqual([
      '.process.services.web.command is missing',
      '.process.services.web.comand is not allowed',
      '.environment.ttl is not of type string',
    ]);
  });
});

describe('the default triggers', () => {
  it('are what a file could say itself', () => {
    expect(triggers.schema.parse(defaultTriggers)).toEqual(defaultTriggers);
  });
});
