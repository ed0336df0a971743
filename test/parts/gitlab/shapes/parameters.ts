import { z } from 'zod';

/**
 * What may be sent to GitLab, from the attributes its documentation names; the address is above each set. GitLab itself ignores
 * what it does not know, so a misspelt filter silently lists everything: the emulator refuses it and records the deviation.
 */

// The same attribute is text in a query and a JSON value in a body.
const integer = z.union([z.int(), z.string().regex(/^\d+$/u).transform(Number)]);
const decimal = z.union([
  z.number(),
  z
    .string()
    .regex(/^\d+(\.\d+)?$/u)
    .transform(Number),
]);
const flag = z.union([z.boolean(), z.enum(['true', 'false']).transform((text) => text === 'true')]);
const time = z.iso.datetime({ offset: true }).transform((text) => Date.parse(text));
/** A list with commas, or an array. */
const names = z
  .union([z.string().transform((text) => text.split(',')), z.array(z.string())])
  .transform((list) => list.map((name) => name.trim()).filter((name) => name !== ''));
const order = z.enum(['asc', 'desc']);

/** https://docs.gitlab.com/api/rest/#offset-based-pagination */
const pages = { page: integer.optional(), per_page: integer.optional() };

/** https://docs.gitlab.com/api/merge_requests/#list-project-merge-requests */
const mergeRequestFilters = {
  ...pages,
  state: z.enum(['all', 'opened', 'closed', 'locked', 'merged']).optional(),
  order_by: z.enum(['created_at', 'updated_at', 'title']).optional(),
  sort: order.optional(),
  labels: names.optional(),
  with_labels_details: flag.optional(),
  with_merge_status_recheck: flag.optional(),
  created_after: time.optional(),
  created_before: time.optional(),
  updated_after: time.optional(),
  updated_before: time.optional(),
  scope: z.enum(['created_by_me', 'assigned_to_me', 'all']).optional(),
  author_id: integer.optional(),
  author_username: z.string().optional(),
  source_branch: z.string().optional(),
  target_branch: z.string().optional(),
  wip: z.enum(['yes', 'no']).optional(),
  search: z.string().optional(),
};

/** https://docs.gitlab.com/api/projects/#list-all-projects */
const projectFilters = {
  ...pages,
  archived: flag.optional(),
  visibility: z.enum(['private', 'internal', 'public']).optional(),
  order_by: z.enum(['id', 'name', 'path', 'created_at', 'updated_at', 'last_activity_at']).optional(),
  sort: order.optional(),
  search: z.string().optional(),
  simple: flag.optional(),
  min_access_level: integer.optional(),
};

/** https://docs.gitlab.com/api/environments/#create-a-new-environment */
const environmentAttributes = {
  external_url: z.string().optional(),
  description: z.string().optional(),
  tier: z.enum(['production', 'staging', 'testing', 'development', 'other']).optional(),
  auto_stop_setting: z.enum(['always', 'with_action']).optional(),
};

const deploymentStatus = z.enum(['running', 'success', 'failed', 'canceled']);

export const parameters = {
  none: z.strictObject({}),
  pages: z.strictObject(pages),

  /** https://docs.gitlab.com/api/projects/#list-a-users-projects */
  userProjects: z.strictObject({ ...projectFilters, owned: flag.optional() }),
  /** https://docs.gitlab.com/api/projects/#get-a-single-project */
  project: z.strictObject({ license: flag.optional(), statistics: flag.optional() }),
  /** https://docs.gitlab.com/api/groups/#list-projects */
  groupProjects: z.strictObject({
    ...projectFilters,
    include_subgroups: flag.optional(),
    with_shared: flag.optional(),
    owned: flag.optional(),
  }),

  /** https://docs.gitlab.com/api/merge_requests/#list-project-merge-requests */
  mergeRequests: z.strictObject({ ...mergeRequestFilters, iids: z.array(integer).optional() }),
  /** https://docs.gitlab.com/api/merge_requests/#list-group-merge-requests */
  groupMergeRequests: z.strictObject({ ...mergeRequestFilters, non_archived: flag.optional() }),
  /** https://docs.gitlab.com/api/merge_requests/#get-single-mr */
  mergeRequest: z.strictObject({
    include_diverged_commits_count: flag.optional(),
    include_rebase_in_progress: flag.optional(),
    render_html: flag.optional(),
  }),
  /** https://docs.gitlab.com/api/merge_requests/#update-mr */
  mergeRequestUpdate: z.strictObject({
    add_labels: names.optional(),
    remove_labels: names.optional(),
    labels: names.optional(),
    title: z.string().optional(),
    description: z.string().optional(),
    state_event: z.enum(['close', 'reopen']).optional(),
    target_branch: z.string().optional(),
  }),

  /** https://docs.gitlab.com/api/notes/#list-all-merge-request-notes */
  notes: z.strictObject({
    ...pages,
    order_by: z.enum(['created_at', 'updated_at']).optional(),
    sort: order.optional(),
    activity_filter: z.enum(['all_notes', 'only_comments', 'only_activity']).optional(),
  }),
  /** https://docs.gitlab.com/api/notes/#create-new-merge-request-note */
  newNote: z.strictObject({
    body: z.string(),
    created_at: time.optional(),
    internal: flag.optional(),
    merge_request_diff_head_sha: z.string().optional(),
  }),
  /** https://docs.gitlab.com/api/notes/#modify-existing-merge-request-note */
  noteUpdate: z.strictObject({ body: z.string() }),
  /** https://docs.gitlab.com/api/emoji_reactions/#add-a-new-emoji-reaction-to-a-comment */
  newAward: z.strictObject({ name: z.string() }),

  /** https://docs.gitlab.com/api/commits/#list-the-statuses-of-a-commit */
  commitStatuses: z.strictObject({
    ...pages,
    ref: z.string().optional(),
    stage: z.string().optional(),
    name: z.string().optional(),
    pipeline_id: integer.optional(),
    order_by: z.enum(['id', 'pipeline_id']).optional(),
    sort: order.optional(),
    all: flag.optional(),
  }),
  /** https://docs.gitlab.com/api/commits/#set-the-pipeline-status-of-a-commit */
  newCommitStatus: z.strictObject({
    state: z.enum(['pending', 'running', 'success', 'failed', 'canceled', 'skipped']),
    ref: z.string().optional(),
    name: z.string().optional(),
    context: z.string().optional(),
    target_url: z.string().optional(),
    description: z.string().optional(),
    coverage: decimal.optional(),
    pipeline_id: integer.optional(),
  }),

  /** https://docs.gitlab.com/api/environments/#list-environments */
  environments: z.strictObject({
    ...pages,
    name: z.string().optional(),
    search: z.string().optional(),
    states: z.enum(['available', 'stopping', 'stopped']).optional(),
  }),
  newEnvironment: z.strictObject({ name: z.string(), ...environmentAttributes }),
  /** https://docs.gitlab.com/api/environments/#update-an-existing-environment */
  environmentUpdate: z.strictObject(environmentAttributes),
  /** https://docs.gitlab.com/api/environments/#stop-an-environment */
  environmentStop: z.strictObject({ force: flag.optional() }),
  /** https://docs.gitlab.com/api/deployments/#list-project-deployments */
  deployments: z.strictObject({
    ...pages,
    environment: z.string().optional(),
    status: z.enum(['created', 'running', 'success', 'failed', 'canceled', 'blocked']).optional(),
    order_by: z.enum(['id', 'iid', 'created_at', 'updated_at', 'finished_at', 'ref']).optional(),
    sort: order.optional(),
  }),
  /** https://docs.gitlab.com/api/deployments/#create-a-deployment */
  newDeployment: z.strictObject({
    environment: z.string(),
    sha: z.string(),
    ref: z.string(),
    tag: flag,
    status: deploymentStatus,
  }),
} as const;
