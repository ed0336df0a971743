import { describe, expect, it } from 'vitest';
import { permissions } from '../access/permissions.ts';
import type { Route } from './route.ts';
import { routes } from './routes.ts';

const all = Object.entries<Route>(routes);

describe('every route', () => {
  it('is another one', () => {
    const places = all.map(([, { method, path }]) => `${method} ${path}`);
    expect(new Set(places).size).toBe(places.length);
  });

  it('that changes something is in the audit history, and no other', () => {
    const isChange = ({ method, permission, answer }: Route): boolean =>
      permission !== null &&
      permission !== 'hooks.wake' &&
      permissions[permission].scope !== 'read' &&
      (method !== 'GET' || ['exec', 'port'].includes(answer.type));
    // Those of the own account take no more than reading.
    const ofAccount = ['createSession', 'createSessionCode', 'endSession'];
    const expected = all.flatMap(([name, route]) => (isChange(route) || ofAccount.includes(name) ? [name] : []));
    expect(all.flatMap(([name, { audit }]) => (audit === undefined ? [] : [name]))).toEqual(expected);
  });

  it('that nobody signs in for says ok or not, exchanges a code, or is the page that does so', () => {
    expect(all.flatMap(([name, { permission }]) => (permission === null ? [name] : []))).toEqual([
      'createSession',
      'readPage',
      'readHealth',
      'readReadiness',
    ]);
  });

  it('counts for more where ephd reads Git or providers for it, or works for long', () => {
    const costs = all.flatMap(([name, { cost = 1 }]) => (cost === 1 ? [] : [[name, cost]]));
    const slow = all.flatMap(([name, route]) => (route.slow ? [[name, 20]] : []));
    const reading = { readConfig: 5, readEnvironment: 5, readUsage: 5, readLogs: 20, validateConfig: 20 };
    const others = { ...reading, exec: 20, forwardPort: 5 };
    expect(Object.fromEntries(costs)).toEqual({ ...Object.fromEntries(slow), ...others });
  });

  it('names what its target is about', () => {
    const places = { environment: '/environments/{id}', project: '/projects/{project}', each: '', all: '', server: '' };
    expect(all.filter(([, { path, target }]) => !path.includes(places[target])).map(([name]) => name)).toEqual([]);
  });
});
