import { z } from 'zod';

/**
 * What GitLab answers, from the attributes its documentation names; the address is above each shape. Objects are strict: the
 * emulator sends nothing that is not documented. Where the documentation names far more than a forge client reads (projects,
 * groups, users), the shape holds the documented attributes that the emulator sends.
 */

const id = z.int().positive();
const time = z.iso.datetime({ offset: true, precision: 3 });
const day = z.iso.date();
const sha = z.string().regex(/^[0-9a-f]{40}$/u);
const url = z.url();
const visibility = z.enum(['private', 'internal', 'public']);

/** https://docs.gitlab.com/api/merge_requests/#list-project-merge-requests, `author` */
const userBasic = z.strictObject({
  id,
  username: z.string(),
  name: z.string(),
  state: z.literal('active'),
  locked: z.boolean(),
  avatar_url: url.nullable(),
  web_url: url,
});

/** https://docs.gitlab.com/api/users/#retrieve-the-current-user */
const currentUser = z.strictObject({
  ...userBasic.shape,
  created_at: time,
  bio: z.string(),
  location: z.string().nullable(),
  public_email: z.string().nullable(),
  bot: z.boolean(),
  email: z.string(),
  commit_email: z.string(),
  can_create_group: z.boolean(),
  can_create_project: z.boolean(),
  two_factor_enabled: z.boolean(),
  external: z.boolean(),
  private_profile: z.boolean(),
});

/** https://docs.gitlab.com/api/projects/#get-a-single-project, `namespace` */
const namespace = z.strictObject({
  id,
  name: z.string(),
  path: z.string(),
  kind: z.enum(['group', 'user']),
  full_path: z.string(),
  parent_id: id.nullable(),
  avatar_url: url.nullable(),
  web_url: url,
});

/** https://docs.gitlab.com/api/projects/#list-all-projects with `simple=true` */
const projectBasic = z.strictObject({
  id,
  description: z.string().nullable(),
  name: z.string(),
  name_with_namespace: z.string(),
  path: z.string(),
  path_with_namespace: z.string(),
  created_at: time,
  default_branch: z.string().optional(),
  tag_list: z.array(z.string()),
  topics: z.array(z.string()),
  ssh_url_to_repo: z.string(),
  http_url_to_repo: url,
  web_url: url,
  readme_url: url.nullable().optional(),
  forks_count: z.int().optional(),
  avatar_url: url.nullable(),
  star_count: z.int(),
  last_activity_at: time,
  visibility,
  namespace,
});

const access = z.strictObject({ access_level: z.int(), notification_level: z.int() }).nullable();

/** https://docs.gitlab.com/api/projects/#get-a-single-project */
const project = z.strictObject({
  ...projectBasic.shape,
  _links: z.strictObject({ self: url, merge_requests: url, repo_branches: url, labels: url, events: url, members: url }),
  empty_repo: z.boolean(),
  archived: z.boolean(),
  creator_id: id,
  forked_from_project: projectBasic.optional(),
  merge_requests_enabled: z.boolean(),
  jobs_enabled: z.boolean(),
  merge_method: z.enum(['merge', 'rebase_merge', 'ff']),
  marked_for_deletion_on: day.nullable(),
  permissions: z.strictObject({ project_access: access, group_access: access }).optional(),
});

/** https://docs.gitlab.com/api/members/#get-a-member-of-a-group-or-project-including-inherited-and-invited-members */
const member = z.strictObject({
  ...userBasic.shape,
  access_level: z.union([10, 15, 20, 30, 40, 50].map((level) => z.literal(level))),
  created_at: time,
  expires_at: day.nullable(),
});

/** https://docs.gitlab.com/api/labels/#list-labels */
const label = z.strictObject({
  id,
  name: z
    .string()
    .regex(/^[^,]+$/u)
    .max(255),
  color: z.string().regex(/^#[0-9a-f]{6}$/iu),
  text_color: z.string(),
  description: z.string().nullable(),
  description_html: z.string(),
});

/** https://docs.gitlab.com/api/pipelines/#list-project-pipelines */
const pipelineBasic = z.strictObject({
  id,
  iid: id,
  project_id: id,
  sha,
  ref: z.string(),
  status: z.enum(['created', 'pending', 'running', 'success', 'failed', 'canceled', 'skipped']),
  source: z.literal('external'),
  created_at: time,
  updated_at: time,
  web_url: url,
});

/** https://docs.gitlab.com/api/pipelines/#get-a-single-pipeline */
const pipeline = z.strictObject({
  ...pipelineBasic.shape,
  before_sha: sha,
  tag: z.boolean(),
  yaml_errors: z.string().nullable(),
  user: userBasic,
  started_at: time.nullable(),
  finished_at: time.nullable(),
  committed_at: time.nullable(),
  duration: z.number().nullable(),
  queued_duration: z.number().nullable(),
  coverage: z.string().nullable(),
});

/** https://docs.gitlab.com/api/merge_requests/#merge-status */
const detailedMergeStatus = z.enum([
  'unchecked',
  'checking',
  'mergeable',
  'draft_status',
  'not_open',
  'conflict',
  'commits_status',
]);

/** https://docs.gitlab.com/api/merge_requests/#list-project-merge-requests */
const mergeRequestBasic = z.strictObject({
  id,
  iid: id,
  project_id: id,
  title: z.string().min(1),
  description: z.string().nullable(),
  state: z.enum(['opened', 'closed', 'locked', 'merged']),
  imported: z.boolean(),
  imported_from: z.literal('none'),
  created_at: time,
  updated_at: time,
  merged_by: userBasic.nullable(),
  merge_user: userBasic.nullable(),
  merged_at: time.nullable(),
  merge_after: time.nullable(),
  prepared_at: time.nullable(),
  closed_by: userBasic.nullable(),
  closed_at: time.nullable(),
  target_branch: z.string(),
  source_branch: z.string(),
  user_notes_count: z.int(),
  upvotes: z.int(),
  downvotes: z.int(),
  author: userBasic,
  assignees: z.array(userBasic),
  assignee: userBasic.nullable(),
  reviewers: z.array(userBasic),
  source_project_id: id.nullable(),
  target_project_id: id,
  labels: z.union([z.array(z.string()), z.array(label)]),
  draft: z.boolean(),
  work_in_progress: z.boolean(),
  milestone: z.null(),
  merge_when_pipeline_succeeds: z.boolean(),
  merge_status: z.enum(['unchecked', 'checking', 'can_be_merged', 'cannot_be_merged', 'cannot_be_merged_recheck']),
  detailed_merge_status: detailedMergeStatus,
  sha,
  merge_commit_sha: sha.nullable(),
  squash_commit_sha: sha.nullable(),
  discussion_locked: z.boolean().nullable(),
  should_remove_source_branch: z.boolean().nullable(),
  force_remove_source_branch: z.boolean().nullable(),
  allow_collaboration: z.boolean().optional(),
  allow_maintainer_to_push: z.boolean().optional(),
  reference: z.string(),
  references: z.strictObject({ short: z.string(), relative: z.string(), full: z.string() }),
  web_url: url,
  time_stats: z.strictObject({
    time_estimate: z.int(),
    total_time_spent: z.int(),
    human_time_estimate: z.string().nullable(),
    human_total_time_spent: z.string().nullable(),
  }),
  squash: z.boolean(),
  squash_on_merge: z.boolean(),
  task_completion_status: z.strictObject({ count: z.int(), completed_count: z.int() }),
  has_conflicts: z.boolean(),
  blocking_discussions_resolved: z.boolean(),
});

/** https://docs.gitlab.com/api/merge_requests/#get-single-mr */
const mergeRequest = z.strictObject({
  ...mergeRequestBasic.shape,
  subscribed: z.boolean(),
  changes_count: z.string().nullable(),
  latest_build_started_at: time.nullable(),
  latest_build_finished_at: time.nullable(),
  first_deployed_to_production_at: time.nullable(),
  pipeline: pipelineBasic.nullable(),
  head_pipeline: pipeline.nullable(),
  diff_refs: z.strictObject({ base_sha: sha, head_sha: sha, start_sha: sha }),
  merge_error: z.string().nullable(),
  first_contribution: z.boolean(),
  user: z.strictObject({ can_merge: z.boolean() }),
});

/** https://docs.gitlab.com/api/merge_request_approvals/#single-merge-request-approval, the attributes of every tier */
const approvals = z.strictObject({
  user_has_approved: z.boolean(),
  user_can_approve: z.boolean(),
  approved: z.boolean(),
  approved_by: z.array(z.strictObject({ user: userBasic, approved_at: time })),
});

/** https://docs.gitlab.com/api/merge_requests/#list-merge-request-diffs */
const mergeRequestDiff = z.strictObject({
  old_path: z.string(),
  new_path: z.string(),
  a_mode: z.string(),
  b_mode: z.string(),
  diff: z.string(),
  collapsed: z.boolean(),
  too_large: z.boolean(),
  new_file: z.boolean(),
  renamed_file: z.boolean(),
  deleted_file: z.boolean(),
  generated_file: z.boolean(),
});

/** https://docs.gitlab.com/api/resource_label_events/#list-project-merge-request-label-events */
const labelEvent = z.strictObject({
  id,
  user: userBasic.nullable(),
  created_at: time,
  resource_type: z.literal('MergeRequest'),
  resource_id: id,
  label: label.nullable(),
  action: z.enum(['add', 'remove']),
});

/** https://docs.gitlab.com/api/notes/#list-all-merge-request-notes */
const note = z.strictObject({
  id,
  type: z.enum(['DiffNote', 'DiscussionNote']).nullable(),
  body: z.string().max(1_000_000),
  attachment: z.string().nullable(),
  author: userBasic,
  created_at: time,
  updated_at: time,
  system: z.boolean(),
  noteable_id: id,
  noteable_type: z.literal('MergeRequest'),
  project_id: id,
  resolvable: z.boolean(),
  confidential: z.boolean(),
  internal: z.boolean(),
  imported: z.boolean(),
  imported_from: z.literal('none'),
  noteable_iid: id,
  commands_changes: z.strictObject({}),
});

/** https://docs.gitlab.com/api/emoji_reactions/#list-a-comments-emoji-reactions */
const award = z.strictObject({
  id,
  name: z.string(),
  user: userBasic,
  created_at: time,
  updated_at: time,
  awardable_id: id,
  awardable_type: z.literal('Note'),
});

/** https://docs.gitlab.com/api/merge_requests/#get-merge-request-diff-versions */
const diffVersion = z.strictObject({
  id,
  head_commit_sha: sha,
  base_commit_sha: sha,
  start_commit_sha: sha,
  created_at: time,
  merge_request_id: id,
  state: z.enum(['collected', 'empty']),
  real_size: z.string(),
  patch_id_sha: sha.nullable(),
});

/** https://docs.gitlab.com/api/commits/#list-the-statuses-of-a-commit */
const commitStatus = z.strictObject({
  id,
  sha,
  ref: z.string().nullable(),
  status: z.enum(['pending', 'running', 'success', 'failed', 'canceled', 'skipped']),
  name: z.string(),
  target_url: z.string().max(255).nullable(),
  description: z.string().max(255).nullable(),
  created_at: time,
  started_at: time.nullable(),
  finished_at: time.nullable(),
  allow_failure: z.boolean(),
  coverage: z.number().nullable(),
  pipeline_id: id,
  author: userBasic,
});

/** https://docs.gitlab.com/api/environments/#list-environments */
const environment = z.strictObject({
  id,
  name: z.string().max(255),
  slug: z.string().max(24),
  external_url: z.string().max(255).nullable(),
  description: z.string().nullable(),
  state: z.enum(['available', 'stopping', 'stopped']),
  tier: z.enum(['production', 'staging', 'testing', 'development', 'other']),
  created_at: time,
  updated_at: time,
  auto_stop_at: time.nullable(),
  kubernetes_namespace: z.string().nullable(),
  flux_resource_path: z.string().nullable(),
  auto_stop_setting: z.enum(['always', 'with_action']),
});

/** https://docs.gitlab.com/api/deployments/#get-a-specific-deployment */
const deployment = z.strictObject({
  id,
  iid: id,
  ref: z.string(),
  sha,
  created_at: time,
  updated_at: time,
  status: z.enum(['created', 'running', 'success', 'failed', 'canceled']),
  user: userBasic,
  environment: environment.pick({ id: true, name: true, slug: true, external_url: true }),
  deployable: z.null(),
});

/** https://docs.gitlab.com/api/environments/#get-a-specific-environment */
const environmentDetail = z.strictObject({
  ...environment.shape,
  last_deployment: deployment.omit({ environment: true }).nullable(),
  cluster_agent: z.null(),
});

/** https://docs.gitlab.com/api/rest/troubleshooting/#status-codes */
const refusal = z.union([
  z.strictObject({
    message: z.union([z.string(), z.array(z.string()), z.record(z.string(), z.union([z.string(), z.array(z.string())]))]),
  }),
  z.strictObject({ error: z.string(), error_description: z.string().optional(), scope: z.string().optional() }),
]);

export const shapes = {
  approvals,
  award,
  commitStatus,
  commitStatuses: z.array(commitStatus),
  currentUser,
  deployment,
  deployments: z.array(deployment),
  environment,
  environmentDetail,
  environments: z.array(environment),
  labelEvent,
  labelEvents: z.array(labelEvent),
  member,
  mergeRequest,
  mergeRequestDiffs: z.array(mergeRequestDiff),
  mergeRequests: z.array(mergeRequestBasic),
  note,
  notes: z.array(note),
  pipeline,
  pipelineBasic,
  project,
  projects: z.union([z.array(project), z.array(projectBasic)]),
  refusal,
  user: userBasic,
  versions: z.array(diffVersion),
} as const;
