import type { Description, Operation } from '../openapi/description.ts';
import type { Route } from './route.ts';

export interface Match {
  readonly operation: Operation;
  /** `undefined` where GitHub has the operation and the emulator has not. */
  readonly route: Route | undefined;
  readonly path: Readonly<Record<string, string>>;
}

interface Pattern {
  readonly operation: Operation;
  readonly expression: RegExp;
  readonly names: readonly string[];
  readonly fixedSegments: number;
}

/** Finds the operation of a path. */
export class Router {
  readonly #routes: ReadonlyMap<string, Route>;
  readonly #emulated: readonly Pattern[];
  readonly #description: Description;

  constructor(description: Description, routes: readonly Route[]) {
    this.#routes = new Map(routes.map((route) => [route.operation, route]));
    this.#emulated = toPatterns(routes.map(({ operation }) => description.operation(operation)));
    this.#description = description;
  }

  match(method: string, path: string): Match | undefined {
    const wanted = method === 'HEAD' ? 'GET' : method;
    const emulated = this.#matchAmong(this.#emulated, wanted, path);
    // A thousand patterns, to tell a path that GitHub lacks from one that only the emulator lacks.
    return emulated ?? this.#matchAmong(toPatterns([...this.#description.operations.values()]), wanted, path);
  }

  #matchAmong(patterns: readonly Pattern[], method: string, path: string): Match | undefined {
    for (const { operation, expression, names } of patterns) {
      if (operation.method !== method) continue;
      const match = expression.exec(path);
      if (match === null) continue;
      const values = match.slice(1).map((text: string | undefined) => decode(text ?? ''));
      const entries = names.map((name, index) => [name, values[index] ?? ''] as const);
      return { operation, route: this.#routes.get(operation.id), path: Object.fromEntries(entries) };
    }
    return undefined;
  }
}

/** The most particular first: `/issues/comments` before `/issues/{issue_number}`. */
const toPatterns = (operations: readonly Operation[]): readonly Pattern[] =>
  operations.map(toPattern).toSorted((a, b) => b.fixedSegments - a.fixedSegments);

const toPattern = (operation: Operation): Pattern => {
  const names: string[] = [];
  const manySegments = new Set(operation.parameters.filter((one) => one['x-multi-segment'] === true).map(({ name }) => name));
  const segments = operation.template.split('/').slice(1);
  const expression = segments.map((segment) => {
    const name = /^\{(.+)\}$/.exec(segment)?.[1];
    if (name === undefined) return segment.replaceAll(/[.*+?^${}()|[\]\\]/g, String.raw`\$&`);
    names.push(name);
    return manySegments.has(name) ? '(.*)' : '([^/]+)';
  });
  return {
    operation,
    expression: new RegExp(`^/${expression.join('/')}$`),
    names,
    fixedSegments: segments.filter((segment) => !segment.startsWith('{')).length,
  };
};

const decode = (text: string): string => {
  try {
    return decodeURIComponent(text);
  } catch {
    // GitHub takes an invalid escape literally, and finds nothing.
    return text;
  }
};
