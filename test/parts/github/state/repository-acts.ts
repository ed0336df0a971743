import type { FileContent } from '../git/git-objects.ts';
import { type Account, signatureOf } from './account.ts';
import { recordActivity } from './activity-acts.ts';
import { closeIssue } from './issue-acts.ts';
import { branchRef, pullRequests, type Repository } from './repository.ts';
import type { World } from './world.ts';

export interface NewRepository {
  readonly owner: Account;
  readonly name: string;
  readonly private: boolean;
  readonly defaultBranch: string;
  /** Of its first commit; without it the repository is empty. */
  readonly files: Readonly<Record<string, FileContent>> | undefined;
  readonly by: Account;
}

export const createRepository = (world: World, spec: NewRepository): Repository => {
  const repository = blankRepository(world, spec, undefined);
  if (spec.files !== undefined) {
    const author = signatureOf(spec.by, world.now());
    const { sha } = repository.network.commit({ parents: [], files: spec.files, author, message: 'Initial commit' });
    addBranch(world, repository, spec.defaultBranch, sha, spec.by);
  }
  if (spec.by !== spec.owner) repository.collaborators.set(spec.by.id, 'admin');
  world.addRepository(repository);
  world.emit({ kind: 'repository', action: 'created', before: undefined, repository, sender: spec.by });
  return repository;
};

/** Puts a branch there before anybody watches: no webhook tells of it. */
export const addBranch = (world: World, repository: Repository, name: string, sha: string, by: Account): void => {
  const ref = branchRef(name);
  repository.refs.set(ref, sha);
  recordActivity(world, repository, { type: 'branch_creation', ref, before: undefined, after: sha, actor: by });
};

/** With the branches and tags of its parent, and none of its pull requests or of what happened to its branches. */
export const forkRepository = (world: World, parent: Repository, owner: Account, name: string): Repository => {
  const spec = { owner, name, private: parent.private, defaultBranch: parent.defaultBranch };
  const fork = blankRepository(world, spec, parent);
  for (const [ref, sha] of parent.refs) fork.refs.set(ref, sha);
  parent.forks.add(fork);
  world.addRepository(fork);
  return fork;
};

const blankRepository = (
  world: World,
  spec: Pick<NewRepository, 'owner' | 'name' | 'private' | 'defaultBranch'>,
  parent: Repository | undefined,
): Repository => {
  const now = world.now();
  return {
    id: world.nextId(),
    owner: spec.owner,
    name: spec.name,
    private: spec.private,
    archived: false,
    defaultBranch: spec.defaultBranch,
    network: parent?.network ?? world.newNetwork(),
    parent,
    forks: new Set(),
    refs: new Map(),
    activities: [],
    activityDelayMs: 0,
    issues: new Map(),
    labels: new Map(),
    collaborators: new Map(),
    statuses: [],
    checkRuns: new Map(),
    deployments: new Map(),
    environments: new Map(),
    hooks: new Map(),
    lastNumber: 0,
    createdAt: now,
    updatedAt: now,
    pushedAt: now,
    version: 0,
  };
};

/** Pull requests from a deleted fork stay, without a head repository, and are closed. */
export const deleteRepository = (world: World, repository: Repository, sender: Account): void => {
  world.emit({ kind: 'repository', action: 'deleted', before: undefined, repository, sender });
  for (const pull of repository.parent === undefined ? [] : pullRequests(repository.parent)) {
    if (pull.headRepository !== repository) continue;
    pull.headRepository = undefined;
    if (pull.state === 'open') closeIssue(world, pull, sender);
  }
  repository.parent?.forks.delete(repository);
  world.removeRepository(repository);
};

export const setVisibility = (world: World, repository: Repository, isPrivate: boolean, sender: Account): void => {
  if (repository.private === isPrivate) return;
  repository.private = isPrivate;
  touchNow(world, repository);
  world.emit({ kind: 'repository', action: isPrivate ? 'privatized' : 'publicized', before: undefined, repository, sender });
};

/** To another owner, another name, or both. */
export const moveRepository = (world: World, repository: Repository, owner: Account, name: string, sender: Account): void => {
  const before = { owner: repository.owner, name: repository.name };
  world.moveRepository(repository, owner, name);
  touchNow(world, repository);
  const action = before.owner === owner ? 'renamed' : 'transferred';
  world.emit({ kind: 'repository', action, before, repository, sender });
};

const touchNow = (world: World, repository: Repository): void => {
  repository.updatedAt = world.now();
  world.touch(repository);
};
