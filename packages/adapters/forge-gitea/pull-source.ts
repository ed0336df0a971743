import { type CommitSha, commitSha, type ProjectId, type PullRequest, type Source } from '@eph/contract';
import type { PullShape } from './shapes.ts';

/**
 * The source of a pull request; undefined while its commit is unknown.
 *
 * Lists show the commit that Gitea recorded, which lags after a push, and stays behind if somebody pushed while it was
 * closed. The actual head is the branch, so `tips` of the branches take precedence.
 */
export const toSource = (
  project: ProjectId,
  shape: PullShape,
  tips: ReadonlyMap<string, CommitSha> = new Map(),
): Source | undefined => {
  const pull = toPullRequest(shape);
  const commit = (pull.fork === null ? tips.get(pull.head) : undefined) ?? parseCommit(shape.head.sha);
  return commit === undefined ? undefined : { project, ref: { kind: 'pr', name: String(shape.number) }, commit, pull };
};

const parseCommit = (text: string): CommitSha | undefined =>
  /^(?:[0-9a-f]{40}|[0-9a-f]{64})$/.test(text) ? commitSha(text) : undefined;

const toPullRequest = (pull: PullShape): PullRequest => ({
  title: pull.title,
  author: pull.user.login,
  draft: pull.draft,
  labels: [...new Set((pull.labels ?? []).map(({ name }) => name))].toSorted(),
  head: pull.head.label === '' ? pull.head.ref : pull.head.label,
  base: pull.base.ref,
  fork: forkOf(pull),
  page: pull.html_url,
  touched: touchedOf(pull),
});

/** How long Gitea's answers may miss another change of the same second. */
const settlingMs = 5_000;

/**
 * Times have whole seconds, so a later change in the same second may go unnoticed. The counts show most of them. For the
 * rest, a recent change gets a marker that disappears later, which counts as one more change.
 */
const touchedOf = ({ updated_at: at, comments, review_comments: reviews, readAtMs }: PullShape): string =>
  `${at} ${comments} ${reviews}${readAtMs - Date.parse(at) < settlingMs ? ' just now' : ''}`;

/**
 * Anybody who can read a repository can push to `refs/for/…`, and Gitea creates a pull request of the repository itself.
 * It is as untrusted as a fork.
 */
const forkOf = ({ head, base, user }: PullShape): string | null => {
  if (head.label === '') return `${user.login}, without a repository`;
  if (head.repo_id === base.repo_id) return null;
  return head.repo?.full_name ?? 'a deleted repository';
};
