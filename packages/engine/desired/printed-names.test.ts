import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { printName, printNames, printSource } from './printed-names.ts';

describe('a name in a line for people', () => {
  it('stays as it is where that harms nobody', () => {
    for (const name of ['preview/login', 'größe 日本語', '👩‍👩‍👧', '$(id) `x` <b>', '']) expect(printName(name)).toBe(name);
  });

  it('loses what would end the line, turn it round or cannot be written', () => {
    expect(printName('a\nb\r\0c\u2028d\u202Ee\ud83d')).toBe('a\ufffdb\ufffd\ufffdc\ufffdd\ufffde\ufffd');
  });

  it('is at most a hundred characters, and whole ones', () => {
    expect(printName('x'.repeat(100))).toBe('x'.repeat(100));
    expect(printName('x'.repeat(101))).toBe(`${'x'.repeat(99)}…`);
    expect(printName('🚢'.repeat(100_000))).toBe(`${'🚢'.repeat(99)}…`);
    fc.assert(fc.property(fc.string({ unit: 'binary', maxLength: 300 }), (name) => Array.from(printName(name)).length <= 100));
  });

  it('is listed with a few others', () => {
    expect(printNames(['a', 'b\n'])).toBe('a, b\ufffd');
    expect(printNames(Array.from({ length: 50 }, (_, index) => `n${index}`))).toBe('n0, n1, n2, n3, n4 and 45 more');
  });

  it('comes with the kind of source it names', () => {
    expect(printSource({ kind: 'pr', name: '7' })).toBe('pull request 7');
    expect(printSource({ kind: 'branch', name: 'main' })).toBe('branch main');
  });
});
