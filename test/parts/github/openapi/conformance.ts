import type { Description, Operation } from './description.ts';
import type { Parameter, RawSchema } from './raw-description.ts';
import { SchemaValidators } from './schema-validators.ts';

/** Something that does not fit GitHub's description: a mistake of the caller (request) or of the emulator (answer, webhook). */
export interface Violation {
  readonly kind: 'request' | 'answer' | 'webhook';
  /** For instance `GET /repos/acme/shop/pulls (pulls/list)`. */
  readonly where: string;
  readonly faults: readonly string[];
}

export class NonconformingError extends Error {
  readonly violation: Violation;

  constructor(violation: Violation) {
    super(describeViolation(violation));
    this.violation = violation;
  }
}

export const describeViolation = ({ kind, where, faults }: Violation): string =>
  `${where}: the ${kind} does not fit GitHub's OpenAPI description: ${faults.join('; ')}`;

/** A request before its parameters are parsed according to the description. */
export interface RequestParts {
  readonly where: string;
  readonly path: Readonly<Record<string, string>>;
  readonly query: URLSearchParams;
  readonly body: unknown;
}

export interface ParsedRequest {
  readonly path: Readonly<Record<string, unknown>>;
  readonly query: Readonly<Record<string, unknown>>;
  readonly body: unknown;
}

/** GitHub sends these everywhere, but documents them only in some places. */
const everywhere: ReadonlySet<number> = new Set([301, 304, 307, 400, 401, 403, 404, 406, 409, 410, 415, 429, 500, 502, 503]);
const validators = new Map<Description, SchemaValidators>();

/** Validates requests, answers and webhooks against the description and records violations. */
export class Conformance {
  readonly #description: Description;
  readonly #validators: SchemaValidators;
  #violations: Violation[] = [];

  constructor(description: Description) {
    this.#description = description;
    // Compiled schemas outlive one emulator: a test file starts many.
    const shared = validators.get(description) ?? new SchemaValidators(description.raw.components.schemas);
    validators.set(description, shared);
    this.#validators = shared;
  }

  /** Returns and clears the violations so far. */
  take(): readonly Violation[] {
    const taken = this.#violations;
    this.#violations = [];
    return taken;
  }

  refuse(violation: Violation): NonconformingError {
    this.#violations.push(violation);
    return new NonconformingError(violation);
  }

  parseRequest(operation: Operation, parts: RequestParts): ParsedRequest {
    const path = this.#parseParameters(operation, 'path', (name) => parts.path[name]);
    const query = this.#parseParameters(operation, 'query', (name) => parts.query.getAll(name).at(-1));
    const described = new Set(operation.parameters.map(({ name }) => name));
    const unknown = [...new Set(parts.query.keys())]
      .filter((name) => !described.has(name))
      .map((name) => `the operation has no query parameter "${name}"`);
    const faults = [...path.faults, ...query.faults, ...unknown, ...this.#bodyFaults(operation, parts.body)];
    if (faults.length > 0) throw this.refuse({ kind: 'request', where: parts.where, faults });
    return { path: path.values, query: query.values, body: parts.body };
  }

  checkAnswer(operation: Operation, where: string, status: number, body: unknown): void {
    const faults = this.#answerFaults(operation, status, body);
    if (faults.length > 0) throw this.refuse({ kind: 'answer', where: `${where} → ${status}`, faults });
  }

  checkWebhook(name: string, payload: unknown): void {
    const faults = this.#validators.faults(this.#description.webhook(name), payload);
    if (faults.length > 0) throw this.refuse({ kind: 'webhook', where: name, faults });
  }

  #answerFaults(operation: Operation, status: number, body: unknown): readonly string[] {
    const described = operation.answers.has(status);
    if (!described && !everywhere.has(status) && status !== 422) return [`the operation never answers with ${status}`];
    const schema = described ? operation.answers.get(status) : this.#errorSchema(status);
    if (body === undefined || schema === undefined) return [];
    const unknown = this.#validators.unknownProperties(schema, body);
    return [
      ...this.#validators.faults(schema, body),
      // Errors have more properties than their description lists.
      ...(status >= 300 ? [] : unknown.map((name) => `the answer has no property "${name}"`)),
    ];
  }

  #errorSchema(status: number): RawSchema {
    return { $ref: `#/components/schemas/${status === 422 ? 'validation-error' : 'basic-error'}` };
  }

  #parseParameters(
    operation: Operation,
    place: Parameter['in'],
    read: (name: string) => string | undefined,
  ): { readonly values: Record<string, unknown>; readonly faults: readonly string[] } {
    const values: Record<string, unknown> = {};
    const faults: string[] = [];
    for (const parameter of operation.parameters.filter(({ in: where }) => where === place)) {
      const text = read(parameter.name);
      if (text === undefined) {
        if (parameter.required === true) faults.push(`the ${place} parameter "${parameter.name}" is missing`);
        continue;
      }
      const value = parseText(text, parameter.schema['type']);
      values[parameter.name] = value;
      faults.push(...this.#validators.faults(parameter.schema, value).map((fault) => `"${parameter.name}": ${fault}`));
    }
    return { values, faults };
  }

  #bodyFaults(operation: Operation, body: unknown): readonly string[] {
    if (operation.body === undefined) return body === undefined ? [] : ['the operation takes no body'];
    if (body === undefined) return operation.body.required ? ['the body is missing'] : [];
    const { schema } = operation.body;
    return [
      ...this.#validators.faults(schema, body).map((fault) => `in the body, ${fault}`),
      ...this.#validators.unknownProperties(schema, body).map((name) => `the body has no property "${name}"`),
    ];
  }
}

const parseText = (text: string, type: unknown): unknown => {
  if ((type === 'integer' || type === 'number') && /^-?\d+(\.\d+)?$/.test(text)) return Number(text);
  if (type === 'boolean' && (text === 'true' || text === 'false')) return text === 'true';
  return text;
};
