import { type CommitSha, completeReading, failure, incompleteReading, type Reading } from '@eph/contract';
import { type GitlabClient, listBy, parserOf } from './gitlab-client.ts';
import { comparedShape, diffShape } from './shapes.ts';

const diffs = listBy('changed files', diffShape, ({ old_path: from, new_path: to }) => JSON.stringify([from, to]));
const parseCompared = parserOf(comparedShape);

/**
 * As `Pulls.changedPaths`. The list names no commit, and GitLab leaves out what is too much for it: only when the merge request, asked
 * afterwards, is still at the commit and counts as many files, is the list the whole truth about it.
 */
export const readChangedPaths = async (
  client: GitlabClient,
  number: number,
  commit: CommitSha,
  signal: AbortSignal,
): Promise<Reading<string>> => {
  const files = await client.list(`/merge_requests/${number}/diffs`, diffs, { signal, fresh: true });
  if (!files.complete) return incompleteReading([], files.refusal.fault);
  const merge = await client.read(`/merge_requests/${number}`, parseCompared, { signal, fresh: true });
  if (!merge.ok) return incompleteReading([], merge.fault);
  const { sha, changes_count: count } = merge.value;
  if (sha === commit && count === String(files.items.length))
    return completeReading([...new Set(files.items.flatMap(({ old_path: from, new_path: to }) => [from, to]))]);
  const why = sha === commit ? 'GitLab does not list them all' : 'it moved on';
  return incompleteReading(
    [],
    failure('forge.incomplete', `Which files merge request ${number} of ${client.shown} changes is not known: ${why}.`),
  );
};
