import type { FileChanges } from '../../emulation/bare-repository.ts';
import { canPushTo } from './access.ts';
import type { Project, User } from './entities.ts';
import { followPush } from './merge-requests.ts';
import { forbidden, invalid, notFound } from './refusal.ts';
import type { GitlabState } from './state.ts';

export const noCommit = '0'.repeat(40);

const protectedBranch = 'You are not allowed to push code to protected branches on this project.';
const defaultBranch = 'The default branch of a project cannot be deleted.';

export interface Push {
  readonly branch: string;
  readonly changes: FileChanges;
  readonly message: string;
  /** What a new branch starts from; the default branch if left out. */
  readonly from?: string | undefined;
  /** Discard the branch and start from `from` again. */
  readonly force?: boolean | undefined;
}

/** A commit on top of a branch, as with `git push`. */
export const push = async (state: GitlabState, actor: User, project: Project, wanted: Push): Promise<string> => {
  const repository = await state.repositoryOf(project);
  const ref = `refs/heads/${wanted.branch}`;
  if (!canPushTo(actor, project, wanted.branch)) throw forbidden(protectedBranch);
  const before = await repository.resolve(ref);
  const start = await repository.resolve(wanted.from ?? `refs/heads/${project.defaultBranch}`);
  const seconds = Math.floor(state.now() / 1000);
  const parent = wanted.force === true ? start : (before ?? start);
  const after = await repository.commit({
    ref,
    changes: wanted.changes,
    message: wanted.message,
    author: actor,
    seconds,
    parent,
  });
  await afterPush(state, actor, project, ref, before ?? noCommit, after);
  return after;
};

/** Why GitLab refuses to move a ref by a push; `undefined` if it does not. */
export const refusalOfPush = (actor: User, project: Project, ref: string, after: string): string | undefined => {
  if (!ref.startsWith('refs/heads/')) return undefined;
  const branch = ref.slice('refs/heads/'.length);
  if (!canPushTo(actor, project, branch)) return protectedBranch;
  return branch === project.defaultBranch && after === noCommit ? defaultBranch : undefined;
};

/** The side effects of a moved ref. */
export const afterPush = async (
  state: GitlabState,
  actor: User,
  project: Project,
  ref: string,
  before: string,
  after: string,
): Promise<void> => {
  project.lastActivityAt = state.now();
  project.empty = false;
  state.touch();
  if (!/^refs\/(?:heads|tags)\//u.test(ref)) return;
  state.announce({ kind: 'push', project, actor, ref, before, after });
  if (ref.startsWith('refs/heads/') && after !== noCommit) {
    await followPush(state, actor, project, ref.slice('refs/heads/'.length), after);
  }
};

/** https://docs.gitlab.com/api/branches/#delete-repository-branch. Open merge requests from it stay open. */
export const deleteBranch = async (state: GitlabState, actor: User, project: Project, name: string): Promise<void> => {
  const repository = await state.repositoryOf(project);
  const ref = `refs/heads/${name}`;
  const before = await repository.resolve(ref);
  if (before === undefined) throw notFound('Branch');
  if (name === project.defaultBranch) throw invalid(defaultBranch);
  await repository.deleteRef(ref);
  await afterPush(state, actor, project, ref, before, noCommit);
};

/** https://docs.gitlab.com/api/tags/#create-a-new-tag; annotated if it has a message */
export const createTag = async (
  state: GitlabState,
  actor: User,
  project: Project,
  name: string,
  from: string,
  message?: string,
): Promise<void> => {
  const repository = await state.repositoryOf(project);
  const ref = `refs/tags/${name}`;
  if (!(await repository.isValidRef(ref)) || name.startsWith('-')) throw invalid('Tag name invalid');
  if ((await repository.resolve(ref)) !== undefined) throw invalid(`Tag ${name} already exists`);
  const sha = await repository.resolve(from);
  if (sha === undefined) throw invalid('Target is invalid');
  if (message === undefined) await repository.setRef(ref, sha);
  const target = message === undefined ? sha : await repository.annotateTag(name, sha, message);
  await afterPush(state, actor, project, ref, noCommit, target);
};

/** https://docs.gitlab.com/api/tags/#delete-a-tag */
export const deleteTag = async (state: GitlabState, actor: User, project: Project, name: string): Promise<void> => {
  const repository = await state.repositoryOf(project);
  const ref = `refs/tags/${name}`;
  const before = (await repository.refs(ref)).find((tag) => tag.name === ref);
  if (before === undefined) throw notFound('Tag');
  await repository.deleteRef(ref);
  await afterPush(state, actor, project, ref, before.target, noCommit);
};
