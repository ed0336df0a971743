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
  it.each(Object.entries<Route>(routes))('describes %s', (name, { method, path, permission, query, answer, etag }) => {
    const operation = document.paths[path]?.[method.toLowerCase()];
    expect(operation?.operationId).toBe(name);
    expect(operation?.security).toEqual(permission === null ? [] : undefined);
    const names = [...path.matchAll(/\{(\w+)\}/g)].map(([, one]) => one);
    const named = (place: string) => operation?.parameters?.filter((one) => one.in === place) ?? [];
    expect(named('path').map((one) => one.name)).toEqual(names);
    expect(named('query').map((one) => one.name)).toEqual(Object.keys(query?.shape ?? {}));
    expect(named('query').every((one) => one.description !== undefined)).toBe(true);
    const status =
      answer.type === 'json'
        ? String(answer.status)
        : { none: '204', exec: '101', port: '101', text: '200', page: '200', stream: '200' }[answer.type];
    const expected = [
      status,
      ...(etag ? ['304'] : []),
      '400',
      '403',
      '429',
      ...(permission === null ? [] : ['401', '404', '503']),
    ];
    expect(Object.keys(operation?.responses ?? {})).toEqual(expect.arrayContaining(expected));
  });

  it('names each error that ephd answers with, and no error that is a bug', () => {
    const statuses = (path: string, method: string) => Object.keys(document.paths[path]?.[method]?.responses ?? {});
    expect(statuses('/api/v1/environments', 'post')).toEqual(expect.arrayContaining(['202', '409', '413', '502']));
    expect(statuses('/api/v1/environments/{id}/scale', 'put')).toContain('409');
    expect(statuses('/healthz', 'get')).toEqual(['200', '400', '403', '429']);
    const all = Object.values(document.paths).flatMap((one) =>
      Object.values(one).flatMap(({ responses }) => Object.keys(responses)),
    );
    expect(all).not.toContain('500');
    expect(all).not.toContain('default');
  });

  it('describes what the data of a stream is', () => {
    const answer = JSON.stringify(document.paths['/api/v1/environments/{id}/logs']?.['get']?.responses['200']);
    expect(answer).toContain('"contentMediaType":"application/json","contentSchema":{"type":"object","properties":{"component"');
  });

  it('names the version of ephd', () => {
    expect(document.info.version).toBe('1.2.3');
  });
});
