import type { Account } from './account.ts';
import type { ActivityType } from './activity.ts';
import { recordActivity } from './activity-mutations.ts';
import type { GithubState } from './github-state.ts';
import { closeIssue, recordEvent, touchIssue } from './issue-mutations.ts';
import { branchRef, pullRequests, type Repository } from './repository.ts';

/** Moves, creates or (without a commit) deletes a ref, and updates activities, pull requests and webhooks. */
export const updateRef = (
  github: GithubState,
  repository: Repository,
  ref: string,
  after: string | undefined,
  by: Account,
  forward: 'push' | 'pr_merge' = 'push',
): void => {
  const before = repository.refs.get(ref);
  if (before === after) return;
  if (after === undefined) repository.refs.delete(ref);
  else repository.refs.set(ref, after);
  repository.pushedAt = github.now();
  github.touch(repository);

  const forced = isForced(repository, before, after);
  const type = activityType(before, after, forced) ?? forward;
  recordActivity(github, repository, { type, ref, before, after, actor: by });
  const refType = ref.startsWith('refs/tags/') ? 'tag' : 'branch';
  const event = { repository, sender: by };
  if (before === undefined || after === undefined) {
    const name = ref.replace(/^refs\/(heads|tags)\//, '');
    github.emit({ ...event, kind: after === undefined ? 'delete' : 'create', refType, name });
  }
  github.emit({ ...event, kind: 'push', ref, before, after, forced });
  if (refType === 'branch') followBranch(github, repository, ref, after, forced, by);
};

const activityType = (before: string | undefined, after: string | undefined, forced: boolean): ActivityType | undefined => {
  if (before === undefined) return 'branch_creation';
  if (after === undefined) return 'branch_deletion';
  return forced ? 'force_push' : undefined;
};

/** A tag object has no ancestors. */
const isForced = ({ network }: Repository, before: string | undefined, after: string | undefined): boolean => {
  if (before === undefined || after === undefined) return false;
  if (!network.commits.has(before) || !network.commits.has(after)) return true;
  return !network.isAncestor(before, after);
};

/** An open pull request follows its head; without a head or a base it is closed. */
const followBranch = (
  github: GithubState,
  repository: Repository,
  ref: string,
  after: string | undefined,
  forced: boolean,
  by: Account,
): void => {
  const bases = repository.parent === undefined ? [repository] : [repository, repository.parent];
  for (const pull of bases.flatMap(pullRequests)) {
    if (pull.state !== 'open') continue;
    const isHead = pull.headRepository === repository && branchRef(pull.headRef) === ref;
    const isBase = pull.repository === repository && branchRef(pull.baseRef) === ref;
    if ((isHead || isBase) && after === undefined) {
      if (isHead) recordEvent(github, pull, { event: 'head_ref_deleted', actor: by });
      closeIssue(github, pull, by);
    } else if (isHead && after !== undefined) {
      const before = pull.headSha;
      pull.headSha = after;
      pull.baseSha = pull.repository.refs.get(branchRef(pull.baseRef)) ?? pull.baseSha;
      if (forced) recordEvent(github, pull, { event: 'head_ref_force_pushed', actor: by, commit: after });
      touchIssue(github, pull);
      const change = { action: 'synchronize', before, after } as const;
      github.emit({ kind: 'pull_request', pull, change, repository: pull.repository, sender: by });
    }
  }
};
