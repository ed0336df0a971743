import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { permissions, roleIncludes, roles, scopeIncludes, scopes } from './permissions.ts';

describe('roles', () => {
  it('include those before them', () => {
    expect(roles.map((held) => roles.filter((needed) => roleIncludes(held, needed)))).toEqual([
      ['viewer'],
      ['viewer', 'developer'],
      ['viewer', 'developer', 'operator'],
      ['viewer', 'developer', 'operator', 'admin'],
    ]);
  });
});

describe('scopes', () => {
  it('include each other, and wake only wakes', () => {
    expect(Object.fromEntries(scopes.map((held) => [held, scopes.filter((needed) => scopeIncludes(held, needed))]))).toEqual({
      wake: ['wake'],
      read: ['read'],
      write: ['wake', 'read', 'write'],
      admin: ['wake', 'read', 'write', 'admin'],
    });
  });

  it('are an order: what a scope includes, includes no more than it', () => {
    const scope = fc.constantFrom(...scopes);
    fc.assert(
      fc.property(scope, scope, scope, (a, b, c) => {
        fc.pre(scopeIncludes(a, b) && scopeIncludes(b, c));
        expect(scopeIncludes(a, c)).toBe(true);
      }),
    );
  });
});

describe('permissions', () => {
  it('that change something need more than read', () => {
    const reading = Object.entries(permissions).filter(([, { scope }]) => scope === 'read');
    expect(reading.map(([name]) => name).filter((name) => !name.endsWith('.read'))).toEqual([]);
  });
});
