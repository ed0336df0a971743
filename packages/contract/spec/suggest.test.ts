import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { closest } from './suggest.ts';

const keys = ['version', 'name', 'providers', 'triggers', 'environment', 'process'];

describe('a suggestion', () => {
  it.each([
    ['a swapped pair', 'nmae', 'name'],
    ['a missing letter', 'proces', 'process'],
    ['a letter too many', 'triggerss', 'triggers'],
    ['a wrong letter', 'versiom', 'version'],
    ['another case', 'Name', 'name'],
    ['several slips in a long word', 'enviroment', 'environment'],
    ['the word itself', 'name', 'name'],
  ])('is made for %s: %s', (_, typed, meant) => {
    expect(closest(typed, keys)).toBe(meant);
  });

  it.each(['', 'x', 'kubernetes', 'services', 'n'.repeat(10_000)])('is not made for %j', (typed) => {
    expect(closest(typed, keys)).toBeUndefined();
  });

  it('is not made without candidates', () => {
    expect(closest('name', [])).toBeUndefined();
  });

  it('is the nearest, and the first of equals', () => {
    expect(closest('wep', ['map', 'web', 'wed'])).toBe('web');
  });

  it('is found for every single slip in a word of four letters or more', () => {
    const word = fc.stringMatching(/^[a-z]{4,20}$/);
    fc.assert(
      fc.property(word, fc.nat(), fc.constantFrom('cut', 'add', 'change', 'swap'), (meant, position, slip) => {
        const at = position % (meant.length - 1);
        const [before, letter, next, after] = [meant.slice(0, at), meant[at], meant[at + 1], meant.slice(at + 2)];
        const typed = {
          cut: `${before}${next}${after}`,
          add: `${before}${letter}x${next}${after}`,
          change: `${before}x${next}${after}`,
          swap: `${before}${next}${letter}${after}`,
        }[slip];
        expect(closest(typed, [meant])).toBe(meant);
      }),
    );
  });

  it('is always one of the candidates, or none', () => {
    fc.assert(
      fc.property(fc.string(), fc.array(fc.string()), (typed, candidates) => {
        const found = closest(typed, candidates);
        expect(found === undefined || candidates.includes(found)).toBe(true);
      }),
    );
  });
});
