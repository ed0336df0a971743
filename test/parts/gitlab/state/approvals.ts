import { levelOf } from './access.ts';
import { accessLevels, type MergeRequest, type User } from './entities.ts';
import { addSystemNote } from './notes.ts';
import { conflict, noRecord, unauthorized } from './refusal.ts';
import type { GitlabState } from './state.ts';

/** Not the author, and each user only once. */
export const mayApprove = (user: User | undefined, merge: MergeRequest): boolean =>
  user !== undefined &&
  user !== merge.author &&
  levelOf(user, merge.target) >= accessLevels.developer &&
  !merge.approvals.has(user.id);

/** https://docs.gitlab.com/api/merge_request_approvals/#approve-merge-request */
export const approve = (state: GitlabState, user: User, merge: MergeRequest, sha?: string): void => {
  if (sha !== undefined && sha !== merge.sha) throw conflict(`SHA does not match HEAD of source branch: ${merge.sha}`);
  // Also for users who have already approved.
  if (!mayApprove(user, merge)) throw unauthorized();
  merge.approvals.set(user.id, { user, at: state.now() });
  changed(state, user, merge, 'approved');
};

/** https://docs.gitlab.com/api/merge_request_approvals/#unapprove-merge-request */
export const unapprove = (state: GitlabState, user: User, merge: MergeRequest): void => {
  if (!merge.approvals.delete(user.id)) throw noRecord();
  changed(state, user, merge, 'unapproved');
};

const changed = (state: GitlabState, actor: User, merge: MergeRequest, action: 'approved' | 'unapproved'): void => {
  addSystemNote(state, actor, merge, `${action} this merge request`);
  merge.updatedAt = state.now();
  state.announce({ kind: 'merge_request', merge, actor, action, changes: {} });
};
