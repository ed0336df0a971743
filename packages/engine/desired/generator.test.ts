import type { Trigger } from '@eph/contract';
import { describe } from 'vitest';
import { describeGenerator } from './generator.contract.ts';
import { fakeGenerator } from './generator.fake.ts';
import { gitBranchGenerator, gitTagGenerator } from './git-ref-triggers.ts';
import { autoGenerator, prCommentGenerator, prLabelGenerator } from './pull-triggers.ts';
import { command, pullRequest, source, withChangedPaths, withCommands } from './source.fake.ts';

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
    unwanted: [
      ...['master', 'preview', 'fix-12', 'x/main'].map((name) => source('branch', name)),
      source('tag', 'main'),
      pullRequest({ head: 'preview/a' }),
    ],
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

describe('the trigger pr_label', () => {
  describeGenerator(() => ({
    generator: prLabelGenerator,
    trigger: { type: 'pr_label', labels: ['preview', 'demo'], wait_for_checks: ['build'] },
    wanted: [['preview'], ['demo', 'preview'], ['a', 'demo']].map((labels) => pullRequest({ labels })),
    unwanted: [
      ...[[], ['Preview'], ['preview '], ['preview:48h'], ['pre', 'view']].map((labels) => pullRequest({ labels })),
      source('branch', 'preview'),
      source('tag', 'preview'),
    ],
  }));
});

describe('the trigger pr_comment', () => {
  describeGenerator(() => ({
    generator: prCommentGenerator,
    trigger: { type: 'pr_comment', patterns: ['/deploy', '/eph deploy'] },
    facts: withCommands(command('/eph deploy --image=shop:1')),
    pinned: true,
    wanted: [pullRequest(), pullRequest({ draft: true })],
    unwanted: [source('branch', '/deploy'), source('tag', '/deploy')],
  }));
});

describe('the trigger auto', () => {
  describeGenerator(() => ({
    generator: autoGenerator,
    trigger: { type: 'auto', branches: ['feature/*', 'fix/**'], ignore_draft: true },
    wanted: [pullRequest(), pullRequest({ head: 'fix/a/b' }), source('branch', 'feature/login')],
    unwanted: [
      pullRequest({ draft: true }),
      pullRequest({ head: 'main' }),
      pullRequest({ head: 'feature/a/b' }),
      source('branch', 'main'),
      source('tag', 'feature/login'),
    ],
  }));
});

describe('the trigger auto without branches', () => {
  describeGenerator(() => ({
    generator: autoGenerator,
    trigger: { type: 'auto' },
    wanted: [pullRequest(), pullRequest({ draft: true }), pullRequest({ head: 'x'.repeat(100_000) })],
    unwanted: [source('branch', 'main'), source('tag', 'v1')],
  }));
});

describe.each<readonly [string, Trigger]>([
  ['pr_label', { type: 'pr_label', labels: ['preview'], paths: ['./src/', '**/*.sql'] }],
  ['auto', { type: 'auto', paths: ['./src/', '**/*.sql'] }],
])('the trigger %s with paths', (_, trigger) => {
  describeGenerator(() => ({
    generator: trigger.type === 'auto' ? autoGenerator : prLabelGenerator,
    trigger,
    facts: withChangedPaths('README.md', 'src/deep/er/index.ts'),
    wanted: [pullRequest({ labels: ['preview'] })],
    unwanted: [source('tag', 'preview')],
  }));
});

describe('the trigger pr_comment with paths', () => {
  describeGenerator(() => ({
    generator: prCommentGenerator,
    trigger: { type: 'pr_comment', patterns: ['/deploy'], paths: ['a/*.ts'] },
    facts: { ...withCommands(command('/deploy')), ...withChangedPaths('a/b.ts') },
    pinned: true,
    wanted: [pullRequest()],
    unwanted: [source('branch', '/deploy')],
  }));
});
