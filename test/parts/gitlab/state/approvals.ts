import { levelOf } from './access.ts';
import { accessLevels, type MergeRequest, type User } from './entities.ts';
import { addSystemNote } from './notes.ts';
import { unauthorized } from './refusal.ts';
import type { GitlabState } from './state.ts';

/** Not the author, and each user only once. */
export const mayApprove = (user: User | undefined, merge: MergeRequest): boolean =>
  user !== undefined &&
  user !== merge.author &&
  levelOf(user, merge.target) >= accessLevels.developer &&
  !merge.approvals.has(user.id);

/** https://docs.gitlab.com/api/merge_request_approvals/#approve-merge-request */
export const approve = (state: GitlabState, user: User, merge: MergeRequest): void => {
  // Also for users who have already approved.
  if (!mayApprove(user, merge)) throw unauthorized();
  merge.approvals.set(user.id, { user, at: state.now() });
  addSystemNote(state, user, merge, 'approved this merge request');
  merge.updatedAt = state.now();
  state.announce({ kind: 'merge_request', merge, actor: user, action: 'approved', changes: {} });
};
