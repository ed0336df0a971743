import { describe, expect, it } from 'vitest';
import { matchProjects, normalizeAddress } from './match-project.ts';

describe('an address of a repository', () => {
  it.each([
    'https://git.example.com/acme/shop',
    'https://git.example.com/acme/shop.git',
    'https://git.example.com/acme/shop/',
    'https://ann:secret@git.example.com/acme/shop.git',
    'https://***@git.example.com/acme/shop.git',
    'http://git.example.com:3000/acme/shop',
    'ssh://git@git.example.com:2222/acme/shop.git',
    'git@git.example.com:acme/shop.git',
    'git.example.com:/acme/shop',
    'git://GIT.example.com/Acme/Shop.git',
  ])('is the same as %s', (text) => {
    expect(normalizeAddress(text)).toBe('git.example.com/acme/shop');
  });

  it.each([
    ['/srv/git/shop.git', '/srv/git/shop'],
    ['/srv/git/shop/.git', '/srv/git/shop'],
    ['/srv/git/Shop//', '/srv/git/Shop'],
    ['file:///srv/git/shop.git', '/srv/git/shop'],
  ])('may be the path %s', (text, path) => {
    expect(normalizeAddress(text)).toBe(path);
  });

  it.each(['https://git.example.com/acme/shop2', 'https://evil.example.com/acme/shop', 'git.example.com/acme/shop/', ''])(
    'is not %j',
    (text) => {
      const projects = [{ id: 'shop', address: '/git.example.com/acme/shop' }];
      expect(matchProjects({ repository: '/x/.git', remotes: [{ name: 'origin', url: text }] }, projects)).toStrictEqual([]);
    },
  );
});
