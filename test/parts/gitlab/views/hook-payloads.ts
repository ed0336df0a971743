import type { z } from 'zod';
import type { CommitObject } from '../../emulation/commit-object.ts';
import type { hookShapes } from '../shapes/hook-shapes.ts';
import {
  type Announcement,
  fullPath,
  isDraft,
  type Label,
  type MergeRequest,
  type Project,
  stateIds,
  type User,
} from '../state/entities.ts';
import type { GitlabState } from '../state/state.ts';
import { projectUrl } from './represent.ts';
import { detailedMergeStatus, labelsOf, mergeRequestUrl } from './represent-merge-request.ts';

export type HookPayload<Name extends keyof typeof hookShapes> = z.input<(typeof hookShapes)[Name]>;
type Of<Kind extends Announcement['kind']> = Extract<Announcement, { kind: Kind }>;

const visibilityLevels = { private: 0, internal: 10, public: 20 } as const;
const second = (ms: number): string => `${new Date(ms).toISOString().slice(0, 19)}Z`;
const spokenTime = (ms: number): string => `${second(ms).replace('T', ' ').replace('Z', '')} UTC`;

// Nobody's address is public here. https://docs.gitlab.com/user/project/integrations/webhook_events/
const redacted = '[REDACTED]';

const userOf = ({ id, name, username }: User) => ({ id, name, username, avatar_url: null, email: redacted });

const projectOf = (state: GitlabState, project: Project) => {
  const web = projectUrl(state, project);
  const ssh = `git@127.0.0.1:${fullPath(project)}.git`;
  return {
    id: project.id,
    name: project.name,
    description: null,
    web_url: web,
    avatar_url: null,
    git_ssh_url: ssh,
    git_http_url: `${web}.git`,
    namespace: project.namespace.name,
    visibility_level: visibilityLevels[project.visibility],
    path_with_namespace: fullPath(project),
    default_branch: project.defaultBranch,
    homepage: web,
    url: ssh,
    ssh_url: ssh,
    http_url: `${web}.git`,
  };
};

const repositoryOf = (state: GitlabState, project: Project) => {
  const { name, description, homepage, url } = projectOf(state, project);
  return { name, url, description, homepage };
};

const commitOf = (state: GitlabState, project: Project, commit: CommitObject) => ({
  id: commit.sha,
  message: commit.message,
  title: commit.message.split('\n')[0] ?? '',
  timestamp: second(commit.committer.seconds * 1000),
  url: `${projectUrl(state, project)}/-/commit/${commit.sha}`,
  author: { name: commit.author.name, email: redacted },
});

export interface PushedCommit {
  readonly commit: CommitObject;
  readonly added: readonly string[];
  readonly modified: readonly string[];
  readonly removed: readonly string[];
}

/** Of branches and tags. The newest twenty commits only; the count is of all. */
export const pushPayload = (
  state: GitlabState,
  { project, actor, ref, before, after }: Of<'push'>,
  commits: readonly PushedCommit[],
): HookPayload<'push'> | HookPayload<'tagPush'> => {
  const kind = ref.startsWith('refs/tags/') ? ('tag_push' as const) : ('push' as const);
  const { git_http_url, git_ssh_url, visibility_level } = projectOf(state, project);
  const common = {
    before,
    after,
    ref,
    ref_protected: ref === `refs/heads/${project.defaultBranch}`,
    checkout_sha: /^0+$/u.test(after) ? null : after,
    message: null,
    user_id: actor.id,
    user_name: actor.name,
    user_username: actor.username,
    user_email: null,
    user_avatar: null,
    project_id: project.id,
    project: { ...projectOf(state, project), ci_config_path: null },
    commits: commits.slice(-20).map(({ commit, added, modified, removed }) => ({
      ...commitOf(state, project, commit),
      added: [...added],
      modified: [...modified],
      removed: [...removed],
    })),
    total_commits_count: commits.length,
    push_options: {},
    repository: { ...repositoryOf(state, project), git_http_url, git_ssh_url, visibility_level },
  };
  return kind === 'push'
    ? { object_kind: kind, event_name: kind, ...common }
    : { object_kind: kind, event_name: kind, ...common };
};

const labelOf = (project: Project, label: Label) => ({
  id: label.id,
  title: label.title,
  color: label.color,
  project_id: label.group === undefined ? project.id : null,
  created_at: second(label.createdAt),
  updated_at: second(label.createdAt),
  template: false,
  description: label.description,
  type: label.group === undefined ? ('ProjectLabel' as const) : ('GroupLabel' as const),
  group_id: label.group?.id ?? null,
});

const mergeRequestOf = (state: GitlabState, merge: MergeRequest) => ({
  id: merge.id,
  iid: merge.iid,
  target_branch: merge.targetBranch,
  source_branch: merge.sourceBranch,
  source_project_id: merge.source?.id ?? null,
  target_project_id: merge.target.id,
  author_id: merge.author.id,
  assignee_ids: [],
  assignee_id: null,
  reviewer_ids: [],
  title: merge.title,
  created_at: second(merge.createdAt),
  updated_at: second(merge.updatedAt),
  last_edited_at: null,
  last_edited_by_id: null,
  milestone_id: null,
  state_id: stateIds[merge.state],
  state: merge.state,
  blocking_discussions_resolved: true,
  work_in_progress: isDraft(merge.title),
  draft: isDraft(merge.title),
  first_contribution: false,
  merge_status: merge.mergeStatus,
  detailed_merge_status: detailedMergeStatus(merge),
  description: merge.description,
  prepared_at: second(merge.createdAt),
  url: mergeRequestUrl(state, merge),
  source: merge.source === undefined ? null : projectOf(state, merge.source),
  target: projectOf(state, merge.target),
  last_commit: merge.head === undefined ? null : commitOf(state, merge.target, merge.head),
  labels: labelsOf(merge).map((label) => labelOf(merge.target, label)),
});

export const mergePayload = (state: GitlabState, happened: Of<'merge_request'>): HookPayload<'merge'> => {
  const { merge, actor, action, changes, oldrev } = happened;
  const attributes = mergeRequestOf(state, merge);
  const titles = (value: unknown) => (value as readonly Label[]).map((label) => labelOf(merge.target, label));
  const { labels, ...others } = changes;
  return {
    object_kind: 'merge_request',
    event_type: 'merge_request',
    user: userOf(actor),
    project: { ...projectOf(state, merge.target), ci_config_path: null },
    repository: repositoryOf(state, merge.target),
    object_attributes: { ...attributes, action, ...(oldrev === undefined ? {} : { oldrev }) },
    labels: attributes.labels,
    changes: {
      ...others,
      ...(labels === undefined ? {} : { labels: { previous: titles(labels.previous), current: titles(labels.current) } }),
    },
    assignees: [],
    reviewers: [],
  };
};

export const notePayload = (state: GitlabState, { note, actor, action }: Of<'note'>): HookPayload<'note'> => {
  const { mergeRequest } = note;
  return {
    object_kind: 'note',
    event_type: note.internal ? 'confidential_note' : 'note',
    user: userOf(actor),
    project_id: mergeRequest.target.id,
    project: { ...projectOf(state, mergeRequest.target), ci_config_path: null },
    repository: repositoryOf(state, mergeRequest.target),
    object_attributes: {
      id: note.id,
      note: note.body,
      noteable_type: 'MergeRequest',
      author_id: note.author.id,
      created_at: spokenTime(note.createdAt),
      updated_at: spokenTime(note.updatedAt),
      project_id: mergeRequest.target.id,
      attachment: null,
      line_code: null,
      commit_id: '',
      noteable_id: mergeRequest.id,
      system: note.system,
      st_diff: null,
      action,
      url: `${mergeRequestUrl(state, mergeRequest)}#note_${note.id}`,
    },
    merge_request: mergeRequestOf(state, mergeRequest),
  };
};
