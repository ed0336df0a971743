import { z } from 'zod';

/** Payloads of project webhooks, from the examples of https://docs.gitlab.com/user/project/integrations/webhook_events/ */

const id = z.int().positive();
const sha = z.string().regex(/^[0-9a-f]{40}$/u);
const url = z.url();
const time = z.iso.datetime();
/** As in `2015-05-17 18:21:36 UTC`. */
const spokenTime = z.string().regex(/^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC$/u);

const user = z.strictObject({ id, name: z.string(), username: z.string(), avatar_url: z.string().nullable(), email: z.string() });

const project = z.strictObject({
  id,
  name: z.string(),
  description: z.string().nullable(),
  web_url: url,
  avatar_url: z.string().nullable(),
  git_ssh_url: z.string(),
  git_http_url: url,
  namespace: z.string(),
  visibility_level: z.literal([0, 10, 20]),
  path_with_namespace: z.string(),
  default_branch: z.string(),
  ci_config_path: z.string().nullable(),
  homepage: url,
  url: z.string(),
  ssh_url: z.string(),
  http_url: url,
});

const repository = z.strictObject({ name: z.string(), url: z.string(), description: z.string().nullable(), homepage: url });

const commit = z.strictObject({
  id: sha,
  message: z.string(),
  title: z.string(),
  timestamp: z.iso.datetime({ offset: true }),
  url,
  author: z.strictObject({ name: z.string(), email: z.string() }),
});

/** https://docs.gitlab.com/user/project/integrations/webhook_events/#push-events and #tag-events */
const pushed = {
  before: sha,
  after: sha,
  ref: z.string().startsWith('refs/'),
  ref_protected: z.boolean(),
  checkout_sha: sha.nullable(),
  message: z.string().nullable(),
  user_id: id,
  user_name: z.string(),
  user_username: z.string(),
  user_email: z.string().nullable(),
  user_avatar: z.string().nullable(),
  project_id: id,
  project,
  commits: z
    .array(
      z.strictObject({
        ...commit.shape,
        added: z.array(z.string()),
        modified: z.array(z.string()),
        removed: z.array(z.string()),
      }),
    )
    .max(20),
  total_commits_count: z.int(),
  push_options: z.strictObject({}),
  repository: z.strictObject({
    ...repository.shape,
    git_http_url: url,
    git_ssh_url: z.string(),
    visibility_level: z.literal([0, 10, 20]),
  }),
};
const push = z.strictObject({ object_kind: z.literal('push'), event_name: z.literal('push'), ...pushed });
const tagPush = z.strictObject({ object_kind: z.literal('tag_push'), event_name: z.literal('tag_push'), ...pushed });

const label = z.strictObject({
  id,
  title: z.string(),
  color: z.string(),
  project_id: id.nullable(),
  created_at: time,
  updated_at: time,
  template: z.boolean(),
  description: z.string().nullable(),
  type: z.enum(['ProjectLabel', 'GroupLabel']),
  group_id: id.nullable(),
});

const mergeRequest = {
  id,
  iid: id,
  target_branch: z.string(),
  source_branch: z.string(),
  source_project_id: id.nullable(),
  target_project_id: id,
  author_id: id,
  assignee_ids: z.array(id),
  assignee_id: id.nullable(),
  reviewer_ids: z.array(id),
  title: z.string(),
  created_at: time,
  updated_at: time,
  last_edited_at: time.nullable(),
  last_edited_by_id: id.nullable(),
  milestone_id: id.nullable(),
  state_id: z.int(),
  state: z.enum(['opened', 'closed', 'merged']),
  blocking_discussions_resolved: z.boolean(),
  work_in_progress: z.boolean(),
  draft: z.boolean(),
  first_contribution: z.boolean(),
  merge_status: z.string(),
  detailed_merge_status: z.string(),
  description: z.string().nullable(),
  prepared_at: time,
  url,
  source: project.omit({ ci_config_path: true }).nullable(),
  target: project.omit({ ci_config_path: true }),
  last_commit: commit.nullable(),
  labels: z.array(label),
};

const change = <T extends z.ZodType>(value: T) => z.strictObject({ previous: value, current: value }).optional();

/** https://docs.gitlab.com/user/project/integrations/webhook_events/#merge-request-events */
const merge = z.strictObject({
  object_kind: z.literal('merge_request'),
  event_type: z.literal('merge_request'),
  user,
  project,
  repository,
  object_attributes: z.strictObject({
    ...mergeRequest,
    action: z.enum(['open', 'close', 'reopen', 'update', 'merge', 'approved', 'unapproved']),
    oldrev: sha.optional(),
  }),
  labels: z.array(label),
  changes: z.strictObject({
    title: change(z.string()),
    description: change(z.string()),
    draft: change(z.boolean()),
    target_branch: change(z.string()),
    state_id: change(z.int()),
    labels: change(z.array(label)),
    updated_at: change(spokenTime),
  }),
  assignees: z.array(user),
  reviewers: z.array(user),
});

/** https://docs.gitlab.com/user/project/integrations/webhook_events/#comment-on-a-merge-request */
const note = z.strictObject({
  object_kind: z.literal('note'),
  event_type: z.enum(['note', 'confidential_note']),
  user,
  project_id: id,
  project,
  repository,
  object_attributes: z.strictObject({
    id,
    note: z.string(),
    noteable_type: z.literal('MergeRequest'),
    author_id: id,
    created_at: spokenTime,
    updated_at: spokenTime,
    project_id: id,
    attachment: z.null(),
    line_code: z.null(),
    commit_id: z.string(),
    noteable_id: id,
    system: z.boolean(),
    st_diff: z.null(),
    action: z.enum(['create', 'update']),
    url,
  }),
  merge_request: z.strictObject(mergeRequest),
});

export const hookShapes = { push, tagPush, merge, note } as const;
