import { type CommitSha, cutCheckText } from '@eph/contract';
import type { Check } from '@eph/engine/source/pulls';
import { listOf } from '../forge-http/forge-http.ts';
import type { Listing } from '../forge-http/read-pages.ts';
import type { GitlabClient } from './gitlab-client.ts';
import { type StatusShape, statusShape } from './shapes.ts';

const statuses = listOf('statuses', statusShape);

/** Jobs and external statuses, oldest first; one name may occur in several pipelines. */
export const readStatuses = async (
  client: GitlabClient,
  commit: CommitSha,
  signal: AbortSignal,
): Promise<Listing<StatusShape>> => {
  const listing = await client.list(`/repository/commits/${commit}/statuses`, statuses, signal);
  return { ...listing, items: listing.items.toSorted((a, b) => a.id - b.id) };
};

export const computeChecks = (items: readonly StatusShape[]): readonly Check[] =>
  [...new Map(items.map((status) => [status.name, status])).values()].map(({ name, status, description }) => ({
    name,
    state: checkStates[status] ?? 'pending',
    text: cutCheckText(description ?? ''),
  }));

/** All other states are pending. A job is skipped when an earlier one failed. */
const checkStates: Readonly<Record<string, Check['state']>> = {
  success: 'success',
  failed: 'failure',
  canceled: 'failure',
  skipped: 'failure',
};
