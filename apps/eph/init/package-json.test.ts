import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { matchesWorkspace, parsePackage, parsePnpmWorkspace } from './package-json.ts';

describe('a package.json', () => {
  it('says how to start, what to install and where its packages are', () => {
    const text =
      '{"scripts":{"start":"node x","dev":" "},"main":"./a.js","dependencies":{"a":"1"},"workspaces":["a/*"],"exports":"."}';
    expect(parsePackage(text)).toStrictEqual({
      scripts: new Map([['start', 'node x']]),
      main: 'a.js',
      workspaces: ['a/*'],
      needsPackages: true,
      isLibrary: true,
    });
    expect(parsePackage('{"devDependencies":{"a":"1"}}').needsPackages).toBe(true);
  });

  it.each([
    '{"scripts":{"start":1},"dependencies":"x","workspaces":"x","main":[]}',
    '{"scripts":[],"workspaces":[1]}',
    'null',
    '{',
  ])('%s is understood as far as it goes', (text) => {
    const nothing = { scripts: new Map(), main: undefined, workspaces: [], needsPackages: false, isLibrary: false };
    expect({ ...parsePackage(text), needsPackages: false }).toStrictEqual(nothing);
  });
});

describe('a workspace', () => {
  it('of pnpm is a list', () => {
    expect(
      parsePnpmWorkspace('# x\npackages:\n  # y\n  - "apps/*"\n\n  - packages/**\n  - \'!a\'\ncatalog:\n  - x\n'),
    ).toStrictEqual(['apps/*', 'packages/**', '!a']);
    expect(parsePnpmWorkspace('catalog: {}')).toStrictEqual([]);
  });

  it.each<[readonly string[], string, boolean]>([
    [['packages/*'], 'packages/web', true],
    [['packages/*'], 'packages/web/deep', false],
    [['./packages/**'], 'packages/web/deep', true],
    [['web/'], 'web', true],
    [['packages/*', '!packages/old'], 'packages/old', false],
    [['a.b'], 'a-b', false],
    [[], '', false],
  ])('%j holds %s: %s', (patterns, folder, expected) => {
    expect(matchesWorkspace(patterns, folder)).toBe(expected);
  });
});

it('takes any text without complaint, and soon', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary', maxLength: 300 }), (text) => {
      parsePackage(text);
      matchesWorkspace([...parsePnpmWorkspace(`packages:\n  - ${text}`), text], text);
    }),
  );
  expect(matchesWorkspace(['a*'.repeat(30)], 'a'.repeat(100))).toBe(false);
  for (const hostile of [' '.repeat(60_000), '- \n'.repeat(20_000)]) parsePnpmWorkspace(`packages:\n${hostile}`);
});
