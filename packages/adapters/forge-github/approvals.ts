import type { CommitSha, Reading } from '@eph/contract';
import type { Approval } from '@eph/engine/source/pulls';
import type { Answer } from '../forge-http/answer.ts';
import { confirmEmpty } from '../forge-http/empty-list.ts';
import { listBy } from '../forge-http/forge-http.ts';
import { computeApprovals, reviews } from '../forge-http/github-api.ts';
import type { GithubClient } from './github-client.ts';
import { timelineEventShape } from './shapes.ts';

// Not every event has an id, and only the type is needed.
const timelineEvents = listBy('events', timelineEventShape, ({ event }) => event);

/** As `Pulls.approvals`. GitHub has no count of reviews, but the timeline lists them. */
export const readApprovals = async (
  client: GithubClient,
  number: number,
  commit: CommitSha,
  signal: AbortSignal,
): Promise<Reading<Approval>> => {
  const count = async (): Promise<Answer<number>> => {
    const timeline = await client.list(`/issues/${number}/timeline`, timelineEvents, signal);
    if (!timeline.complete) return timeline.refusal;
    return { ok: true, value: timeline.items.filter(({ event }) => event === 'reviewed').length };
  };
  const doubt = `${client.shown} does not list the reviews of pull request ${number}.`;
  const listing = await confirmEmpty(await client.list(`/pulls/${number}/reviews`, reviews, signal), count, doubt);
  return await computeApprovals(client, listing, commit, signal);
};
