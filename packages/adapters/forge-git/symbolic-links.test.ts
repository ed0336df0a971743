import { describe, expect, it } from 'vitest';
import { findLeavingLink } from './symbolic-links.ts';

const leaving = (links: Record<string, string>): string | undefined => findLeavingLink(new Map(Object.entries(links)));

describe('links of a tree', () => {
  it.each<readonly [string, Record<string, string>]>([
    ['to a sibling', { a: 'b' }],
    ['to a file that does not exist', { 'x/a': 'nowhere/at/all' }],
    ['to the root', { 'x/y/a': '../..' }],
    ['up and down again', { 'x/a': '../x/../y/b' }],
    ['through another link', { 'x/up': '..', a: 'x/up/b' }],
    ['in a circle', { a: 'b', b: 'a', c: 'c/..' }],
    ['whose names differ in case', { 'x/up': '.', 'x/UP': '.', y: 'x/UP/..' }],
    ['that double with every step', Object.fromEntries(Array.from({ length: 40 }, (_, n) => [`l${n}`, `l${n + 1}/l${n + 1}`]))],
  ])('%s stay inside', (_name, links) => {
    expect(leaving(links)).toBeUndefined();
  });

  it.each<readonly [string, Record<string, string>, string]>([
    ['an absolute target', { a: '/etc/passwd' }, 'a'],
    ['a step above the root', { a: '..' }, 'a'],
    ['steps above the root, below it', { 'x/y/a': '../../../etc/passwd' }, 'x/y/a'],
    ['a detour through a folder', { 'x/a': 'b/../../../c' }, 'x/a'],
    ['a link whose text looks harmless', { 'x/up': '..', y: 'x/up/..' }, 'y'],
    ['a chain of links', { 'd/one': '..', 'd/two': 'one/d/one', a: 'd/two/..' }, 'a'],
    ['a link that goes through one that leaves', { in: 'out/x', out: '/tmp' }, 'in'],
    ['a link found under another spelling', { 'x/UP': '..', y: 'x/up/..' }, 'y'],
    ['a link with two spellings, by the other one', { 'x/up': '..', 'x/UP': '.', y: 'x/UP/..' }, 'y'],
    ['the first of several spellings', { 'x/Up': '..', 'x/uP': '.', 'x/UP': '.', y: 'x/up/..' }, 'y'],
    ['a folder that is spelt like a link into the depth', { 'd/UP': 'deep/er', y: 'd/up/../../..' }, 'y'],
    ['a composed name', { 'x/caf\u00c3\u00a9': '..', y: 'x/cafe\u00cc\u0081/..' }, 'y'],
    ['a letter with another one in upper case', { 'x/stra\u00c3\u009fe': '..', y: 'x/STRASSE/..' }, 'y'],
    ['a name with an ignored character', { 'x/u\u00e2\u0080\u008cp': '..', y: 'x/up/..' }, 'y'],
  ])('%s leaves', (_name, links, path) => {
    expect(leaving(links)).toBe(path);
  });

  it('that mean more with every step are not followed for ever', () => {
    const spellings = ['aa', 'aA', 'Aa', 'AA'];
    const links = Object.fromEntries(spellings.map((name) => [name, '.']));
    expect(leaving({ ...links, z: `${'aa/'.repeat(1000)}b` })).toBeDefined();
  });

  it('that take for ever to follow are not followed', () => {
    const winding = Object.fromEntries(Array.from({ length: 60 }, (_, n) => [`l${n}`, `${'x/../'.repeat(800)}l${n + 1}`]));
    const many = Object.fromEntries(Array.from({ length: 5_000 }, (_, n) => [`m${n}`, 'l0']));
    expect(leaving({ ...winding, ...many })).toBeDefined();
  });
});
