import { describe, expect, it } from 'vitest';
import { checkDigest, checkReference, parseRepositoryName } from './repository-name.ts';

describe('the name of a repository', () => {
  it.each([
    ['ghcr.io/acme/shop', 'ghcr.io', 'ghcr.io', 'acme/shop'],
    ['docker.io/library/redis', 'docker.io', 'registry-1.docker.io', 'library/redis'],
    ['index.docker.io/library/redis', 'docker.io', 'registry-1.docker.io', 'library/redis'],
    ['registry.example.com:5000/shop', 'registry.example.com:5000', 'registry.example.com:5000', 'shop'],
    ['GHCR.io:443/acme/shop', 'ghcr.io', 'ghcr.io', 'acme/shop'],
    ['localhost:5000/a/b/c__d/e-f.g', 'localhost:5000', 'localhost:5000', 'a/b/c__d/e-f.g'],
    ['[2001:db8::1]:5000/shop', '[2001:db8::1]:5000', '[2001:db8::1]:5000', 'shop'],
    // However an address is written, it is compared in one way.
    ['0x7f.1/shop', '127.0.0.1', '127.0.0.1', 'shop'],
  ])('%s is on %s', (name, host, apiHost, path) => {
    expect(parseRepositoryName(name)).toEqual({ host, apiHost, path, shown: `${host}/${path}` });
  });

  it.each([
    '',
    'shop',
    '/shop',
    'ghcr.io/',
    'ghcr.io/Acme/shop',
    'ghcr.io/acme//shop',
    'ghcr.io/acme/../../v1/secret',
    'ghcr.io/acme/shop?x=y',
    'ghcr.io/acme/shop#x',
    'ghcr.io/acme/shop:v1',
    'ghcr.io/acme/shop@sha256',
    'ghcr.io/acme/sh op',
    'ghcr.io/acme/sh\nop',
    'ghcr.io\r\nx/acme',
    'user:password@ghcr.io/acme/shop',
    'https://ghcr.io/acme/shop',
    'ghcr.io:99999/acme/shop',
    'ghcr.io:/acme/shop',
    'ghcr.io/größe',
    `ghcr.io/${'a'.repeat(600)}`,
    '[::1/shop',
    `ghcr.io/${'a-'.repeat(200)}!`,
  ])('is not %j', (name) => {
    expect(() => parseRepositoryName(name)).toThrow(/is not the name of a repository, such as ghcr\.io\/acme\/shop\.$/);
  });
});

describe('a reference', () => {
  const digest = `sha256:${'a'.repeat(64)}`;

  it.each(['v1', '_x', 'A.b-c_d', '0'.repeat(128), digest])('may be %j', (reference) => {
    expect(() => checkReference(reference)).not.toThrow();
  });

  it.each(['', '.', '..', '../x', 'a/b', 'a:b', '-x', '0'.repeat(129), `${digest}0`, digest.toUpperCase(), 'sha512:aa', 'a\n'])(
    'is not %j',
    (reference) => {
      expect(() => checkReference(reference)).toThrow('is not a tag');
      expect(() => checkDigest(reference)).toThrow('is not a digest');
    },
  );
});
