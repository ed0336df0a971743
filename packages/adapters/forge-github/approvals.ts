import type { CommitSha, Reading } from '@eph/contract';
import type { Approval } from '@eph/engine/source/pulls';
import { z } from 'zod';
import type { Answer } from '../forge-http/answer.ts';
import { filterApprovals } from '../forge-http/approvals.ts';
import { confirmEmpty } from '../forge-http/empty-list.ts';
import type { Listing } from '../forge-http/read-pages.ts';
import type { GithubClient, ListQuery } from './github-client.ts';
import { readWriters } from './permissions.ts';
import { type ReviewShape, reviewShape, type TimelineEventShape, timelineEventShape } from './shapes.ts';

const parseReviews = (body: unknown): readonly ReviewShape[] => z.array(reviewShape).parse(body);
const parseTimeline = (body: unknown): readonly TimelineEventShape[] => z.array(timelineEventShape).parse(body);

/** As `Pulls.approvals`. */
export const readApprovals = async (
  client: GithubClient,
  number: number,
  commit: CommitSha,
  signal: AbortSignal,
): Promise<Reading<Approval>> =>
  filterApprovals({
    reviews: await readReviews(client, number, signal),
    compute: (items) => computeApprovals(items, commit),
    readWriters: (people) => readWriters(client, people, signal),
  });

/** GitHub has no count of reviews, but the timeline lists them. */
const readReviews = async (client: GithubClient, number: number, signal: AbortSignal): Promise<Listing<ReviewShape>> => {
  const count = async (): Promise<Answer<number>> => {
    const timeline = await client.list(timelineOf(number), { signal, fresh: true });
    if (!timeline.complete) return timeline.refusal;
    return { ok: true, value: timeline.items.filter(({ event }) => event === 'reviewed').length };
  };
  const doubt = `${client.shown} does not list the reviews of pull request ${number}.`;
  return await confirmEmpty(await client.list(reviewsOf(number), { signal }), count, doubt);
};

const reviewsOf = (number: number): ListQuery<ReviewShape> => ({
  route: 'GET /repos/{owner}/{repo}/pulls/{pull_number}/reviews',
  parameters: { pull_number: number },
  parse: parseReviews,
  keyOf: ({ id }) => id,
  what: 'reviews',
});

const timelineOf = (number: number): ListQuery<TimelineEventShape> => ({
  route: 'GET /repos/{owner}/{repo}/issues/{issue_number}/timeline',
  parameters: { issue_number: number },
  parse: parseTimeline,
  // Not every event has an id, and only the type is needed.
  keyOf: ({ event }) => event,
  what: 'events',
});

/** `DISMISSED` replaces the verdict of a dismissed review. */
const verdicts = new Set(['APPROVED', 'CHANGES_REQUESTED', 'DISMISSED']);

/** The last verdict of each person counts, if it is an approval of exactly this commit. */
const computeApprovals = (reviews: readonly ReviewShape[], commit: CommitSha): readonly Approval[] => {
  const last = new Map<string, ReviewShape>();
  for (const review of reviews) if (review.user !== null && verdicts.has(review.state)) last.set(review.user.login, review);
  return [...last]
    .filter(([, { state, commit_id: approved }]) => state === 'APPROVED' && approved === commit)
    .map(([author, { submitted_at: at = '' }]) => ({ author, at }));
};
