import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { hostOf, imageRepository, isInRegistry, isUnderHost } from './allow-lists.ts';

describe('the repository of an image', () => {
  it.each([
    ['redis', 'docker.io/library/redis'],
    ['redis:7-alpine', 'docker.io/library/redis'],
    ['org/app:1', 'docker.io/org/app'],
    ['index.docker.io/org/app', 'docker.io/org/app'],
    ['ghcr.io/org/app:v1', 'ghcr.io/org/app'],
    ['GHCR.io/org/app', 'ghcr.io/org/app'],
    [`ghcr.io/org/app:v1@sha256:${'a'.repeat(64)}`, 'ghcr.io/org/app'],
    ['localhost:5000/app', 'localhost:5000/app'],
    ['localhost:5000', 'docker.io/library/localhost'],
    ['localhost/app', 'localhost/app'],
  ])('%j is %j', (image, repository) => {
    expect(imageRepository(image)).toBe(repository);
  });

  it.each([
    '',
    ' redis',
    'ghcr.io/org/../evil/app',
    'ghcr.io//org/app',
    'ghcr.io/org@evil.com/app',
    'ghcr.io/org@sha256:1@sha256:2',
    'ghcr.io/org#/app',
    'ghcr.io/org/app:',
    'ghcr.io/Org/app',
    'https://ghcr.io/org/app',
    'ghcr.io\n/org/app',
    '日本/app',
  ])('%j is none', (image) => {
    expect(imageRepository(image)).toBeUndefined();
  });
});

describe('a registry on a list', () => {
  it.each([
    ['ghcr.io/org/app:1', 'ghcr.io', true],
    ['ghcr.io/org/app:1', 'ghcr.io/org', true],
    ['ghcr.io/org/app:1', 'ghcr.io/org/app', true],
    ['ghcr.io/organ/app', 'ghcr.io/org', false],
    ['ghcr.io.evil.com/org/app', 'ghcr.io', false],
    ['ghcr.io:444/org/app', 'ghcr.io', false],
    ['ghcr.io/org', 'ghcr.io/org/app', false],
    ['redis', 'docker.io', true],
    ['redis', 'docker.io/library', true],
    ['evil/redis', 'docker.io/library', false],
    ['ghcr.io/org/app/api', 'ghcr.io/*/app', true],
    ['ghcr.io/a-team/app', 'ghcr.io/*-team', true],
    ['ghcr.io/team/app', 'ghcr.io/*-team', false],
    ['ghcr.io/org/../evil', 'ghcr.io/org', false],
    ['', '*', false],
  ])('for %j and %j: %j', (image, registry, allowed) => {
    expect(isInRegistry(image, registry)).toBe(allowed);
  });
});

describe('a host on a list', () => {
  it.each([
    ['a.example.com', '*.example.com', true],
    ['A.Example.COM.', '*.example.com', true],
    ['a.b.example.com', '*.example.com', false],
    ['example.com', '*.example.com', false],
    ['a.b.example.com', '**.example.com', true],
    ['example.com', '**.example.com', false],
    ['evil-example.com', '**.example.com', false],
    ['example.com.evil.com', 'example.com', false],
    ['pr-1.example.com', 'pr-*.example.com', true],
    ['.example.com', '*.example.com', false],
    ['', '*', false],
    ['[::1]', '[::1]', true],
  ])('for %j and %j: %j', (host, pattern, allowed) => {
    expect(isUnderHost(host, pattern)).toBe(allowed);
  });

  it.each([
    ['https://auth.example.com/x', 'auth.example.com'],
    ['https://auth.example.com@evil.com/', 'evil.com'],
    ['postgres://u:p@db.internal:5432/x', 'db.internal'],
    ['auth.example.com', undefined],
    ['localhost:3000', undefined],
    ['', undefined],
  ])('is in the address %j: %j', (address, host) => {
    expect(hostOf(address)).toBe(host);
  });
});

describe('any text', () => {
  it('is allowed or not, and nothing else happens', () => {
    const unit = fc.constantFrom('a', 'b', '.', '/', ':', '@', '*', '-', '_', ' ', 'é', '\n');
    fc.assert(
      fc.property(fc.string({ unit, maxLength: 60 }), fc.string({ unit, maxLength: 20 }), (text, pattern) => {
        expect([true, false]).toContain(isInRegistry(text, pattern));
        expect([true, false]).toContain(isUnderHost(text, pattern));
      }),
      { numRuns: 2_000 },
    );
  });

  it.each(['a', 'a.', 'a/', 'a:', ':', '@', '-', '_', 'a-', '*a'])(
    'is read in one go when it is %j a hundred thousand times',
    (unit) => {
      const text = unit.repeat(100_000);
      expect([true, false]).toContain(isInRegistry(text, '*a*a*a*b'));
      expect([true, false]).toContain(isUnderHost(text, '*a*a*a*b'));
    },
  );
});
