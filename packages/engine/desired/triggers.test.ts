import { commitSha, projectId, type Source, type SourceKind, type Trigger } from '@eph/contract';
import { describe, expect, it } from 'vitest';
import { fakeGenerator } from './generator.fake.ts';
import { gitBranchGenerator, gitTagGenerator } from './git-ref-triggers.ts';
import { decide } from './triggers.ts';

const source = (kind: SourceKind, name: string): Source => ({
  project: projectId('shop'),
  ref: { kind, name },
  commit: commitSha('0'.repeat(40)),
});
const branches = (...patterns: string[]): Trigger => ({ type: 'git_branch', patterns });
const tags = (...patterns: string[]): Trigger => ({ type: 'git_tag', patterns });

describe('whether a source wants an environment', () => {
  it.each<readonly [string, Source, readonly Trigger[], boolean, string]>([
    [
      'is decided by the first trigger that wants it',
      source('branch', 'main'),
      [branches('preview/**'), branches('release', 'm*'), branches('main')],
      true,
      'branch main matches m* (trigger git_branch)',
    ],
    [
      'is denied with the reasons of all',
      source('branch', 'main'),
      [branches('preview/**', 'fix/*'), tags('v*')],
      false,
      'branch main matches none of preview/**, fix/*; branch main is not a tag',
    ],
    [
      'is a matter of kind, not only of name',
      source('tag', 'v1'),
      [branches('v1'), tags('v*')],
      true,
      'tag v1 matches v* (trigger git_tag)',
    ],
  ])('%s', (_, ref, triggers, wanted, because) => {
    expect(decide(ref, triggers, [gitBranchGenerator, gitTagGenerator])).toEqual({ wanted, because });
  });

  it('is denied by a trigger that nothing here understands', () => {
    expect(decide(source('tag', 'v1'), [tags('v*')], [gitBranchGenerator])).toEqual({
      wanted: false,
      because: 'nothing here understands trigger git_tag',
    });
  });

  it('is asked of the generator of the trigger alone', () => {
    const generators = [fakeGenerator('git_tag', () => true), fakeGenerator('git_branch', () => false)];
    expect(decide(source('branch', 'main'), [branches('main')], generators).wanted).toBe(false);
    expect(decide(source('branch', 'main'), [branches('main'), tags('x')], generators).wanted).toBe(true);
  });
});
