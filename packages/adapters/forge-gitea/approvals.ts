import type { CommitSha, Reading } from '@eph/contract';
import type { Approval } from '@eph/engine/source/pulls';
import type { Answer } from '../forge-http/answer.ts';
import { filterApprovals } from '../forge-http/approvals.ts';
import { confirmEmpty } from '../forge-http/empty-list.ts';
import type { Listing } from '../forge-http/read-pages.ts';
import type { GiteaClient } from './gitea-client.ts';
import { readWriters } from './permissions.ts';
import { readReviews } from './pull-events.ts';
import { readPull } from './repository.ts';
import type { ReviewShape } from './shapes.ts';

/** As `Pulls.approvals`. */
export const readApprovals = async (
  client: GiteaClient,
  number: number,
  commit: CommitSha,
  signal: AbortSignal,
): Promise<Reading<Approval>> =>
  filterApprovals({
    reviews: await readCountedReviews(client, number, signal),
    compute: (items) => computeApprovals(items, commit),
    readWriters: (people) => readWriters(client, people, signal),
  });

const readCountedReviews = async (client: GiteaClient, number: number, signal: AbortSignal): Promise<Listing<ReviewShape>> => {
  const count = async (): Promise<Answer<number>> => {
    const pull = await readPull(client, number, signal);
    return pull.ok ? { ok: true, value: pull.value.review_comments } : pull;
  };
  const doubt = `${client.shown} does not list the reviews of pull request ${number}.`;
  return await confirmEmpty(await readReviews(client, number, signal), count, doubt);
};

const verdicts = new Set(['APPROVED', 'REQUEST_CHANGES']);

/** The last verdict of each person counts, if it is an approval of exactly this commit and not dismissed. */
const computeApprovals = (reviews: readonly ReviewShape[], commit: CommitSha): readonly Approval[] => {
  const last = new Map<string, ReviewShape>();
  for (const review of reviews) {
    const author = review.user?.login;
    if (author !== undefined && verdicts.has(review.state)) last.set(author, review);
  }
  return [...last]
    .filter(([, review]) => review.state === 'APPROVED' && !review.dismissed && review.commit_id === commit)
    .map(([author, review]) => ({ author, at: review.submitted_at }));
};
