import { Ajv, type ErrorObject, type ValidateFunction } from 'ajv';
import addFormats from 'ajv-formats';
import type { RawSchema } from './raw-description.ts';

/** Keywords without effect on validation. `discriminator` is left out because the validator would demand more of it than OpenAPI 3.0 does. */
const prose: ReadonlySet<string> = new Set(['description', 'title', 'example', 'examples', 'discriminator', 'externalDocs']);
const literal: ReadonlySet<string> = new Set(['enum', 'default', 'required', 'const', 'pattern', 'format', 'type']);
const referencePrefix = '#/components/schemas/';

/** Compiles schemas of the description when they are first needed, and what they refer to with them. */
export class SchemaValidators {
  readonly #schemas: Readonly<Record<string, RawSchema>>;
  readonly #ajv: Ajv;
  readonly #known = new Set<string>();
  readonly #compiled = new Map<RawSchema, ValidateFunction>();

  constructor(schemas: Readonly<Record<string, RawSchema>>) {
    this.#schemas = schemas;
    // The schemas are huge and used briefly: compiling them without inlining takes a quarter of the time.
    const fastToCompile = { inlineRefs: false, validateSchema: false, code: { optimize: false } };
    this.#ajv = new Ajv({ strict: false, allErrors: true, ...fastToCompile });
    addFormats.default(this.#ajv, { mode: 'fast' });
    const uri = this.#ajv.formats['uri'];
    // GitHub sends an empty string where there is no address.
    this.#ajv.addFormat('uri', (text) => text === '' || matchesFormat(uri, text));
  }

  /** The violations, as sentences; empty if valid. */
  faults(schema: RawSchema, value: unknown): readonly string[] {
    const validate = this.#compile(schema);
    if (validate(value)) return [];
    return [...new Set((validate.errors ?? []).map(describeError))].slice(0, 12);
  }

  /**
   * Names on the first level that the schema does not have. OpenAPI allows them, and GitHub ignores them: a misspelt
   * parameter would have no effect, unnoticed.
   */
  unknownProperties(schema: RawSchema, value: unknown): readonly string[] {
    if (Array.isArray(value)) {
      const items = this.#resolve(schema)['items'] as RawSchema | undefined;
      return items === undefined ? [] : this.unknownProperties(items, value[0]);
    }
    if (typeof value !== 'object' || value === null) return [];
    const known = this.#propertyNames(schema);
    return known === 'any' ? [] : Object.keys(value).filter((name) => !known.has(name));
  }

  #compile(schema: RawSchema): ValidateFunction {
    const known = this.#compiled.get(schema);
    if (known !== undefined) return known;
    const validate = this.#ajv.compile(this.#convert(schema) as RawSchema);
    this.#compiled.set(schema, validate);
    return validate;
  }

  #convert(schema: unknown): unknown {
    if (Array.isArray(schema)) return schema.map((entry) => this.#convert(entry));
    if (typeof schema !== 'object' || schema === null) return schema;
    const raw = schema as RawSchema;
    if (typeof raw['$ref'] === 'string') return { $ref: this.#refer(raw['$ref']) };
    const converted: Record<string, unknown> = {};
    for (const [key, value] of Object.entries(raw)) {
      if (key === 'nullable' || prose.has(key)) continue;
      if (literal.has(key)) converted[key] = value;
      else if (key === 'properties') converted[key] = this.#convertEach(value as RawSchema);
      else converted[key] = this.#convert(value);
    }
    return raw['nullable'] === true ? { anyOf: [{ type: 'null' }, converted] } : converted;
  }

  /** Property names are not keywords: an object may well have a property called `description`. */
  #convertEach(properties: RawSchema): unknown {
    return Object.fromEntries(Object.entries(properties).map(([name, schema]) => [name, this.#convert(schema)]));
  }

  #refer(reference: string): string {
    const name = reference.slice(referencePrefix.length);
    if (!this.#known.has(name)) {
      this.#known.add(name);
      this.#ajv.addSchema(this.#convert(this.#named(name)) as RawSchema, name);
    }
    return name;
  }

  #named(name: string): RawSchema {
    const schema = this.#schemas[name];
    if (schema === undefined) throw new Error(`GitHub's description refers to the schema ${name}, which it does not have.`);
    return schema;
  }

  #resolve(schema: RawSchema): RawSchema {
    const reference = schema['$ref'];
    return typeof reference === 'string' ? this.#resolve(this.#named(reference.slice(referencePrefix.length))) : schema;
  }

  #propertyNames(schema: RawSchema): ReadonlySet<string> | 'any' {
    const resolved = this.#resolve(schema);
    if (resolved['additionalProperties'] !== undefined && resolved['additionalProperties'] !== false) return 'any';
    const parts = ['allOf', 'anyOf', 'oneOf'].flatMap((key) => (resolved[key] as RawSchema[] | undefined) ?? []);
    const own = Object.keys((resolved['properties'] as RawSchema | undefined) ?? {});
    const ofParts = parts.map((part) => this.#propertyNames(part)).filter((names) => names !== 'any');
    if (own.length === 0 && ofParts.length === 0) return 'any';
    return new Set([...own, ...ofParts.flatMap((names) => [...names])]);
  }
}

const matchesFormat = (format: Ajv['formats'][string], text: string): boolean => {
  if (format instanceof RegExp) return format.test(text);
  return typeof format === 'function' ? format(text) : true;
};

const describeError = ({ instancePath, message, params }: ErrorObject): string => {
  const where = instancePath === '' ? 'the value' : instancePath;
  const allowed = 'allowedValues' in params ? ` (${JSON.stringify(params['allowedValues'])})` : '';
  return `${where} ${message ?? 'does not fit'}${allowed}`;
};
