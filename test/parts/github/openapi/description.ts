import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { applyDeviations } from './deviations.ts';
import type { Content, Parameter, RawDescription, RawOperation, RawSchema, Reference } from './raw-description.ts';

export type Flavour = 'github.com' | 'enterprise';

export interface Operation {
  readonly id: string;
  readonly method: string;
  readonly template: string;
  readonly documentation: string;
  readonly parameters: readonly Parameter[];
  readonly body: { readonly required: boolean; readonly schema: RawSchema } | undefined;
  /** Per status the schema of a JSON answer, `undefined` where the answer has none. */
  readonly answers: ReadonlyMap<number, RawSchema | undefined>;
}

const loaded = new Map<Flavour, Description>();

/** GitHub's published description of its REST API. */
export class Description {
  readonly raw: RawDescription;
  readonly operations: ReadonlyMap<string, Operation>;

  private constructor(raw: RawDescription) {
    this.raw = raw;
    this.operations = new Map(
      Object.entries(raw.paths).flatMap(([template, methods]) =>
        Object.entries(methods).map(([method, operation]) => [
          operation.operationId,
          this.#describe(method.toUpperCase(), template, operation),
        ]),
      ),
    );
  }

  /** Ten megabytes to parse, so once per process. */
  static load(flavour: Flavour): Description {
    const known = loaded.get(flavour);
    if (known !== undefined) return known;
    const raw = JSON.parse(readFileSync(pathOf(flavour), 'utf8')) as RawDescription;
    applyDeviations(raw);
    const description = new Description(raw);
    loaded.set(flavour, description);
    return description;
  }

  operation(id: string): Operation {
    const operation = this.operations.get(id);
    if (operation === undefined) throw new Error(`GitHub's description has no operation ${id}.`);
    return operation;
  }

  /** The payload of a webhook, for instance `pull-request-labeled` or `push`. */
  webhook(name: string): RawSchema {
    const schema = jsonSchema(this.raw['x-webhooks'][name]?.post.requestBody);
    if (schema === undefined) throw new Error(`GitHub's description has no webhook ${name}.`);
    return schema;
  }

  #describe(method: string, template: string, operation: RawOperation): Operation {
    const schema = jsonSchema(operation.requestBody);
    const { parameters, responses } = this.raw.components;
    return {
      id: operation.operationId,
      method,
      template,
      documentation: operation.externalDocs?.url ?? 'https://docs.github.com/rest',
      parameters: (operation.parameters ?? []).map((entry) => resolve(entry, parameters)),
      body: schema === undefined ? undefined : { required: operation.requestBody?.required ?? false, schema },
      answers: new Map(
        Object.entries(operation.responses).map(([status, entry]) => [Number(status), jsonSchema(resolve(entry, responses))]),
      ),
    };
  }
}

const pathOf = (flavour: Flavour): string => {
  const require = createRequire(import.meta.url);
  return flavour === 'enterprise'
    ? require.resolve('@octokit/openapi/generated/ghes-3.19.json')
    : require.resolve('@octokit/openapi/generated/api.github.com.json');
};

const resolve = <T extends object>(entry: T | Reference, components: Readonly<Record<string, T>>): T => {
  if (!('$ref' in entry)) return entry;
  const found = components[entry.$ref.split('/').at(-1) ?? ''];
  if (found === undefined) throw new Error(`GitHub's description refers to ${entry.$ref}, which it does not have.`);
  return found;
};

const jsonSchema = (entry: Content | undefined): RawSchema | undefined => entry?.content?.['application/json']?.schema;
