import { commitSha, type ProjectId, type PullRequest, type Source } from '@eph/contract';
import type { z } from 'zod';
import type { MergeRequestShape, referencesShape } from './shapes.ts';

export const pathOf = ({ full }: z.output<typeof referencesShape>): string => full.slice(0, full.lastIndexOf('!'));

export interface MergeRequestWithCommit extends MergeRequestShape {
  readonly sha: string;
}

/** The commit is unknown shortly after a merge request was opened. */
export const hasCommit = (merge: MergeRequestShape): merge is MergeRequestWithCommit => isCommit(merge.sha);

export const isCommit = (text: string | null): text is string => text !== null && /^(?:[0-9a-f]{40}|[0-9a-f]{64})$/.test(text);

export const toSource = (project: ProjectId, merge: MergeRequestWithCommit): Source => ({
  project,
  ref: { kind: 'pr', name: String(merge.iid) },
  commit: commitSha(merge.sha),
  pull: toPullRequest(merge),
});

const toPullRequest = (merge: MergeRequestShape): PullRequest => ({
  title: merge.title,
  author: merge.author.username,
  draft: merge.draft,
  labels: [...new Set(merge.labels)].toSorted(),
  head: merge.source_branch,
  base: merge.target_branch,
  fork: forkOf(merge),
  page: merge.web_url,
  // The count shows deleted comments, which do not change the date.
  touched: `${merge.updated_at} ${merge.user_notes_count}`,
});

/** Only the id of the fork. Its path would cost a request, and Eph may not be allowed to see it. */
const forkOf = ({ source_project_id: source, target_project_id: target }: MergeRequestShape): string | null => {
  if (source === target) return null;
  return source === null ? 'a deleted project' : `projects/${source}`;
};
