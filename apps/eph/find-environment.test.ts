import { describe, expect, it } from 'vitest';
import { CommandFailure } from './command-failure.ts';
import { fakeEnvironment } from './ephd.fake.ts';
import { exitCodes } from './exit-codes.ts';
import { chooseEnvironment } from './find-environment.ts';

const login = fakeEnvironment();
const logout = fakeEnvironment({
  id: 'fedcba9876543210',
  name: 'shop-quiet-river-1188',
  alias: null,
  source: { kind: 'branch', name: 'preview/logout' },
});
const release = fakeEnvironment({
  id: 'abcabcabcabcabca',
  name: 'blog-brave-hill-9000',
  alias: 'blog-v1',
  source: { kind: 'tag', name: 'preview/logout' },
});
const all = [login, logout, release];

const failureOf = (text: string, environments = all): CommandFailure => {
  try {
    chooseEnvironment(environments, text);
  } catch (error) {
    if (error instanceof CommandFailure) return error;
  }
  throw new Error(`${text} was found`);
};

describe('an environment on the command line', () => {
  it.each([
    ['its branch', 'preview/login', login],
    ['its branch with the kind', 'branch:preview/logout', logout],
    ['its tag with the kind', 'tag:preview/logout', release],
    ['the beginning of its name', 'shop-q', logout],
    ['the beginning of its id', '0123', login],
    ['the beginning of its alias', 'blog-v', release],
    ['the beginning of its branch', 'preview/logi', login],
  ])('may be %s', (_, text, expected) => {
    expect(chooseEnvironment(all, text)).toBe(expected);
  });

  it('is the exact one when others only begin the same', () => {
    const longer = fakeEnvironment({ id: '1111111111111111', name: 'shop-serene-ocean-42071', alias: null });
    expect(chooseEnvironment([longer, login], 'shop-serene-ocean-4207')).toBe(login);
  });

  it('must match only one, and the others are named', () => {
    const failure = failureOf('shop');
    expect(failure.exitCode).toBe(exitCodes.notFound);
    expect(failure.message).toContain('matches 2 environments');
    expect(failure.message).toContain('shop-serene-ocean-4207 (branch preview/login)');
    expect(failure.message).toContain('shop-quiet-river-1188 (branch preview/logout)');
    expect(failure.message).not.toContain('blog');
  });

  it('is not listed a thousand times when it fits a thousand', () => {
    const many = Array.from({ length: 1_000 }, (_, index) => fakeEnvironment({ id: index.toString(16).padStart(16, '0') }));
    expect(failureOf('shop', many).message).toContain('and 990 more');
  });

  it('is suggested when the name is nearly right', () => {
    expect(failureOf('shop-serene-ocaen-4207').message).toContain('Did you mean shop-serene-ocean-4207?');
    expect(failureOf('').message).toContain('There is no environment ""');
    expect(failureOf('x', []).message).toContain('There are no environments.');
  });
});
