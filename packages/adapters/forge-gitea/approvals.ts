import type { CommitSha, Reading } from '@eph/contract';
import type { Approval } from '@eph/engine/source/pulls';
import type { Answer } from '../forge-http/answer.ts';
import { confirmEmpty } from '../forge-http/empty-list.ts';
import { computeApprovals } from '../forge-http/github-api.ts';
import type { GiteaClient } from './gitea-client.ts';
import { readReviews } from './pull-events.ts';
import { readPull } from './repository.ts';

/** As `Pulls.approvals`. */
export const readApprovals = async (
  client: GiteaClient,
  number: number,
  commit: CommitSha,
  signal: AbortSignal,
): Promise<Reading<Approval>> => {
  const count = async (): Promise<Answer<number>> => {
    const pull = await readPull(client, number, signal);
    return pull.ok ? { ok: true, value: pull.value.review_comments } : pull;
  };
  const doubt = `${client.shown} does not list the reviews of pull request ${number}.`;
  const listing = await confirmEmpty(await readReviews(client, number, signal), count, doubt);
  return await computeApprovals(client, listing, commit, signal);
};
