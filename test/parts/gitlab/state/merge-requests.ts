import { canSee, levelOf } from './access.ts';
import { accessLevels, isDraft, type Label, type MergeRequest, type Project, stateIds, type User } from './entities.ts';
import { ensureLabels } from './labels.ts';
import { addSystemNote } from './notes.ts';
import { conflict, forbidden, invalid, Refusal } from './refusal.ts';
import type { GitlabState } from './state.ts';

export interface NewMergeRequest {
  readonly source: Project;
  readonly sourceBranch: string;
  readonly targetBranch: string;
  readonly title: string;
  readonly description?: string | undefined;
  readonly labels?: readonly string[] | undefined;
}

/** https://docs.gitlab.com/api/merge_requests/#create-mr */
export const openMergeRequest = async (
  state: GitlabState,
  actor: User,
  target: Project,
  wanted: NewMergeRequest,
): Promise<MergeRequest> => {
  const { source, sourceBranch, targetBranch } = wanted;
  const mayOpen = levelOf(actor, source) >= accessLevels.developer && canSee(actor, target);
  if (!mayOpen) throw forbidden();
  const sourceRepository = await state.repositoryOf(source);
  const sha = await sourceRepository.resolve(`refs/heads/${sourceBranch}`);
  const known = [...target.mergeRequests.values()].find(
    (merge) =>
      merge.state === 'opened' &&
      merge.source === source &&
      merge.sourceBranch === sourceBranch &&
      merge.targetBranch === targetBranch,
  );
  if (known !== undefined) throw conflict([`Another open merge request already exists for this source branch: !${known.iid}`]);
  if (sha === undefined) throw invalid({ validate_branches: ['Source branch does not exist'] });
  const merge = makeMergeRequest(state, actor, target, { ...wanted, sha, baseSha: sha });
  await lookAtHead(state, merge, sha);
  state.announce({ kind: 'merge_request', merge, actor, action: 'open', changes: {} });
  return merge;
};

/** With its current head, before GitLab has checked it. */
interface PlacedMergeRequest extends NewMergeRequest {
  readonly sha: string;
  readonly baseSha: string;
}

/** A merge request without a repository and without webhooks, for tests with thousands of them. */
export const addMergeRequest = (state: GitlabState, author: User, target: Project, wanted: PlacedMergeRequest): MergeRequest => {
  const merge = makeMergeRequest(state, author, target, wanted);
  addVersion(state, merge, wanted.baseSha, 0);
  return merge;
};

const addVersion = (state: GitlabState, merge: MergeRequest, startSha: string, changedFiles: number): void => {
  const { sha: headSha, baseSha } = merge;
  merge.versions.push({ id: state.nextId(), at: state.now(), headSha, baseSha, startSha, changedFiles });
};

const makeMergeRequest = (state: GitlabState, author: User, target: Project, wanted: PlacedMergeRequest): MergeRequest => {
  const now = state.now();
  const merge: MergeRequest = {
    id: state.nextId(),
    iid: target.mergeRequests.size + 1,
    target,
    source: wanted.source,
    sourceBranch: wanted.sourceBranch,
    targetBranch: wanted.targetBranch,
    author,
    createdAt: now,
    updatedAt: now,
    title: wanted.title,
    description: wanted.description ?? '',
    state: 'opened',
    sha: wanted.sha,
    head: undefined,
    baseSha: wanted.baseSha,
    mergeStatus: 'unchecked',
    closed: undefined,
    merged: undefined,
    labels: new Set(),
    labelEvents: [],
    notes: new Map(),
    approvals: new Map(),
    versions: [],
  };
  setLabels(state, author, merge, ensureLabels(state, author, target, wanted.labels ?? []));
  target.mergeRequests.set(merge.iid, merge);
  state.touch();
  return merge;
};

/** After a push, GitLab records the head in the target project and compares it. */
const lookAtHead = async (state: GitlabState, merge: MergeRequest, sha: string): Promise<void> => {
  const target = await state.repositoryOf(merge.target);
  if (merge.source !== undefined) {
    await target.take(await state.repositoryOf(merge.source), sha, `refs/merge-requests/${merge.iid}/head`);
  }
  const base = await target.resolve(`refs/heads/${merge.targetBranch}`);
  merge.sha = sha;
  merge.head = (await target.readCommits([sha]))[0];
  merge.baseSha = (base === undefined ? undefined : await target.mergeBase(base, sha)) ?? sha;
  merge.mergeStatus = 'unchecked';
  addVersion(state, merge, base ?? sha, (await target.changedFiles(merge.baseSha, sha)).length);
};

/** Every open merge request from this branch gets the new head; approvals were for the old one. */
export const followPush = async (
  state: GitlabState,
  actor: User,
  source: Project,
  branch: string,
  sha: string,
): Promise<void> => {
  const merges = [...state.projects.values()].flatMap(({ mergeRequests }) => [...mergeRequests.values()]);
  for (const merge of merges) {
    if (merge.state !== 'opened' || merge.source !== source || merge.sourceBranch !== branch || merge.sha === sha) continue;
    const oldrev = merge.sha;
    await lookAtHead(state, merge, sha);
    merge.approvals.clear();
    merge.updatedAt = state.now();
    addSystemNote(state, actor, merge, `added 1 commit\n\n<ul><li>${sha.slice(0, 8)}</li></ul>`);
    state.touch();
    state.announce({ kind: 'merge_request', merge, actor, action: 'update', changes: {}, oldrev });
  }
};

export interface MergeRequestUpdate {
  readonly title?: string | undefined;
  readonly description?: string | undefined;
  readonly targetBranch?: string | undefined;
  readonly labels?: readonly string[] | undefined;
  readonly addLabels?: readonly string[] | undefined;
  readonly removeLabels?: readonly string[] | undefined;
  readonly stateEvent?: 'close' | 'reopen' | undefined;
}

type Changes = Record<string, { readonly previous: unknown; readonly current: unknown }>;

/**
 * https://docs.gitlab.com/api/merge_requests/#update-mr. An author without a role in the project may edit the text and close it;
 * labels in the same request are silently ignored.
 */
export const updateMergeRequest = (state: GitlabState, actor: User, merge: MergeRequest, update: MergeRequestUpdate): void => {
  const isDeveloper = levelOf(actor, merge.target) >= accessLevels.developer;
  if (!isDeveloper && actor !== merge.author) throw forbidden();
  if (update.title !== undefined && update.title.trim() === '') throw invalid({ title: ["can't be blank"] });
  if ((update.title?.length ?? 0) > 255) throw invalid({ title: ['is too long (maximum is 255 characters)'] });
  const changes: Changes = { ...changeWords(merge, update), ...(isDeveloper ? changeLabels(state, actor, merge, update) : {}) };
  const action = changeState(state, actor, merge, update.stateEvent, changes);
  if (Object.keys(changes).length === 0) return;
  merge.updatedAt = state.now();
  state.touch();
  state.announce({ kind: 'merge_request', merge, actor, action, changes });
};

const changeWords = (merge: MergeRequest, { title, description, targetBranch }: MergeRequestUpdate): Changes => {
  const changes: Changes = {};
  if (title !== undefined && title !== merge.title) {
    changes['title'] = { previous: merge.title, current: title };
    if (isDraft(title) !== isDraft(merge.title)) changes['draft'] = { previous: isDraft(merge.title), current: isDraft(title) };
    merge.title = title;
  }
  if (description !== undefined && description !== merge.description) {
    changes['description'] = { previous: merge.description, current: description };
    merge.description = description;
  }
  if (targetBranch !== undefined && targetBranch !== merge.targetBranch) {
    changes['target_branch'] = { previous: merge.targetBranch, current: targetBranch };
    merge.targetBranch = targetBranch;
    merge.mergeStatus = 'unchecked';
  }
  return changes;
};

const changeLabels = (
  state: GitlabState,
  actor: User,
  merge: MergeRequest,
  { labels, addLabels = [], removeLabels = [] }: MergeRequestUpdate,
): Changes => {
  const previous = [...merge.labels];
  const kept = (labels === undefined ? previous : ensureLabels(state, actor, merge.target, labels)).filter(
    ({ title }) => !removeLabels.includes(title),
  );
  const current = [...new Set([...kept, ...ensureLabels(state, actor, merge.target, addLabels)])];
  return setLabels(state, actor, merge, current) ? { labels: { previous, current } } : {};
};

/** Whether anything changed; each change is an event of its own. */
const setLabels = (state: GitlabState, user: User, merge: MergeRequest, wanted: readonly Label[]): boolean => {
  const at = state.now();
  const added = wanted.filter((label) => !merge.labels.has(label));
  const removed = [...merge.labels].filter((label) => !wanted.includes(label));
  for (const label of removed) merge.labels.delete(label);
  for (const label of added) merge.labels.add(label);
  for (const label of removed) merge.labelEvents.push({ id: state.nextId(), user, at, label, action: 'remove' });
  for (const label of added) merge.labelEvents.push({ id: state.nextId(), user, at, label, action: 'add' });
  return added.length + removed.length > 0;
};

const changeState = (
  state: GitlabState,
  actor: User,
  merge: MergeRequest,
  event: 'close' | 'reopen' | undefined,
  changes: Changes,
) => {
  const wanted = event === 'close' ? 'closed' : 'opened';
  // Closing what is closed, or touching what is merged, changes nothing and is no error.
  if (event === undefined || merge.state === 'merged' || merge.state === wanted) return 'update' as const;
  changes['state_id'] = { previous: stateIds[merge.state], current: stateIds[wanted] };
  merge.state = wanted;
  merge.closed = event === 'close' ? { by: actor, at: state.now() } : undefined;
  return event;
};

/** https://docs.gitlab.com/api/merge_requests/#merge-a-merge-request; only as a fast-forward. */
export const mergeMergeRequest = async (state: GitlabState, actor: User, merge: MergeRequest): Promise<void> => {
  if (merge.state !== 'opened' || isDraft(merge.title)) throw new Refusal(405, { message: '405 Method Not Allowed' });
  const repository = await state.repositoryOf(merge.target);
  await repository.setRef(`refs/heads/${merge.targetBranch}`, merge.sha);
  const now = state.now();
  Object.assign(merge, { state: 'merged', merged: { by: actor, at: now }, updatedAt: now });
  state.touch();
  state.announce({ kind: 'merge_request', merge, actor, action: 'merge', changes: { state_id: { previous: 1, current: 3 } } });
};
