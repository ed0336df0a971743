import { type Account, signatureOf } from './account.ts';
import type { GithubState } from './github-state.ts';
import { branchHead, closeIssue, recordEvent } from './issue-mutations.ts';
import { updateRef } from './ref-mutations.ts';
import { branchRef, type PullRequest, type Repository } from './repository.ts';

export const mergePull = (github: GithubState, pull: PullRequest, by: Account): string => {
  const message = `Merge pull request #${pull.number} from ${pull.headOwner.login}/${pull.headRef}`;
  const commit = mergeInto(github, pull.repository, pull.baseRef, pull.headSha, message, by);
  pull.merged = { at: github.now(), by, commit };
  recordEvent(github, pull, { event: 'merged', commit, actor: by });
  closeIssue(github, pull, by);
  updateRef(github, pull.repository, branchRef(pull.baseRef), commit, by, 'pr_merge');
  return commit;
};

/** The automatic merge of a deployment. */
export const mergeDefaultBranch = (github: GithubState, repository: Repository, branch: string, by: Account): void => {
  const from = branchHead(repository, repository.defaultBranch);
  const message = `Merge ${repository.defaultBranch} into ${branch}`;
  const commit = mergeInto(github, repository, branch, from, message, by);
  updateRef(github, repository, branchRef(branch), commit, by);
};

const mergeInto = (
  github: GithubState,
  repository: Repository,
  branch: string,
  from: string,
  message: string,
  by: Account,
): string => {
  const into = branchHead(repository, branch);
  return repository.network.merge({ into, from, author: signatureOf(by, github.now()), message }).sha;
};
