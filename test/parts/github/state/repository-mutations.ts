import type { FileContent } from '../git/git-objects.ts';
import { type Account, signatureOf } from './account.ts';
import { recordActivity } from './activity-mutations.ts';
import type { GithubState } from './github-state.ts';
import { closeIssue } from './issue-mutations.ts';
import { branchRef, pullRequests, type Repository } from './repository.ts';

export interface NewRepository {
  readonly owner: Account;
  readonly name: string;
  readonly private: boolean;
  readonly defaultBranch: string;
  /** Of its first commit; without it the repository is empty. */
  readonly files: Readonly<Record<string, FileContent>> | undefined;
  readonly by: Account;
}

export const createRepository = (github: GithubState, spec: NewRepository): Repository => {
  const repository = blankRepository(github, spec, undefined);
  if (spec.files !== undefined) {
    const author = signatureOf(spec.by, github.now());
    const { sha } = repository.network.commit({ parents: [], files: spec.files, author, message: 'Initial commit' });
    addBranch(github, repository, spec.defaultBranch, sha, spec.by);
  }
  if (spec.by !== spec.owner) repository.collaborators.set(spec.by.id, 'admin');
  github.addRepository(repository);
  github.emit({ kind: 'repository', action: 'created', before: undefined, repository, sender: spec.by });
  return repository;
};

/** Creates a branch without a webhook. */
export const addBranch = (github: GithubState, repository: Repository, name: string, sha: string, by: Account): void => {
  const ref = branchRef(name);
  repository.refs.set(ref, sha);
  recordActivity(github, repository, { type: 'branch_creation', ref, before: undefined, after: sha, actor: by });
};

/** Copies the branches and tags of its parent, but neither pull requests nor activities. */
export const forkRepository = (github: GithubState, parent: Repository, owner: Account, name: string): Repository => {
  const spec = { owner, name, private: parent.private, defaultBranch: parent.defaultBranch };
  const fork = blankRepository(github, spec, parent);
  for (const [ref, sha] of parent.refs) fork.refs.set(ref, sha);
  parent.forks.add(fork);
  github.addRepository(fork);
  return fork;
};

const blankRepository = (
  github: GithubState,
  spec: Pick<NewRepository, 'owner' | 'name' | 'private' | 'defaultBranch'>,
  parent: Repository | undefined,
): Repository => {
  const now = github.now();
  return {
    id: github.nextId(),
    owner: spec.owner,
    name: spec.name,
    private: spec.private,
    archived: false,
    defaultBranch: spec.defaultBranch,
    network: parent?.network ?? github.newNetwork(),
    parent,
    forks: new Set(),
    refs: new Map(),
    activities: [],
    activityDelayMs: 0,
    issues: new Map(),
    labels: new Map(),
    collaborators: new Map(),
    statuses: [],
    checkRuns: [],
    deployments: new Map(),
    environments: new Set(),
    hooks: new Map(),
    lastNumber: 0,
    createdAt: now,
    updatedAt: now,
    pushedAt: now,
    version: 0,
  };
};

/** Pull requests from a deleted fork stay, without a head repository, and are closed. */
export const deleteRepository = (github: GithubState, repository: Repository, sender: Account): void => {
  github.emit({ kind: 'repository', action: 'deleted', before: undefined, repository, sender });
  for (const pull of repository.parent === undefined ? [] : pullRequests(repository.parent)) {
    if (pull.headRepository !== repository) continue;
    pull.headRepository = undefined;
    if (pull.state === 'open') closeIssue(github, pull, sender);
  }
  repository.parent?.forks.delete(repository);
  github.removeRepository(repository);
};

export const setVisibility = (github: GithubState, repository: Repository, isPrivate: boolean, sender: Account): void => {
  if (repository.private === isPrivate) return;
  repository.private = isPrivate;
  touchNow(github, repository);
  github.emit({ kind: 'repository', action: isPrivate ? 'privatized' : 'publicized', before: undefined, repository, sender });
};

/** To another owner, another name, or both. */
export const moveRepository = (
  github: GithubState,
  repository: Repository,
  owner: Account,
  name: string,
  sender: Account,
): void => {
  const before = { owner: repository.owner, name: repository.name };
  github.moveRepository(repository, owner, name);
  touchNow(github, repository);
  const action = before.owner === owner ? 'renamed' : 'transferred';
  github.emit({ kind: 'repository', action, before, repository, sender });
};

const touchNow = (github: GithubState, repository: Repository): void => {
  repository.updatedAt = github.now();
  github.touch(repository);
};
