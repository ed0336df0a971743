import { type CommitSha, completeReading, failure, incompleteReading, type Reading } from '@eph/contract';
import { listBy, parserOf } from '../forge-http/forge-http.ts';
import type { GitlabClient } from './gitlab-client.ts';
import { comparedShape, diffShape } from './shapes.ts';

const diffs = listBy('changed files', diffShape, ({ old_path: from, new_path: to }) => JSON.stringify([from, to]));
const parseCompared = parserOf(comparedShape);

/**
 * As `Pulls.changedPaths`. The list does not name its commit, and GitLab truncates it. It is complete only if the merge
 * request, read afterwards, is still at the commit and counts as many files.
 */
export const readChangedPaths = async (
  client: GitlabClient,
  number: number,
  commit: CommitSha,
  signal: AbortSignal,
): Promise<Reading<string>> => {
  const files = await client.list(`/merge_requests/${number}/diffs`, diffs, signal);
  if (!files.complete) return incompleteReading([], files.refusal.fault);
  const merge = await client.read(`/merge_requests/${number}`, parseCompared, signal);
  if (!merge.ok) return incompleteReading([], merge.fault);
  const { sha, changes_count: count } = merge.value;
  if (sha === commit && count === String(files.items.length))
    return completeReading([...new Set(files.items.flatMap(({ old_path: from, new_path: to }) => [from, to]))]);
  const why = sha === commit ? 'GitLab does not list them all' : 'it has a newer commit';
  return incompleteReading(
    [],
    failure('forge.incomplete', `The changed files of merge request ${number} of ${client.shown} are unknown: ${why}.`),
  );
};
