import { type Account, signatureOf } from './account.ts';
import { branchHead, closeIssue, recordEvent } from './issue-acts.ts';
import { updateRef } from './ref-acts.ts';
import { branchRef, type PullRequest, type Repository } from './repository.ts';
import type { World } from './world.ts';

export const mergePull = (world: World, pull: PullRequest, by: Account): string => {
  const message = `Merge pull request #${pull.number} from ${pull.headOwner.login}/${pull.headRef}`;
  const commit = mergeInto(world, pull.repository, pull.baseRef, pull.headSha, message, by);
  pull.merged = { at: world.now(), by, commit };
  recordEvent(world, pull, { event: 'merged', commit, actor: by });
  closeIssue(world, pull, by);
  updateRef(world, pull.repository, branchRef(pull.baseRef), commit, by, 'pr_merge');
  return commit;
};

/** What a deployment does that was not told to leave the branch alone. */
export const mergeDefaultBranch = (world: World, repository: Repository, branch: string, by: Account): void => {
  const from = branchHead(repository, repository.defaultBranch);
  const message = `Merge ${repository.defaultBranch} into ${branch}`;
  const commit = mergeInto(world, repository, branch, from, message, by);
  updateRef(world, repository, branchRef(branch), commit, by);
};

const mergeInto = (world: World, repository: Repository, branch: string, from: string, message: string, by: Account): string => {
  const into = branchHead(repository, branch);
  return repository.network.merge({ into, from, author: signatureOf(by, world.now()), message }).sha;
};
