import { type Command, completeReading, failure, incompleteReading, type Trigger } from '@eph/contract';
import { describe, expect, it } from 'vitest';
import type { Answer } from './generator.ts';
import { autoGenerator, noteUnsupportedOptions, prCommentGenerator, prLabelGenerator } from './pull-triggers.ts';
import { command, otherCommit, pullRequest, withChangedPaths, withCommands } from './source.fake.ts';

describe('a command', () => {
  const trigger: Trigger = { type: 'pr_comment', patterns: ['/deploy', '/eph deploy'] };
  const obey = (...commands: readonly Command[]): Answer =>
    prCommentGenerator.wants(pullRequest(), trigger, withCommands(...commands));

  it.each(['/deploy', '/deploy now', '/deploy\t--image=a', '/eph deploy --image=shop:größe', `/deploy ${'x'.repeat(100_000)}`])(
    'counts when it begins with the pattern: %.30s',
    (text) => {
      expect(obey(command(text))).toMatchObject({ wanted: true, command: { text } });
    },
  );

  it.each([
    '/deployment',
    '/Deploy',
    '/eph',
    '/eph  deploy',
    '/undeploy',
    '//deploy',
    '/deploy-now',
    `/deploy${'x'.repeat(100_000)}`,
  ])('counts for nothing otherwise: %.30s', (text) => {
    expect(obey(command(text))).toMatchObject({
      wanted: false,
      because: 'nobody wrote /deploy, /eph deploy on pull request 7',
    });
  });

  it.each<readonly [string, Partial<Command>, string]>([
    [
      'by somebody without write access',
      { author: 'mallory', mayWrite: false },
      'mallory wrote /deploy on pull request 7 without write access',
    ],
    ['for an unknown commit', { commit: null }, 'alice wrote /deploy on pull request 7, but its commit is unknown'],
  ])('%s is answered with the reason why it counts for nothing', (_, rest, because) => {
    expect(obey(command('/deploy', rest))).toEqual({ wanted: false, because });
  });

  it('means the commit it was written for, also when the pull request has moved on', () => {
    const because = 'alice wrote /deploy on pull request 7 (trigger pr_comment)';
    const asked = command('/deploy', { commit: otherCommit });
    expect(obey(asked)).toEqual({ wanted: true, because, command: asked, at: otherCommit });
  });

  it('for an earlier commit of a fork counts for nothing', () => {
    const asked = withCommands(command('/deploy', { commit: otherCommit }));
    expect(prCommentGenerator.wants(pullRequest({ fork: 'mallory/shop' }), trigger, asked)).toEqual({
      wanted: false,
      because: 'alice wrote /deploy on pull request 7 for commit ffffffffffff, which is no longer its head',
    });
  });

  it('on a fork must name the whole commit', () => {
    const fork = pullRequest({ fork: 'mallory/shop' });
    const ask = (text: string): Answer => prCommentGenerator.wants(fork, trigger, withCommands(command(text)));
    expect(ask(`/eph deploy ${fork.commit}`)).toMatchObject({ wanted: true });
    expect(ask('/eph deploy 000000')).toMatchObject({
      wanted: false,
      because: 'alice wrote /eph deploy 000000 on pull request 7, which does not name the whole commit; on a fork it must',
      short: { line: `/eph deploy ${fork.commit}` },
    });
  });

  it('that is the last one by somebody with write access wins', () => {
    const winner = command('/deploy 2', { author: 'bob' });
    const others = [command('/deploy 3', { mayWrite: false }), command('/deploy 4', { commit: null }), command('/else')];
    expect(obey(command('/deploy 1'), winner, ...others)).toEqual({
      wanted: true,
      because: 'bob wrote /deploy 2 on pull request 7 (trigger pr_comment)',
      command: winner,
    });
  });

  it('is remarked on when it asks for more than can be followed', () => {
    expect(noteUnsupportedOptions(command('/eph deploy --image=shop:1 --fast please'))).toEqual([
      '--fast was ignored: commands take no option but --image',
    ]);
    expect(noteUnsupportedOptions(command('/deploy please - now'))).toEqual([]);
  });

  it('waits until all comments are read: a later one may say something else', () => {
    const fault = failure('forge.unreachable', 'no answer');
    const facts = { commands: incompleteReading([command('/deploy')], fault) };
    expect(prCommentGenerator.wants(pullRequest(), trigger, facts)).toMatchObject({ wanted: 'unknown', fault });
    expect(prCommentGenerator.wants(pullRequest(), trigger)).toMatchObject({ wanted: 'unknown', lacks: 'commands' });
  });
});

describe('a label', () => {
  it('may be long and strange, and is shown in part', () => {
    const strange = `größe\u202E\n${'x'.repeat(100_000)}`;
    const answer = prLabelGenerator.wants(pullRequest({ labels: [strange] }), { type: 'pr_label', labels: [strange] });
    expect(answer).toMatchObject({
      wanted: true,
      because: expect.stringMatching(/carries label größe\ufffd\ufffdx{92}… \(trigger/),
    });
  });
});

describe('changed paths', () => {
  const filter = (paths: readonly string[], changed: readonly string[]): Answer['wanted'] =>
    autoGenerator.wants(pullRequest(), { type: 'auto', paths: [...paths] }, withChangedPaths(...changed)).wanted;

  it.each<readonly [string, readonly string[], readonly string[]]>([
    ['src/**', ['src/a', 'src/a/b'], ['src', 'lib/a', 'a/src/b']],
    ['./src/', ['src/a', 'src/a/b'], ['src', 'a/src/b']],
    ['*.md', ['README.md', '.md'], ['docs/README.md']],
    ['**/*.md', ['README.md', 'docs/a.md', 'a/b/c.md'], ['README.mdx', 'a/b.md/c']],
    ['src/**/test/*.ts', ['src/test/a.ts', 'src/a/b/test/c.ts'], ['src/latest/a.ts', 'test/a.ts', 'src/test/a/b.ts']],
    ['eph.yaml', ['eph.yaml'], ['a/eph.yaml', 'eph.yml']],
    ['größe/*', ['größe/日本語.txt'], ['groesse/a']],
  ])('match %s', (pattern, matching, others) => {
    expect(matching.filter((path) => filter([pattern], [path]) !== true)).toEqual([]);
    expect(others.filter((path) => filter([pattern], [path]) !== false)).toEqual([]);
    expect(filter(['never', pattern], [...others, ...matching])).toBe(true);
  });

  it('that were read in part are enough if one of them matches', () => {
    const trigger: Trigger = { type: 'auto', paths: ['src/**'] };
    const fault = failure('forge.incomplete', 'more than 3000 files');
    const wants = (...paths: readonly string[]) =>
      autoGenerator.wants(pullRequest(), trigger, { changedPaths: incompleteReading(paths, fault) });
    expect(wants('a', 'src/b')).toEqual({ wanted: true, because: 'pull request 7 is open (trigger auto), and it changes src/b' });
    expect(wants('a')).toMatchObject({ wanted: 'unknown', because: expect.stringContaining('more than 3000 files'), fault });
  });

  it('that nobody asks for are not looked at', () => {
    const facts = { changedPaths: completeReading(['a']) };
    expect(autoGenerator.wants(pullRequest(), { type: 'auto' }, facts)).toEqual(
      autoGenerator.wants(pullRequest(), { type: 'auto' }),
    );
  });

  it('that would take forever to compare count as a match', { timeout: 10_000 }, () => {
    const patterns = Array.from({ length: 50 }, (_, index) => `${'**a'.repeat(160)}${index}`);
    const paths = Array.from({ length: 3000 }, (_, index) => `${'a'.repeat(4000)}${index}.x`);
    expect(filter(patterns, paths)).toBe(true);
  });
});
