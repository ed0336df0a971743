import type { Account } from './account.ts';
import type { CheckRun, CommitStatus, Deployment, DeploymentState, DeploymentStatus } from './commit-report.ts';
import type { GithubState } from './github-state.ts';
import type { Repository } from './repository.ts';

export const addStatus = (github: GithubState, repository: Repository, spec: Omit<CommitStatus, 'id' | 'at'>): CommitStatus => {
  const status = { ...spec, id: github.nextId(), at: github.now() };
  repository.statuses.push(status);
  github.touch(repository);
  github.emit({ kind: 'status', status, repository, sender: spec.creator });
  return status;
};

/** The latest status of every context of a commit. */
export const latestStatuses = (repository: Repository, sha: string): readonly CommitStatus[] => {
  const latest = new Map<string, CommitStatus>();
  for (const status of repository.statuses) if (status.sha === sha) latest.set(status.context, status);
  return [...latest.values()];
};

export const addCheckRun = (github: GithubState, repository: Repository, spec: Omit<CheckRun, 'id' | 'at'>): void => {
  const run = { ...spec, id: github.nextId(), at: github.now() };
  repository.checkRuns.push(run);
  github.touch(repository);
  github.emit({
    kind: 'check_run',
    action: run.conclusion === null ? 'created' : 'completed',
    run,
    repository,
    sender: run.app.bot,
  });
};

export const addDeployment = (
  github: GithubState,
  repository: Repository,
  spec: Omit<Deployment, 'id' | 'createdAt' | 'updatedAt' | 'statuses'>,
): Deployment => {
  const now = github.now();
  const deployment = { ...spec, id: github.nextId(), createdAt: now, updatedAt: now, statuses: [] };
  repository.deployments.set(deployment.id, deployment);
  repository.environments.add(spec.environment);
  github.touch(repository);
  return deployment;
};

export const addDeploymentStatus = (
  github: GithubState,
  repository: Repository,
  deployment: Deployment,
  spec: Omit<DeploymentStatus, 'id' | 'at'>,
): DeploymentStatus => {
  const status = { ...spec, id: github.nextId(), at: github.now() };
  deployment.statuses.push(status);
  deployment.updatedAt = github.now();
  github.touch(repository);
  return status;
};

/**
 * After a success, earlier successful deployments of the same environment become inactive, except transient and production ones.
 */
export const deactivateOthers = (github: GithubState, repository: Repository, deployment: Deployment, by: Account): void => {
  for (const other of repository.deployments.values()) {
    const isElder = other.id < deployment.id && other.environment === deployment.environment;
    if (!isElder || other.transient || other.production || deploymentState(other) !== 'success') continue;
    addDeploymentStatus(github, repository, other, {
      state: 'inactive',
      description: '',
      targetUrl: '',
      environmentUrl: '',
      creator: by,
    });
  }
};

export const deploymentState = (deployment: Deployment): DeploymentState | undefined => deployment.statuses.at(-1)?.state;

export const removeDeployment = (github: GithubState, repository: Repository, deployment: Deployment): void => {
  repository.deployments.delete(deployment.id);
  github.touch(repository);
};
