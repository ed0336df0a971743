import { commitSha, type ProjectId, type PullRequest, type Source } from '@eph/contract';
import { loginOf } from '../forge-http/github-api.ts';
import type { PullShape } from './shapes.ts';

/** Throws if the commit is invalid. */
export const toSource = (project: ProjectId, pull: PullShape): Source => ({
  project,
  ref: { kind: 'pr', name: String(pull.number) },
  commit: commitSha(pull.head.sha),
  pull: toPullRequest(pull),
});

const toPullRequest = (pull: PullShape): PullRequest => ({
  title: pull.title,
  author: loginOf(pull.user),
  draft: pull.draft,
  labels: [...new Set(pull.labels.map(({ name }) => name))].toSorted(),
  head: pull.head.ref,
  base: pull.base.ref,
  fork: forkOf(pull),
  page: pull.html_url,
  touched: pull.updated_at,
});

const forkOf = ({ head, base }: PullShape): string | null => {
  if (head.repo === null) return 'a deleted repository';
  return head.repo.id === base.repo.id ? null : head.repo.full_name;
};
