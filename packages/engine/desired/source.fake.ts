import {
  type Command,
  type CommitSha,
  commitSha,
  completeReading,
  incompleteReading,
  type ProjectId,
  type PullRequest,
  projectId,
  type Source,
  type SourceKind,
} from '@eph/contract';
import * as fc from 'fast-check';
import type { SourceFacts } from './generator.ts';

const shop: ProjectId = projectId('shop');
const head: CommitSha = commitSha('0'.repeat(40));
export const otherCommit: CommitSha = commitSha('f'.repeat(40));

export const source = (kind: Exclude<SourceKind, 'pr'>, name: string): Source => ({
  project: shop,
  ref: { kind, name },
  commit: head,
});

/** Pull request 7, from branch `feature/login` of the repository itself, by default. */
export const pullRequest = (pull: Partial<PullRequest> = {}): Source => ({
  project: shop,
  ref: { kind: 'pr', name: '7' },
  commit: head,
  pull: {
    title: 'Let people in',
    author: 'alice',
    draft: false,
    labels: [],
    head: 'feature/login',
    base: 'main',
    fork: null,
    page: 'https://forge.example/shop/pulls/7',
    touched: '1',
    ...pull,
  },
});

/** By somebody with write access, for the present commit, by default. */
export const command = (text: string, rest: Partial<Command> = {}): Command => ({
  id: text,
  text,
  author: 'alice',
  mayWrite: true,
  at: '2026-01-01T00:00:00.000Z',
  commit: head,
  ...rest,
});

export const withCommands = (...commands: readonly Command[]): SourceFacts => ({ commands: completeReading(commands) });
export const withChangedPaths = (...paths: readonly string[]): SourceFacts => ({ changedPaths: completeReading(paths) });

/** Untrusted names: few enough to collide, and some unusual ones. */
const name = fc.oneof(
  {
    weight: 3,
    arbitrary: fc.constantFrom('preview', 'main', 'preview/a', 'feature/login', 'v1', '/deploy', '/deploy now', 'a/b.ts'),
  },
  { weight: 1, arbitrary: fc.string({ unit: 'binary', maxLength: 255 }) },
  { weight: 1, arbitrary: fc.constantFrom('x'.repeat(100_000), '日本語 🚢', '\u202Egnp.exe', 'a\nb', '\ud83d', '48h', '') },
);
const commit = fc.constantFrom(head, otherCommit);

const anyRef: fc.Arbitrary<Source> = fc.record({
  project: fc.constant(shop),
  ref: fc.record({ kind: fc.constantFrom<SourceKind>('branch', 'tag'), name }),
  commit,
});

const anyPullRequest: fc.Arbitrary<Source> = fc
  .record({
    title: fc.oneof(name, fc.constantFrom('[skip eph] not now', 'not[skip eph]now')),
    author: name,
    draft: fc.boolean(),
    labels: fc.uniqueArray(name, { maxLength: 4 }).map((labels) => labels.toSorted()),
    head: name,
    base: name,
    fork: fc.option(name),
  })
  .chain((pull) => commit.map((at) => ({ ...pullRequest(pull), commit: at })));

export const anySource: fc.Arbitrary<Source> = fc.oneof(anyRef, anyPullRequest);

const anyCommand: fc.Arbitrary<Command> = fc.record({
  id: fc.string(),
  text: name,
  author: name,
  mayWrite: fc.boolean(),
  at: fc.constant('2026-01-01T00:00:00.000Z'),
  commit: fc.option(commit),
});

export const completeFacts: fc.Arbitrary<Required<SourceFacts>> = fc.record({
  commands: fc.array(anyCommand, { maxLength: 5 }).map((items) => completeReading(items)),
  changedPaths: fc.uniqueArray(name, { maxLength: 5 }).map((items) => completeReading(items)),
});

/** The facts when some were not read and some only partly. */
export const partialFacts = (facts: Required<SourceFacts>): fc.Arbitrary<SourceFacts> => {
  const { commands, changedPaths } = facts;
  return fc.oneof(
    fc.constant({}),
    fc.constant({ commands }),
    fc.constant({ changedPaths }),
    fc.subarray([...commands.items]).map((items) => ({ commands: incompleteReading(items), changedPaths })),
    fc.subarray([...changedPaths.items]).map((items) => ({ commands, changedPaths: incompleteReading(items) })),
  );
};
