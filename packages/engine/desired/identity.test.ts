import { dnsLabel, type EnvironmentName, type ProjectId, projectId, type SourceKind, type SourceRef } from '@eph/contract';
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { belongsTo, chooseName, computeAlias, identify, type NameParts, nameParts } from './identity.ts';
import { reservedLabels } from './reserved-labels.ts';
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

interface Choice {
  readonly taken?: ReadonlySet<EnvironmentName>;
  readonly project?: ProjectId;
  /** The ids of other projects. */
  readonly others?: readonly string[];
}

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
  const byRef = (source: SourceRef) => () => `shop-${source.name}`;
  const byWords = ({ words, number }: NameParts): string => `shop-${words}-${number}`;
  const choose = (
    source: SourceRef,
    render: (parts: NameParts) => string,
    { taken = new Set(), project = shop, others = [] }: Choice = {},
  ): EnvironmentName =>
    chooseName({
      project,
      ref: source,
      projects: new Set<string>([project, ...others]),
      render,
      parts: (attempt) => nameParts('key', project, source, attempt),
      isTaken: (name) => taken.has(name),
    });

  it('is what the template renders, as a DNS label', () => {
    const source = branch('feature/Login');
    const { words, number } = nameParts('key', shop, source, 0);
    expect(choose(source, byWords)).toBe(`shop-${words}-${number}`);
    expect(choose(source, byRef(source))).toBe('shop-feature-login');
  });

  it('gets other words when it is taken', () => {
    const first = choose(branch('main'), byWords);
    const second = choose(branch('main'), byWords, { taken: new Set([first]) });
    expect(second).not.toBe(first);
    expect(second).toMatch(/^shop-[a-z]+-[a-z]+-\d{4,}/);
  });

  it('differs for two refs that look the same as a label', () => {
    const taken = new Set<EnvironmentName>();
    for (const name of ['preview/a.b', 'preview/a-b', 'preview/A_b', 'preview-a/b'])
      taken.add(choose(branch(name), byRef(branch(name)), { taken }));
    expect(taken.size).toBe(4);
    expect([...taken]).toEqual([
      'shop-preview-a-b',
      ...Array.from({ length: 3 }, () => expect.stringMatching(/^shop-preview-a-b-\d{4}$/)),
    ]);
  });

  it('is found for more environments than there are numbers, even if the template never changes', { timeout: 60_000 }, () => {
    const taken = new Set<EnvironmentName>();
    for (let index = 0; index < 12_000; index += 1) taken.add(choose(branch(`preview/${index}`), () => 'preview', { taken }));
    expect(taken.size).toBe(12_000);
  });

  it.each([
    ['login', 'shop-login'],
    ['shop', 'shop'],
    ['shopping', 'shop-shopping'],
    ['Shop/Login', 'shop-login'],
    ['other-shop-login', 'shop-other-shop-login'],
    ['', 'shop'],
  ])('of a template that renders %j begins with the project: %s', (rendered, name) => {
    expect(choose(branch('x'), () => rendered)).toBe(name);
  });

  it.each(['shop-admin', 'shop-admin-login', 'admin', 'admin-login'])(
    'made of %s is another one where the project shop-admin exists',
    (rendered) => {
      const choice = { others: ['shop-admin'] };
      const name = choose(branch('x'), () => rendered, choice);
      expect(name).toMatch(/^shop-[0-9a-f]{8}-admin(-login)?$/);
      expect(choose(branch('x'), () => rendered, choice)).toBe(name);
      expect(choose(branch('x'), () => rendered, { ...choice, project: projectId('shop-admin') })).toMatch(/^shop-admin/);
    },
  );

  it('is not withheld by a project whose id goes on without a dash, or is shorter', () => {
    expect(choose(branch('x'), () => 'shop-administration', { others: ['shop-admin', 'sh', 'administration'] })).toBe(
      'shop-administration',
    );
  });

  it('is found even if every pair of words is the id of another project', () => {
    const others = [...adjectives, ...Array.from({ length: 10_000 }, (_, number) => number)].map((one) => `shop-${one}`);
    expect(choose(branch('x'), byWords, { others })).toMatch(/^shop-[0-9a-f]{8}-/);
  });

  it.each(['www', 'login', 'api', 'auth', 'admin', 'eph'])('is never %s', (label) => {
    expect(choose(branch('x'), () => label, { project: projectId(label) })).toMatch(new RegExp(`^${label}-\\d{4}$`));
    expect(choose(branch('x'), () => label)).toBe(`shop-${label}`);
  });

  it('is the alias of a pull request only if it is that of its own', () => {
    expect(choose(branch('pr-7'), byRef(branch('pr-7')))).toMatch(/^shop-pr-7-\d{4}$/);
    expect(choose({ kind: 'pr', name: '8' }, () => 'shop-pr-7')).toMatch(/^shop-pr-7-\d{4}$/);
    expect(choose({ kind: 'pr', name: '7' }, () => 'shop-pr-7')).toBe('shop-pr-7');
  });

  it('is a free DNS label of its project, whatever the ref, the template and the project', () => {
    const template = fc.constantFrom<(source: SourceRef) => (chosen: NameParts) => string>(
      byRef,
      () => byWords,
      () => () => 'same',
      () => () => '',
      (source) => (chosen) => `${source.name.repeat(3)}-${chosen.words}`,
    );
    const id = fc.oneof(fc.constant('shop'), fc.stringMatching(/^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/)).map(projectId);
    fc.assert(
      fc.property(fc.array(ref, { maxLength: 20 }), template, id, (refs, render, project) => {
        const taken = new Set<EnvironmentName>();
        for (const source of refs) taken.add(choose(source, render(source), { taken, project }));
        expect(taken.size).toBe(refs.length);
        for (const name of taken) {
          expect(name).toMatch(dnsLabel);
          expect(belongsTo(name, project, new Set([project as string]))).toBe(true);
          expect(project.length > 48 || `${name}-`.startsWith(`${project}-`)).toBe(true);
        }
      }),
    );
  });
});

describe('an alias', () => {
  it('says where an environment comes from', () => {
    expect(computeAlias(shop, branch('preview/Login'))).toBe('shop-preview-login');
    expect(computeAlias(shop, { kind: 'pr', name: '7' })).toBe('shop-pr-7');
  });

  it('belongs to its project, whatever the ref and the project', () => {
    const id = fc.stringMatching(/^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/).map(projectId);
    fc.assert(
      fc.property(ref, id, (source, project) => {
        const alias = computeAlias(project, source);
        expect(alias === '' || reservedLabels.has(alias) || belongsTo(alias, project, new Set([project as string]))).toBe(true);
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
