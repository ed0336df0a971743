import { dnsLabel, type EnvironmentName, projectId, type SourceKind, type SourceRef } from '@eph/contract';
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { chooseName, identify, type NameParts, nameParts } from './identity.ts';
import { adjectives, nouns } from './words.ts';

const shop = projectId('shop');
const branch = (name: string): SourceRef => ({ kind: 'branch', name });

/** Untrusted ref names. */
const refName = fc.oneof(
  fc.string({ unit: 'grapheme', minLength: 1, maxLength: 255 }),
  fc.stringMatching(/^[A-Za-z0-9._/-]{1,80}$/),
  fc.constantFrom('preview/ü', 'preview/$(id)', 'a/../b', '日本語', '-', '🚢', 'x'.repeat(255), 'İ', 'K'),
);
const ref = fc.record({ kind: fc.constantFrom<SourceKind>('branch', 'tag'), name: refName });

describe('the id of an environment', () => {
  it('depends on project and source alone, and stays what it is in every version of Eph', () => {
    expect(identify(shop, branch('preview/login'))).toBe('9e7d56d727353544');
    expect(identify(shop, branch('preview/login'))).toBe(identify(projectId('shop'), { kind: 'branch', name: 'preview/login' }));
  });

  it('differs for another project, another kind and another name', () => {
    const ids = [
      identify(shop, branch('v1')),
      identify(projectId('shop-2'), branch('v1')),
      identify(shop, { kind: 'tag', name: 'v1' }),
      identify(shop, branch('V1')),
      identify(shop, branch('v1 ')),
    ];
    expect(new Set(ids).size).toBe(ids.length);
  });

  it('differs for any two sources', () => {
    fc.assert(
      fc.property(fc.uniqueArray(ref, { selector: (one) => `${one.kind}:${one.name}` }), (refs) => {
        expect(new Set(refs.map((one) => identify(shop, one))).size).toBe(refs.length);
      }),
    );
  });
});

describe('words and number', () => {
  it('are the same for the same key and source', () => {
    fc.assert(
      fc.property(fc.string(), ref, fc.nat(5), (key, source, attempt) => {
        expect(nameParts(key, shop, source, attempt)).toEqual(nameParts(key, shop, source, attempt));
      }),
    );
  });

  it('cannot be guessed without the key, and change with every attempt', () => {
    const seen = ['key', 'another key'].flatMap((key) =>
      [0, 1, 2].map((attempt) => nameParts(key, shop, branch('main'), attempt)),
    );
    expect(new Set(seen.map(({ words, number }) => `${words}-${number}`)).size).toBe(seen.length);
  });

  it('are two words and at least four digits', () => {
    fc.assert(
      fc.property(ref, (source) => {
        const { words, number } = nameParts('key', shop, source, 0);
        expect(words).toMatch(/^[a-z]+-[a-z]+$/);
        expect(number).toMatch(/^[1-9]\d{3,}$/);
      }),
    );
  });

  it('rarely meet: a thousand sources get a thousand pairs', () => {
    const pairs = Array.from({ length: 1000 }, (_, index) => nameParts('key', shop, branch(`preview/${index}`), 0));
    expect(new Set(pairs.map(({ words, number }) => `${words}-${number}`)).size).toBe(1000);
  });
});

describe('a name', () => {
  const parts = (source: SourceRef) => (attempt: number) => nameParts('key', shop, source, attempt);
  const byRef = (source: SourceRef) => () => `shop-${source.name}`;
  const byWords = ({ words, number }: NameParts): string => `shop-${words}-${number}`;

  it('is what the template renders, as a DNS label', () => {
    const source = branch('feature/Login');
    const { words, number } = parts(source)(0);
    expect(chooseName(byWords, parts(source), () => false)).toBe(`shop-${words}-${number}`);
    expect(chooseName(byRef(source), parts(source), () => false)).toBe('shop-feature-login');
  });

  it('gets other words when it is taken', () => {
    const first = chooseName(byWords, parts(branch('main')), () => false);
    const second = chooseName(byWords, parts(branch('main')), (name) => name === first);
    expect(second).not.toBe(first);
    expect(second).toMatch(/^shop-[a-z]+-[a-z]+-\d{4,}/);
  });

  it('differs for two refs that look the same as a label', () => {
    const taken = new Set<EnvironmentName>();
    for (const name of ['preview/a.b', 'preview/a-b', 'preview/A_b', 'preview-a/b'])
      taken.add(chooseName(byRef(branch(name)), parts(branch(name)), (one) => taken.has(one)));
    expect(taken.size).toBe(4);
    expect([...taken]).toEqual([
      'shop-preview-a-b',
      ...Array.from({ length: 3 }, () => expect.stringMatching(/^shop-preview-a-b-\d{4}$/)),
    ]);
  });

  it('is found for more environments than there are numbers, even if the template never changes', { timeout: 60_000 }, () => {
    const taken = new Set<EnvironmentName>();
    for (let index = 0; index < 12_000; index += 1)
      taken.add(
        chooseName(
          () => 'preview',
          parts(branch(`preview/${index}`)),
          (one) => taken.has(one),
        ),
      );
    expect(taken.size).toBe(12_000);
  });

  it('is a free DNS label, whatever the ref and the template', () => {
    const template = fc.constantFrom<(source: SourceRef) => (chosen: NameParts) => string>(
      byRef,
      () => byWords,
      () => () => 'same',
      () => () => '',
      (source) => (chosen) => `${source.name.repeat(3)}-${chosen.words}`,
    );
    fc.assert(
      fc.property(fc.array(ref, { maxLength: 20 }), template, (refs, render) => {
        const taken = new Set<EnvironmentName>();
        for (const source of refs) taken.add(chooseName(render(source), parts(source), (one) => taken.has(one)));
        expect(taken.size).toBe(refs.length);
        for (const name of taken) expect(name).toMatch(dnsLabel);
      }),
    );
  });
});

describe('the word lists', () => {
  it.each([
    ['adjectives', adjectives],
    ['nouns', nouns],
  ])('%s are many short plain words, each once, in order', (_, words) => {
    expect(words.length).toBeGreaterThan(150);
    expect(words.filter((word) => !/^[a-z]{3,9}$/.test(word))).toEqual([]);
    expect(words).toEqual([...new Set(words)].toSorted());
  });

  it('leave room for a project in a name', () => {
    const longest = Math.max(...adjectives.map((word) => word.length)) + Math.max(...nouns.map((word) => word.length));
    expect('-'.length + longest + '-'.length + '-9999'.length).toBeLessThan(30);
  });
});
