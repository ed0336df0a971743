import { describe, expect, it } from 'vitest';
import { createOpenApi } from './open-api.ts';
import type { Route } from './route.ts';
import { routes } from './routes.ts';

interface Operation {
  readonly operationId: string;
  readonly security?: readonly unknown[];
  readonly parameters?: readonly { readonly name: string; readonly in: string; readonly description?: string }[];
  readonly responses: Readonly<Record<string, unknown>>;
}

const document = createOpenApi('1.2.3') as {
  readonly info: { readonly version: string };
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
};

describe('the OpenAPI document', () => {
  it.each(Object.entries<Route>(routes))('describes %s', (name, { method, path, permission, query, answer }) => {
    const operation = document.paths[path]?.[method.toLowerCase()];
    expect(operation?.operationId).toBe(name);
    expect(operation?.security).toEqual(permission === null ? [] : undefined);
    const names = [...path.matchAll(/\{(\w+)\}/g)].map(([, one]) => one);
    const named = (place: string) => operation?.parameters?.filter((one) => one.in === place) ?? [];
    expect(named('path').map((one) => one.name)).toEqual(names);
    expect(named('query').map((one) => one.name)).toEqual(Object.keys(query?.shape ?? {}));
    expect(named('query').every((one) => one.description !== undefined)).toBe(true);
    const status =
      answer.type === 'json' ? String(answer.status) : { none: '204', exec: '101', text: '200', stream: '200' }[answer.type];
    expect(Object.keys(operation?.responses ?? {})).toEqual([status, 'default']);
  });

  it('names the version of ephd', () => {
    expect(document.info.version).toBe('1.2.3');
  });
});
