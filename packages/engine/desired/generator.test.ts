import { commitSha, projectId, type Source, type SourceKind } from '@eph/contract';
import { describe } from 'vitest';
import { describeGenerator } from './generator.contract.ts';
import { fakeGenerator } from './generator.fake.ts';
import { gitBranchGenerator, gitTagGenerator } from './git-ref-triggers.ts';

const source = (kind: SourceKind, name: string): Source => ({
  project: projectId('shop'),
  ref: { kind, name },
  commit: commitSha('0'.repeat(40)),
});

describe('the fake generator', () => {
  describeGenerator(() => ({
    generator: fakeGenerator('git_branch', ({ ref }) => ref.name.startsWith('preview/')),
    trigger: { type: 'git_branch', patterns: ['*'] },
    wanted: [source('branch', 'preview/a')],
    unwanted: [source('branch', 'main')],
  }));
});

describe('the trigger git_branch', () => {
  describeGenerator(() => ({
    generator: gitBranchGenerator,
    trigger: { type: 'git_branch', patterns: ['main', 'preview/**', 'fix-?'] },
    wanted: ['main', 'preview/a', 'preview/a/b', 'fix-1'].map((name) => source('branch', name)),
    unwanted: [...['master', 'preview', 'fix-12', 'x/main'].map((name) => source('branch', name)), source('tag', 'main')],
  }));
});

describe('the trigger git_tag', () => {
  describeGenerator(() => ({
    generator: gitTagGenerator,
    trigger: { type: 'git_tag', patterns: ['v*', 'release/*'] },
    wanted: ['v1', 'v1.2.3', 'release/spring'].map((name) => source('tag', name)),
    unwanted: [...['1.0', 'v1/a', 'release/a/b'].map((name) => source('tag', name)), source('branch', 'v1')],
  }));
});
