import { type CommitSha, completeReading, failure, incompleteReading, type Reading } from '@eph/contract';
import type { Approval } from '@eph/engine/source/pulls';
import { parserOf } from '../forge-http/forge-http.ts';
import type { GitlabClient } from './gitlab-client.ts';
import { readWriters } from './permissions.ts';
import { approvalsShape } from './shapes.ts';
import { headAt, readVersions } from './versions.ts';

const parseApprovals = parserOf(approvalsShape);

/** As `Pulls.approvals`. GitLab resets approvals after a push only if the project says so; here each is bound to its commit. */
export const readApprovals = async (
  client: GitlabClient,
  number: number,
  commit: CommitSha,
  signal: AbortSignal,
): Promise<Reading<Approval>> => {
  const approvals = await client.read(`/merge_requests/${number}/approvals`, parseApprovals, signal);
  if (!approvals.ok) return incompleteReading([], approvals.fault);
  const all = approvals.value.approved_by;
  if (all.length === 0) return completeReading([]);
  const versions = await readVersions(client, number, signal);
  if (!versions.complete) return incompleteReading([], versions.refusal.fault);
  const dated = all.flatMap(({ user, approved_at: at }) => (typeof at === 'string' ? [{ user, at }] : []));
  const bound = dated.filter(({ at }) => headAt(versions.items, at) === commit);
  const people = bound.map(({ user }) => user.id);
  const writers = await readWriters(client, people, signal);
  if (!writers.ok) return incompleteReading([], writers.fault);
  const items = bound.filter(({ user }) => writers.value.has(user.id)).map(({ user, at }) => ({ author: user.username, at }));
  if (dated.length === all.length) return completeReading(items);
  // Releases before 17 do not return the time.
  return incompleteReading(items, failure('forge.incomplete', `${client.shown}: GitLab does not return when it was approved.`));
};
