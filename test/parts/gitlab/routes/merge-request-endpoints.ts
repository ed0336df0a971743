import { type Call, endpoint } from '../http/endpoint.ts';
import { paginate } from '../http/pagination.ts';
import { parameters } from '../shapes/parameters.ts';
import { shapes } from '../shapes/shapes.ts';
import { canSee, findGroup, findMergeRequest, findProject, projectsIn, requireCode, requireUser } from '../state/access.ts';
import { isDraft, type MergeRequest, type Project } from '../state/entities.ts';
import { updateMergeRequest } from '../state/merge-requests.ts';
import { representDiff } from '../views/represent-diff.ts';
import {
  representApprovals,
  representLabelEvent,
  representMergeRequest,
  representMergeRequestBasic,
  representVersion,
} from '../views/represent-merge-request.ts';

const projectOf = (call: Call<unknown>): Project => {
  const project = findProject(call.state, call.user, call.path('id'), call);
  requireCode(call.user, project);
  return project;
};
const mergeOf = (call: Call<unknown>): MergeRequest => findMergeRequest(projectOf(call), call.path('merge_request_iid'));

interface Filters {
  readonly state?: string | undefined;
  readonly order_by?: 'created_at' | 'updated_at' | 'title' | undefined;
  readonly sort?: 'asc' | 'desc' | undefined;
  readonly labels?: readonly string[] | undefined;
  readonly created_after?: number | undefined;
  readonly created_before?: number | undefined;
  readonly updated_after?: number | undefined;
  readonly updated_before?: number | undefined;
  readonly scope?: string | undefined;
  readonly author_id?: number | undefined;
  readonly author_username?: string | undefined;
  readonly source_branch?: string | undefined;
  readonly target_branch?: string | undefined;
  readonly wip?: 'yes' | 'no' | undefined;
  readonly search?: string | undefined;
  readonly with_labels_details?: boolean | undefined;
}

/** All of the labels must match; `None` and `Any` are keywords. */
const hasLabels = (merge: MergeRequest, wanted: readonly string[]): boolean => {
  const own = [...merge.labels].map(({ title }) => title);
  return wanted.every((label) => {
    if (/^none$/iu.test(label)) return own.length === 0;
    return /^any$/iu.test(label) ? own.length > 0 : own.includes(label);
  });
};

const select = (call: Call<Filters>, all: readonly MergeRequest[]): readonly MergeRequest[] => {
  const { parameters: filters, user } = call;
  const same = <Value>(wanted: Value | undefined, value: Value): boolean => wanted === undefined || wanted === value;
  const within = (at: number, after = -Infinity, before = Infinity): boolean => at >= after && at <= before;
  const chosen = all.filter(
    (merge) =>
      (filters.state === undefined || filters.state === 'all' || filters.state === merge.state) &&
      (filters.labels === undefined || hasLabels(merge, filters.labels)) &&
      within(merge.createdAt, filters.created_after, filters.created_before) &&
      within(merge.updatedAt, filters.updated_after, filters.updated_before) &&
      (filters.scope !== 'created_by_me' || merge.author === user) &&
      filters.scope !== 'assigned_to_me' &&
      same(filters.author_id, merge.author.id) &&
      same(filters.author_username, merge.author.username) &&
      same(filters.source_branch, merge.sourceBranch) &&
      same(filters.target_branch, merge.targetBranch) &&
      same(filters.wip, isDraft(merge.title) ? 'yes' : 'no') &&
      (filters.search === undefined ||
        `${merge.title} ${merge.description}`.toLowerCase().includes(filters.search.toLowerCase())),
  );
  const keys = { created_at: 'createdAt', updated_at: 'updatedAt', title: 'title' } as const;
  const key = keys[filters.order_by ?? 'created_at'];
  const ascending = chosen.toSorted((a, b) => (a[key] < b[key] ? -1 : a[key] > b[key] ? 1 : a.id - b.id));
  return filters.sort === 'asc' ? ascending : ascending.toReversed();
};

/** The number of changed files, as text; `null` while there is nothing to compare. */
const changesCount = async (merge: MergeRequest): Promise<string | null> => {
  const { repository } = merge.target;
  if (repository === undefined || merge.head === undefined) return null;
  return String((await repository.changedFiles(merge.baseSha, merge.sha)).length);
};

const showMergeRequest = async (call: Call<unknown>, merge: MergeRequest) => {
  const body = representMergeRequest(call.state, call.user, merge, await changesCount(merge));
  // A request for a single merge request makes GitLab check whether it can be merged; the list changes, `updated_at` does not.
  if (merge.mergeStatus === 'unchecked' && merge.state === 'opened') {
    merge.mergeStatus = 'can_be_merged';
    call.state.touch();
  }
  return { body };
};

export const mergeRequestEndpoints = [
  endpoint('GET /projects/:id/merge_requests', parameters.mergeRequests, shapes.mergeRequests, (call) => {
    const { iids, with_labels_details: labelDetails } = call.parameters;
    const all = [...projectOf(call).mergeRequests.values()].filter(({ iid }) => iids === undefined || iids.includes(iid));
    return paginate(call, select(call, all), (merge) =>
      representMergeRequestBasic(call.state, merge, { ofProject: true, labelDetails }),
    );
  }),
  endpoint('GET /groups/:id/merge_requests', parameters.groupMergeRequests, shapes.mergeRequests, (call) => {
    const { non_archived: nonArchived = true, with_labels_details: labelDetails } = call.parameters;
    const projects = projectsIn(call.state, findGroup(call.state, call.user, call.path('id')), true);
    const visible = projects.filter((project) => canSee(call.user, project) && !(nonArchived && project.archived));
    const all = visible.flatMap(({ mergeRequests }) => [...mergeRequests.values()]);
    return paginate(call, select(call, all), (merge) =>
      representMergeRequestBasic(call.state, merge, { ofProject: false, labelDetails }),
    );
  }),
  endpoint('GET /projects/:id/merge_requests/:merge_request_iid', parameters.mergeRequest, shapes.mergeRequest, (call) =>
    showMergeRequest(call, mergeOf(call)),
  ),
  endpoint('PUT /projects/:id/merge_requests/:merge_request_iid', parameters.mergeRequestUpdate, shapes.mergeRequest, (call) => {
    const merge = mergeOf(call);
    const {
      add_labels: addLabels,
      remove_labels: removeLabels,
      state_event: stateEvent,
      target_branch: targetBranch,
      ...words
    } = call.parameters;
    updateMergeRequest(call.state, requireUser(call.user), merge, {
      ...words,
      addLabels,
      removeLabels,
      stateEvent,
      targetBranch,
    });
    return showMergeRequest(call, merge);
  }),
  endpoint(
    'GET /projects/:id/merge_requests/:merge_request_iid/diffs',
    parameters.pages,
    shapes.mergeRequestDiffs,
    async (call) => {
      const merge = mergeOf(call);
      const files = await merge.target.repository?.changedFiles(merge.baseSha, merge.sha);
      return paginate(call, files ?? [], (file) => ({ ...representDiff(file), generated_file: false }));
    },
  ),
  endpoint('GET /projects/:id/merge_requests/:merge_request_iid/versions', parameters.pages, shapes.versions, (call) => {
    const merge = mergeOf(call);
    return paginate(call, merge.versions.toReversed(), (version) => representVersion(merge, version));
  }),

  endpoint('GET /projects/:id/merge_requests/:merge_request_iid/approvals', parameters.none, shapes.approvals, (call) => ({
    body: representApprovals(call.state, call.user, mergeOf(call)),
  })),

  endpoint(
    'GET /projects/:id/merge_requests/:merge_request_iid/resource_label_events',
    parameters.pages,
    shapes.labelEvents,
    (call) => {
      const merge = mergeOf(call);
      return paginate(call, merge.labelEvents, (event) => representLabelEvent(call.state, merge, event));
    },
  ),
];
