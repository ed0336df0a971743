import { canPushTo } from '../state/access.ts';
import { mayApprove } from '../state/approvals.ts';
import {
  type Award,
  fullPath,
  isDraft,
  type LabelEvent,
  type MergeRequest,
  type Note,
  type User,
  type Version,
} from '../state/entities.ts';
import { headPipelineOf } from '../state/pipelines.ts';
import type { GitlabState } from '../state/state.ts';
import { instant, instantOrNull, type Json, projectUrl, representLabelBasic, representUser } from './represent.ts';
import { representPipeline, representPipelineBasic } from './represent-delivery.ts';

export const mergeRequestUrl = (state: GitlabState, { target, iid }: MergeRequest): string =>
  `${projectUrl(state, target)}/-/merge_requests/${iid}`;

export const labelsOf = ({ labels }: MergeRequest) => [...labels].toSorted((a, b) => a.title.localeCompare(b.title, 'en'));

export const detailedMergeStatus = (merge: MergeRequest): Json<'mergeRequest'>['detailed_merge_status'] => {
  if (merge.state !== 'opened') return 'not_open';
  if (merge.mergeStatus === 'cannot_be_merged') return 'conflict';
  if (isDraft(merge.title)) return 'draft_status';
  return merge.mergeStatus === 'unchecked' ? 'unchecked' : 'mergeable';
};

export interface MergeRequestView {
  /** Whether it was asked of its own project; decides what a reference is relative to. */
  readonly ofProject: boolean;
  readonly labelDetails?: boolean | undefined;
}

export const representMergeRequestBasic = (
  state: GitlabState,
  merge: MergeRequest,
  view: MergeRequestView,
): Json<'mergeRequests'>[number] => {
  const { target, source, closed, merged } = merge;
  const short = `!${merge.iid}`;
  const full = `${fullPath(target)}${short}`;
  const draft = isDraft(merge.title);
  const mergedBy = merged === undefined ? null : representUser(state, merged.by);
  return {
    id: merge.id,
    iid: merge.iid,
    project_id: target.id,
    title: merge.title,
    description: merge.description,
    state: merge.state,
    imported: false,
    imported_from: 'none',
    created_at: instant(merge.createdAt),
    updated_at: instant(merge.updatedAt),
    merged_by: mergedBy,
    merge_user: mergedBy,
    merged_at: instantOrNull(merged?.at),
    merge_after: null,
    prepared_at: instant(merge.createdAt),
    closed_by: closed === undefined ? null : representUser(state, closed.by),
    closed_at: instantOrNull(closed?.at),
    target_branch: merge.targetBranch,
    source_branch: merge.sourceBranch,
    user_notes_count: [...merge.notes.values()].filter((note) => !note.system).length,
    upvotes: 0,
    downvotes: 0,
    author: representUser(state, merge.author),
    assignees: [],
    assignee: null,
    reviewers: [],
    source_project_id: source?.id ?? null,
    target_project_id: target.id,
    labels: view.labelDetails === true ? labelsOf(merge).map(representLabelBasic) : labelsOf(merge).map(({ title }) => title),
    draft,
    work_in_progress: draft,
    milestone: null,
    merge_when_pipeline_succeeds: false,
    merge_status: merge.mergeStatus,
    detailed_merge_status: detailedMergeStatus(merge),
    sha: merge.sha,
    merge_commit_sha: merged === undefined ? null : merge.sha,
    squash_commit_sha: null,
    discussion_locked: null,
    should_remove_source_branch: null,
    force_remove_source_branch: null,
    ...(source === target ? {} : { allow_collaboration: false, allow_maintainer_to_push: false }),
    reference: view.ofProject ? short : full,
    references: { short, relative: view.ofProject ? short : full, full },
    web_url: mergeRequestUrl(state, merge),
    time_stats: { time_estimate: 0, total_time_spent: 0, human_time_estimate: null, human_total_time_spent: null },
    squash: false,
    squash_on_merge: false,
    task_completion_status: { count: 0, completed_count: 0 },
    has_conflicts: merge.mergeStatus === 'cannot_be_merged',
    blocking_discussions_resolved: true,
  };
};

export const representMergeRequest = (
  state: GitlabState,
  viewer: User | undefined,
  merge: MergeRequest,
  changesCount: string | null,
): Json<'mergeRequest'> => {
  const head = headPipelineOf(merge);
  return {
    ...representMergeRequestBasic(state, merge, { ofProject: true }),
    subscribed: viewer === merge.author,
    changes_count: changesCount,
    latest_build_started_at: null,
    latest_build_finished_at: null,
    first_deployed_to_production_at: null,
    pipeline: head === undefined ? null : representPipelineBasic(state, head.project, head.pipeline),
    head_pipeline: head === undefined ? null : representPipeline(state, head.project, head.pipeline),
    diff_refs: { base_sha: merge.baseSha, head_sha: merge.sha, start_sha: merge.baseSha },
    merge_error: null,
    first_contribution: false,
    user: { can_merge: canPushTo(viewer, merge.target, merge.targetBranch) },
  };
};

export const representApprovals = (state: GitlabState, viewer: User | undefined, merge: MergeRequest): Json<'approvals'> => ({
  user_has_approved: viewer !== undefined && merge.approvals.has(viewer.id),
  user_can_approve: mayApprove(viewer, merge),
  approved: merge.approvals.size > 0,
  approved_by: [...merge.approvals.values()].map(({ user, at }) => ({
    user: representUser(state, user),
    approved_at: instant(at),
  })),
});

export const representLabelEvent = (
  state: GitlabState,
  merge: MergeRequest,
  { id, user, at, label, action }: LabelEvent,
): Json<'labelEvent'> => ({
  id,
  user: representUser(state, user),
  created_at: instant(at),
  resource_type: 'MergeRequest',
  resource_id: merge.id,
  label: representLabelBasic(label),
  action,
});

export const representNote = (state: GitlabState, note: Note): Json<'note'> => ({
  id: note.id,
  type: null,
  body: note.body,
  attachment: null,
  author: representUser(state, note.author),
  created_at: instant(note.createdAt),
  updated_at: instant(note.updatedAt),
  system: note.system,
  noteable_id: note.mergeRequest.id,
  noteable_type: 'MergeRequest',
  project_id: note.mergeRequest.target.id,
  resolvable: false,
  confidential: note.internal,
  internal: note.internal,
  imported: false,
  imported_from: 'none',
  noteable_iid: note.mergeRequest.iid,
  commands_changes: {},
});

export const representAward = (state: GitlabState, on: Note, { id, name, user, at }: Award): Json<'award'> => ({
  id,
  name,
  user: representUser(state, user),
  created_at: instant(at),
  updated_at: instant(at),
  awardable_id: on.id,
  awardable_type: 'Note',
});

export const representVersion = (merge: MergeRequest, version: Version): Json<'versions'>[number] => ({
  id: version.id,
  head_commit_sha: version.headSha,
  base_commit_sha: version.baseSha,
  start_commit_sha: version.startSha,
  created_at: instant(version.at),
  merge_request_id: merge.id,
  state: version.changedFiles === 0 ? 'empty' : 'collected',
  real_size: String(version.changedFiles),
  // In GitLab, too, it appears after a while.
  patch_id_sha: null,
});
