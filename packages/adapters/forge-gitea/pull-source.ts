import {
  type CommitSha,
  commitSha,
  EphError,
  type ProjectId,
  type PullRequest,
  type Source,
  type SourceRef,
} from '@eph/contract';
import type { PullShape } from './shapes.ts';

/** The number of a pull request, if the ref is one and could be one of Gitea's. */
export const parseNumber = ({ kind, name }: SourceRef): number | undefined =>
  kind === 'pr' && /^[1-9]\d{0,9}$/.test(name) ? Number(name) : undefined;

/**
 * The source that a pull request is; undefined while its commit is not known.
 *
 * In lists Gitea shows the commit that it noted for the pull request, which stays behind for a moment after every push, and for good if
 * somebody pushed while it was closed. By itself, a pull request is where its branch is; so it is with the `tips` of the branches.
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

/** How long after a change Gitea's answers may still miss another one of the same second. */
const settlingMs = 5_000;

/**
 * Times have seconds, and more may happen in the one that was just read. The counts tell most of it apart; for the rest, what changed
 * just now looks different once it is certain that nothing followed.
 */
const touchedOf = ({ updated_at: at, comments, review_comments: reviews, readAtMs }: PullShape): string =>
  `${at} ${comments} ${reviews}${readAtMs - Date.parse(at) < settlingMs ? ' just now' : ''}`;

/**
 * Whoever may read a repository may push to its `refs/for/…`, and Gitea makes a pull request of it that belongs to the repository
 * itself. It is as foreign as a fork.
 */
const forkOf = ({ head, base, user }: PullShape): string | null => {
  if (head.label === '') return `${user.login}, without a repository`;
  if (head.repo_id === base.repo_id) return null;
  return head.repo?.full_name ?? 'a deleted repository';
};

export const requireNumber = (ref: SourceRef, shown: string): number => {
  const number = parseNumber(ref);
  if (number === undefined)
    throw new EphError('forge.refused', `${shown} has no pull request ${JSON.stringify(ref.name.slice(0, 40))}.`);
  return number;
};
