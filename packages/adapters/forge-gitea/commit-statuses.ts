import type { CommitSha } from '@eph/contract';
import { toError } from '../forge-http/answer.ts';
import type { GiteaClient } from './gitea-client.ts';
import { isGone } from './repository.ts';
import { parseNothing } from './shapes.ts';
import { readStatuses } from './statuses.ts';

export interface WantedStatus {
  readonly context: string;
  readonly state: 'success' | 'pending' | 'failure' | 'skipped';
  readonly description: string;
  readonly target_url: string;
}

/** Does nothing if the commit is gone. */
export const ensureStatus = async (
  client: GiteaClient,
  commit: CommitSha,
  wanted: WantedStatus,
  signal: AbortSignal,
): Promise<void> => {
  const statuses = await readStatuses(client, commit, signal);
  if (!statuses.complete) {
    if (await isGone(client, statuses.refusal, signal)) return;
    throw toError(statuses.refusal);
  }
  const present = statuses.items.find(({ context }) => context === wanted.context);
  const isEqual =
    present?.status === wanted.state &&
    (present.description ?? '') === wanted.description &&
    (present.target_url ?? '') === wanted.target_url;
  if (isEqual) return;
  const answer = await client.send('POST', `/statuses/${commit}`, wanted, parseNothing, signal);
  if (!answer.ok) throw toError(answer);
};
