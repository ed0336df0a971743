import { type CommitSha, completeReading, incompleteReading, type Reading } from '@eph/contract';
import type { Approval } from '@eph/engine/source/pulls';
import { z } from 'zod';
import type { GithubClient } from './github-client.ts';
import { readWriters } from './permissions.ts';
import { type ReviewShape, reviewShape } from './shapes.ts';

const parseReviews = (body: unknown): readonly ReviewShape[] => z.array(reviewShape).parse(body);

/** As `Pulls.approvals`. */
export const readApprovals = async (
  client: GithubClient,
  number: number,
  commit: CommitSha,
  signal: AbortSignal,
): Promise<Reading<Approval>> => {
  const reviews = await client.list(
    {
      route: 'GET /repos/{owner}/{repo}/pulls/{pull_number}/reviews',
      parameters: { pull_number: number },
      parse: parseReviews,
      keyOf: ({ id }) => id,
      what: 'reviews',
    },
    { signal },
  );
  if (!reviews.complete) return incompleteReading([], reviews.refusal.fault);
  const approvals = computeApprovals(reviews.items, commit);
  const writers = await readWriters(
    client,
    approvals.map(({ author }) => author),
    signal,
  );
  if (!writers.ok) return incompleteReading([], writers.fault);
  return completeReading(approvals.filter(({ author }) => writers.value.has(author)));
};

/** A review that was dismissed says so in place of its verdict. */
const verdicts = new Set(['APPROVED', 'CHANGES_REQUESTED', 'DISMISSED']);

/** Of each person the last verdict counts, if it is an approval of exactly this commit. */
const computeApprovals = (reviews: readonly ReviewShape[], commit: CommitSha): readonly Approval[] => {
  const last = new Map<string, ReviewShape>();
  for (const review of reviews) if (review.user !== null && verdicts.has(review.state)) last.set(review.user.login, review);
  return [...last]
    .filter(([, { state, commit_id: approved }]) => state === 'APPROVED' && approved === commit)
    .map(([author, { submitted_at: at = '' }]) => ({ author, at }));
};
