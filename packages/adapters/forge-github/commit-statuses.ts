import type { CommitSha } from '@eph/contract';
import { toError } from '../forge-http/answer.ts';
import { readStatuses } from './checks.ts';
import type { GithubClient } from './github-client.ts';
import { checkGone } from './repository.ts';

export interface WantedStatus {
  readonly context: string;
  readonly state: 'success' | 'pending' | 'failure';
  readonly description: string;
  readonly target_url: string | null;
}

/** Writes only changes: GitHub allows a thousand statuses per commit and context, and deletes none. */
export const ensureStatus = async (
  client: GithubClient,
  commit: CommitSha,
  wanted: WantedStatus,
  signal: AbortSignal,
): Promise<void> => {
  const statuses = await readStatuses(client, commit, signal);
  if (!statuses.complete) {
    // Nothing to do if the commit is gone.
    if ((await checkGone(client, statuses.refusal, signal)).state === 'gone') return;
    throw toError(statuses.refusal);
  }
  const present = statuses.items.find(({ context }) => context === wanted.context);
  const isEqual =
    present?.state === wanted.state && present.description === wanted.description && present.target_url === wanted.target_url;
  if (isEqual) return;
  const { target_url: address, ...rest } = wanted;
  const parameters = { sha: commit, ...rest, ...(address === null ? {} : { target_url: address }) };
  const answer = await client.send('POST /repos/{owner}/{repo}/statuses/{sha}', parameters, signal);
  if (!answer.ok) throw toError(answer);
};
