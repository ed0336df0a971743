import { commitSha, EphError, type ProjectId, type PullRequest, type Source, type SourceRef } from '@eph/contract';
import { loginOf, type PullShape } from './shapes.ts';

/** The number of a pull request, if the ref can be one of GitHub. */
export const parseNumber = ({ kind, name }: SourceRef): number | undefined =>
  kind === 'pr' && /^[1-9]\d{0,9}$/.test(name) ? Number(name) : undefined;

export const requireNumber = (ref: SourceRef, shown: string): number => {
  const number = parseNumber(ref);
  if (number === undefined)
    throw new EphError('forge.refused', `${shown} has no pull request ${JSON.stringify(ref.name.slice(0, 40))}.`);
  return number;
};

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
