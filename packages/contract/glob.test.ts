import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { compileGlob, compilePathGlob, findGlob } from './glob.ts';

const matchesGlob = (name: string, pattern: string): boolean => compileGlob(pattern)(name);

describe('a pattern', () => {
  it.each<readonly [string, readonly string[], readonly string[]]>([
    ['main', ['main'], ['mai', 'main2', 'Main', 'x/main', '']],
    ['preview/*', ['preview/a', 'preview/'], ['preview', 'preview/a/b', 'x/preview/a']],
    ['preview/**', ['preview/a', 'preview/a/b', 'preview/'], ['preview', 'previews/a']],
    ['*', ['main', ''], ['a/b']],
    ['**', ['main', 'a/b/c', ''], []],
    ['*/*', ['a/b', '/'], ['a', 'a/b/c']],
    ['**/x', ['a/x', 'a/b/x', '/x'], ['x', 'a/xy']],
    ['a*b*c', ['abc', 'aXbYc', 'abcbc'], ['ab', 'a/bc', 'abcd']],
    ['v?.?', ['v1.0', 'v1.2'], ['v1', 'v1.10', 'v1./']],
    ['**a*b', ['x/a1b', 'a/aab', 'ab'], ['a/b', 'ab/']],
    ['*a**b', ['a/b', 'xa/y/b'], ['x/a/b/', '/ab']],
    ['release-[1-3]', ['release-[1-3]'], ['release-1']],
    ['a+(b)', ['a+(b)'], ['ab', 'abb']],
    ['ärger/*', ['ärger/日本語'], ['arger/x']],
    ['?', ['🚢', 'x'], ['', '/', 'xy', '🚢🚢']],
    ['', [''], ['a']],
    ['***', ['a/b', ''], []],
  ])('%j', (pattern, matching, others) => {
    expect(matching.filter((name) => !matchesGlob(name, pattern))).toEqual([]);
    expect(others.filter((name) => matchesGlob(name, pattern))).toEqual([]);
  });

  it('means what the regular expression for it would mean', () => {
    const reference = (pattern: string): RegExp => {
      const parts = pattern.match(/\*\*|./gsu) ?? [];
      const translated = parts.map(
        (part) => ({ '**': '.*', '*': '[^/]*', '?': '[^/]' })[part] ?? part.replace(/[\\^$.|+()[\]{}/]/g, '\\$&'),
      );
      return new RegExp(`^${translated.join('')}$`, 'su');
    };
    const name = fc.string({ unit: fc.constantFrom('a', 'b', '/', '.', '🚢'), maxLength: 12 });
    const pattern = fc
      .array(fc.constantFrom('a', 'b', '/', '*', '**', '?', '.', '🚢'), { maxLength: 8 })
      .map((parts) => parts.join(''));
    fc.assert(
      fc.property(name, pattern, (text, glob) => {
        expect(matchesGlob(text, glob)).toBe(reference(glob).test(text));
      }),
      { numRuns: 5000 },
    );
  });

  it('matches every name that was made from it', () => {
    const segment = fc.stringMatching(/^[a-z0-9.-]{0,8}$/);
    const piece = fc.oneof(
      segment.map((text) => ({ glob: text, name: text })),
      segment.map((text) => ({ glob: '*', name: text })),
      fc.array(segment).map((texts) => ({ glob: '**', name: texts.join('/') })),
      fc.constant({ glob: '/', name: '/' }),
    );
    fc.assert(
      fc.property(fc.array(piece), (pieces) =>
        matchesGlob(pieces.map((one) => one.name).join(''), pieces.map((one) => one.glob).join('')),
      ),
    );
  });
});

describe('a pattern made to take forever', { timeout: 10_000 }, () => {
  it.each([
    ['single stars', '*a'.repeat(127)],
    ['double stars', '**a'.repeat(85)],
    ['both', `**${'*a'.repeat(126)}`],
    ['stars and question marks', `**${'*?'.repeat(60)}*${'a'.repeat(60)}`],
    ['stars and slashes', '**/*a'.repeat(51)],
  ])('of %s does not', (_, pattern) => {
    const names = ['a'.repeat(255), 'a/'.repeat(127), `${'a'.repeat(254)}/`];
    expect(names.map((name) => matchesGlob(name, `${pattern}b`))).toEqual([false, false, false]);
  });

  it('does not either with a name of 100 kB, which matches nothing', () => {
    expect(matchesGlob('a'.repeat(100_000), `${'*a'.repeat(127)}*`)).toBe(false);
    expect(matchesGlob('a'.repeat(4096), '**')).toBe(true);
  });
});

describe('many patterns', () => {
  it('find the first one that matches', () => {
    const patterns = ['release/*', 'preview/**', '**'];
    expect(['release/1', 'preview/a/b', 'main'].map((name) => findGlob(name, patterns))).toEqual(patterns);
    expect(findGlob('main', patterns.slice(0, 2))).toBeUndefined();
  });

  it('find the same when there are more than are kept', () => {
    const patterns = Array.from({ length: 1_200 }, (_, index) => `*/${index}`);
    for (let round = 0; round < 2; round += 1)
      for (const index of [0, 700, 1_199]) expect(findGlob(`a/${index}`, patterns)).toBe(`*/${index}`);
  });

  it('may be as long as 32 parts and more', () => {
    for (const length of [30, 31, 32, 33, 63, 64, 65, 127]) {
      const pattern = `?${'*a'.repeat(length)}`;
      expect([matchesGlob(`x${'ba'.repeat(length)}`, pattern), matchesGlob(`x${'ba'.repeat(length - 1)}`, pattern)]).toEqual([
        true,
        false,
      ]);
    }
  });
});

describe('a pattern for files', () => {
  it('means what it means for refs, but that ** between folders may be no folder', () => {
    const reference = (pattern: string): RegExp => {
      const parts = pattern.match(/(?<=^|\/)\*\*\/|\*\*|./gsu) ?? [];
      const meanings: Record<string, string> = { '**/': '(?:.*/)?', '**': '.*', '*': '[^/]*', '?': '[^/]' };
      return new RegExp(`^${parts.map((part) => meanings[part] ?? part.replace(/[.]/g, '\\$&')).join('')}$`, 'su');
    };
    const name = fc.string({ unit: fc.constantFrom('a', 'b', '/', '.'), maxLength: 12 });
    const pattern = fc
      .array(fc.constantFrom('a', 'b', '/', '/**/', '**/', '*', '**', '?', '.'), { maxLength: 8 })
      .map((parts) => parts.join(''));
    fc.assert(
      fc.property(name, pattern, (path, glob) => {
        expect(compilePathGlob(glob)(path)).toBe(reference(glob).test(path));
      }),
      { numRuns: 5000 },
    );
  });
});
