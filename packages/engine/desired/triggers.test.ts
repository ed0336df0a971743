import { completeReading, failure, incompleteReading, type Source, type Trigger } from '@eph/contract';
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { fakeGenerator } from './generator.fake.ts';
import type { Generator, SourceFacts } from './generator.ts';
import { gitBranchGenerator, gitTagGenerator } from './git-ref-triggers.ts';
import { autoGenerator, prCommentGenerator, prLabelGenerator } from './pull-triggers.ts';
import {
  anySource,
  command,
  completeFacts,
  partialFacts,
  pullRequest,
  source,
  withChangedPaths,
  withCommands,
} from './source.fake.ts';
import { decide, factsToRead } from './triggers.ts';

const generators: readonly Generator[] = [
  gitBranchGenerator,
  gitTagGenerator,
  prLabelGenerator,
  prCommentGenerator,
  autoGenerator,
];
const branches = (...patterns: string[]): Trigger => ({ type: 'git_branch', patterns });
const tags = (...patterns: string[]): Trigger => ({ type: 'git_tag', patterns });
const labels = (...labels: string[]): Trigger => ({ type: 'pr_label', labels });
const comments = (...patterns: string[]): Trigger => ({ type: 'pr_comment', patterns });
const auto = (...paths: string[]): Trigger => (paths.length === 0 ? { type: 'auto' } : { type: 'auto', paths });

describe('whether a source wants an environment', () => {
  it.each<readonly [string, Source, readonly Trigger[], object]>([
    [
      'is decided by the first trigger that wants it',
      source('branch', 'main'),
      [branches('preview/**'), branches('release', 'm*'), branches('main')],
      { state: 'wanted', because: 'branch main matches m* (trigger git_branch)', checks: [] },
    ],
    [
      'is denied with the reasons of all',
      source('branch', 'main'),
      [branches('preview/**', 'fix/*'), tags('v*'), labels('preview')],
      {
        state: 'unwanted',
        because: 'branch main matches none of preview/**, fix/*; branch main is not a tag; branch main is not a pull request',
      },
    ],
    [
      'is a matter of kind, not only of name',
      source('tag', 'v1'),
      [branches('v1'), tags('v*')],
      { state: 'wanted', because: 'tag v1 matches v* (trigger git_tag)', checks: [] },
    ],
    [
      'may depend on checks',
      pullRequest({ labels: ['preview'] }),
      [{ type: 'pr_label', labels: ['preview'], wait_for_checks: ['build', 'größe'] }],
      { state: 'wanted', because: 'pull request 7 carries label preview (trigger pr_label)', checks: ['build', 'größe'] },
    ],
  ])('%s', (_, ref, triggers, decision) => {
    expect(decide(ref, triggers, generators)).toEqual(decision);
  });

  it('is denied by a trigger that nothing here understands', () => {
    expect(decide(source('tag', 'v1'), [tags('v*')], [gitBranchGenerator])).toEqual({
      state: 'unwanted',
      because: 'trigger git_tag is not supported',
    });
  });

  it('is asked of the generator of the trigger alone', () => {
    const fakes = [fakeGenerator('git_tag', () => true), fakeGenerator('git_branch', () => false)];
    expect(decide(source('branch', 'main'), [branches('main')], fakes).state).toBe('unwanted');
    expect(decide(source('branch', 'main'), [branches('main'), tags('x')], fakes).state).toBe('wanted');
  });

  it('comes with the command that asked for it', () => {
    const asked = command('/deploy --image=shop:2');
    const facts = withCommands(command('/deploy --image=shop:1'), asked);
    expect(decide(pullRequest(), [comments('/deploy')], generators, facts)).toMatchObject({ state: 'wanted', command: asked });
  });

  it('is unknown, with the fault, when the deciding fact could not be read', () => {
    const fault = failure('forge.unreachable', 'no answer');
    const facts = { commands: incompleteReading([command('/deploy')], fault) };
    expect(decide(pullRequest(), [labels('preview'), comments('/deploy')], generators, facts)).toMatchObject({
      state: 'unknown',
      because: 'the comments on pull request 7 could not all be read: no answer',
      fault,
    });
  });

  it('is wanted if one trigger is unknown and another wants it', () => {
    const facts = { commands: incompleteReading<never>([]) };
    const decision = decide(pullRequest({ labels: ['preview'] }), [comments('/deploy'), labels('preview')], generators, facts);
    expect(decision.state).toBe('wanted');
  });

  it('is asked again while anything may still clear up', () => {
    const facts = {
      changedPaths: incompleteReading<never>([], failure('feature.unavailable', 'nobody compares branches here')),
      commands: incompleteReading<never>([], failure('forge.unreachable', 'no answer')),
    };
    expect(decide(pullRequest(), [auto('a')], generators, facts)).toMatchObject({ fault: { disposition: 'stall' } });
    expect(decide(pullRequest(), [auto('a'), comments('/deploy')], generators, facts)).toMatchObject({
      fault: { disposition: 'retry' },
    });
  });
});

describe('a marker in the title of a pull request', () => {
  const decideTitled = (title: string) => decide(pullRequest({ title, labels: ['preview'] }), [labels('preview')], generators);

  it.each([
    '[skip eph]',
    'Fix it [eph skip]',
    '[SKIP Eph] Fix it',
    'Fix it ([skip eph])',
    '日本語 [skip eph] 日本語',
    `${'x '.repeat(50_000)}[skip eph]`,
  ])('means that none is wanted: %.40s', (title) => {
    expect(decideTitled(title)).toMatchObject({ state: 'unwanted', because: expect.stringMatching(/pull request 7 has \[/) });
  });

  it.each([
    'skip eph',
    '[skip ephemeral]',
    '[skip  eph]',
    '[skip ci]',
    'array[skip eph]',
    '[skip eph]s',
    'ü[skip eph]',
    '_[eph skip]',
    '[skip eph',
    '[skip\u00a0eph]',
    '[['.repeat(50_000),
  ])('is as people write it, and by itself: %.40s', (title) => {
    expect(decideTitled(title).state).toBe('wanted');
  });

  it('means nothing on a branch of that name', () => {
    expect(decide(source('branch', '[skip eph]'), [branches('**')], generators).state).toBe('wanted');
  });
});

describe('what has to be read first', () => {
  const nothing = { commands: false, changedPaths: false };

  it.each<readonly [string, Source, readonly Trigger[], SourceFacts, object]>([
    ['is nothing for branches and labels', pullRequest({ labels: ['a'] }), [branches('*'), labels('a', 'b')], {}, nothing],
    ['is the comments where they may decide', pullRequest(), [labels('a'), comments('/deploy')], {}, { commands: true }],
    ['is nothing behind a trigger that wants it anyway', pullRequest(), [auto(), comments('/x'), auto('a')], {}, nothing],
    ['is no comment on what has none', source('branch', 'main'), [comments('/deploy')], {}, nothing],
    ['is the paths when nothing else is missing', pullRequest(), [auto('a')], {}, { changedPaths: true }],
    [
      'is no path of what is not wanted anyway',
      pullRequest({ draft: true }),
      [
        { type: 'auto', ignore_draft: true, paths: ['a'] },
        { type: 'pr_label', labels: ['preview'], paths: ['a'] },
        { type: 'git_branch', patterns: ['**'], paths: ['a'] },
      ],
      {},
      nothing,
    ],
    [
      'is nothing once it was read',
      pullRequest(),
      [comments('/deploy'), auto('a')],
      { ...withCommands(), ...withChangedPaths() },
      nothing,
    ],
    ['is nothing once reading it has failed', pullRequest(), [comments('/x')], { commands: incompleteReading([]) }, nothing],
    [
      'is nothing for what says that it wants none',
      pullRequest({ title: '[skip eph]' }),
      [comments('/x'), auto('a')],
      {},
      nothing,
    ],
  ])('%s', (_, ref, triggers, facts, needs) => {
    expect(factsToRead(ref, triggers, generators, facts)).toEqual({ ...nothing, ...needs });
  });

  it('are the paths of those alone that a comment asks for', () => {
    const triggers: readonly Trigger[] = [{ type: 'pr_comment', patterns: ['/deploy'], paths: ['src/**'] }];
    const needs = (facts: SourceFacts) => factsToRead(pullRequest(), triggers, generators, facts);
    expect(needs({})).toEqual({ commands: true, changedPaths: false });
    expect(needs(withCommands())).toEqual(nothing);
    expect(needs(withCommands(command('/deploy')))).toEqual({ commands: false, changedPaths: true });
    expect(needs({ ...withCommands(command('/deploy')), ...withChangedPaths('src/a') })).toEqual(nothing);
  });
});

describe('any triggers, for any source', () => {
  const patterns = fc.subarray(['preview/**', 'main', 'v?', '/deploy', '**', '日本*'], { minLength: 1 });
  const paths = fc.option(fc.subarray(['a/*.ts', 'main', '**/x'], { minLength: 1 }), { nil: undefined });
  const withPaths = <T extends Trigger>(trigger: T, only: string[] | undefined): T =>
    only === undefined ? trigger : { ...trigger, paths: only };
  const anyTrigger: fc.Arbitrary<Trigger> = fc
    .record({ patterns, paths, ignoresDrafts: fc.boolean(), index: fc.nat(4) })
    .map(({ patterns: some, paths: only, ignoresDrafts, index }) => {
      const all: readonly Trigger[] = [
        branches(...some),
        tags(...some),
        labels(...some, 'preview'),
        comments(...some),
        { type: 'auto', branches: some, ignore_draft: ignoresDrafts },
      ];
      return withPaths(all[index] ?? auto(), only);
    });
  const anyTriggers = fc.array(anyTrigger, { maxLength: 4 });

  it('are decided alike in any order', () => {
    fc.assert(
      fc.property(anySource, anyTriggers, completeFacts, (ref, triggers, facts) => {
        const { state } = decide(ref, triggers, generators, facts);
        expect(decide(ref, triggers.toReversed(), generators, facts).state).toBe(state);
        expect(state).not.toBe('unknown');
      }),
    );
  });

  it('want nothing away for not knowing', () => {
    const question = fc
      .tuple(anySource, anyTriggers, completeFacts)
      .chain((all) => fc.tuple(fc.constant(all), partialFacts(all[2])));
    fc.assert(
      fc.property(question, ([[ref, triggers, whole], part]) => {
        const { state } = decide(ref, triggers, generators, whole);
        expect([state, 'unknown']).toContain(decide(ref, triggers, generators, part).state);
      }),
    );
  });

  it('are decided as well with what they need as with everything', () => {
    fc.assert(
      fc.property(anySource, anyTriggers, completeFacts, (ref, triggers, whole) => {
        const read = (facts: SourceFacts): SourceFacts => {
          const needs = factsToRead(ref, triggers, generators, facts);
          return {
            ...facts,
            ...(needs.commands ? { commands: whole.commands } : {}),
            ...(needs.changedPaths ? { changedPaths: whole.changedPaths } : {}),
          };
        };
        const facts = read(read({}));
        expect(factsToRead(ref, triggers, generators, facts)).toEqual({ commands: false, changedPaths: false });
        expect(decide(ref, triggers, generators, facts)).toEqual(decide(ref, triggers, generators, whole));
      }),
    );
  });

  it('cannot be moved by commands of people without write access', () => {
    fc.assert(
      fc.property(anySource, anyTriggers, completeFacts, (ref, triggers, { commands, changedPaths }) => {
        const powerless = commands.items.map((one) => ({ ...one, mayWrite: false }));
        const shouted = decide(ref, triggers, generators, { changedPaths, commands: completeReading(powerless) });
        const silent = decide(ref, triggers, generators, { changedPaths, commands: completeReading([]) });
        expect(shouted.state).toBe(silent.state);
      }),
    );
  });
});
