import type { CommitSha } from '@eph/contract';
import { toError, unwrap } from '../forge-http/answer.ts';
import { parseNothing } from '../forge-http/forge-http.ts';
import { isGone } from '../forge-http/is-gone.ts';
import type { ComputedStatus } from '../forge-http/report-queue.ts';
import type { GitlabClient } from './gitlab-client.ts';
import type { StatusShape } from './shapes.ts';
import { readStatuses } from './statuses.ts';

export interface WantedStatus extends ComputedStatus {
  readonly commit: CommitSha;
  readonly ref: string;
  readonly name: string;
  /** The link; undefined while nothing answers. */
  readonly target: string | undefined;
}

const addressLimit = 255;

/** Writes the status if the newest one of this name differs. Does nothing if the commit is gone. Throws `EphError`. */
export const ensureCommitStatus = async (client: GitlabClient, wanted: WantedStatus, signal: AbortSignal): Promise<void> => {
  const account = unwrap(await client.readAccount(signal));
  const statuses = await readStatuses(client, wanted.commit, signal);
  if (!statuses.complete) {
    if (await isGone(client, statuses.refusal, signal)) return;
    throw toError(statuses.refusal);
  }
  const before = statuses.items.findLast(({ name, author }) => name === wanted.name && author?.id === account);
  const state = nextState(wanted, before);
  if (state === undefined) return;
  const { name, ref, description, target } = wanted;
  const body = { state, name, ref, description, ...(fits(target) ? { target_url: target } : {}) };
  unwrap(await client.send('POST', `/statuses/${wanted.commit}`, body, parseNothing, signal));
};

const unfinished = new Set(['pending', 'running']);
const past = new Set(['canceled', 'skipped']);
const finals = { success: 'success', failure: 'failed' } as const;

/**
 * The state to set; undefined if nothing has to change. In GitLab a status goes from unfinished to finished and never
 * back, and an unfinished one cannot be set again, even with another description. After a finished one a new one begins.
 */
const nextState = (
  { state, description, target }: WantedStatus,
  before: StatusShape | undefined,
): 'running' | 'success' | 'failed' | 'canceled' | 'skipped' | undefined => {
  const isUnfinished = before !== undefined && unfinished.has(before.status);
  if (state === 'pending') return isUnfinished ? undefined : 'running';
  if (state === 'inactive') {
    if (before === undefined || past.has(before.status)) return undefined;
    return isUnfinished ? 'canceled' : 'skipped';
  }
  const isSame = before?.description === description && (!fits(target) || before.target_url === target);
  return before?.status === finals[state] && isSame ? undefined : finals[state];
};

const fits = (address: string | undefined): address is string => address !== undefined && address.length <= addressLimit;
