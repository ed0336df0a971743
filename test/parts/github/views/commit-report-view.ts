import type { Shape } from '../openapi/shapes.ts';
import type { CheckRun, CommitStatus, Deployment, DeploymentEnvironment, DeploymentStatus } from '../state/commit-report.ts';
import { latestStatuses } from '../state/commit-report-acts.ts';
import { pullRequests, type Repository } from '../state/repository.ts';
import type { Viewer } from '../state/viewer.ts';
import type { World } from '../state/world.ts';
import { accountView, repositoryHtmlUrl } from './account-view.ts';
import { appView, viaApp } from './app-view.ts';
import { listedRepositoryView, repositoryUrl } from './repository-view.ts';
import { encodePath, iso, isoOrNull, nodeId } from './text.ts';

export const statusView = (world: World, repository: Repository, status: CommitStatus): Shape<'status'> => ({
  ...simpleStatusView(world, repository, status),
  creator: accountView(world, status.creator),
});

const simpleStatusView = (world: World, repository: Repository, status: CommitStatus): Shape<'simple-commit-status'> => ({
  url: `${repositoryUrl(world, repository)}/statuses/${status.sha}`,
  avatar_url: accountView(world, status.creator).avatar_url,
  id: status.id,
  node_id: nodeId('SC', status.id),
  state: status.state,
  description: status.description,
  target_url: status.targetUrl,
  context: status.context,
  created_at: iso(status.at),
  updated_at: iso(status.at),
});

/** The worst of the last words; `pending` where nobody said anything. */
export const combinedState = (statuses: readonly CommitStatus[]): 'failure' | 'pending' | 'success' => {
  if (statuses.some(({ state }) => state === 'error' || state === 'failure')) return 'failure';
  return statuses.length > 0 && statuses.every(({ state }) => state === 'success') ? 'success' : 'pending';
};

export const combinedStatusView = (
  world: World,
  repository: Repository,
  sha: string,
  viewer: Viewer,
): Shape<'combined-commit-status'> => {
  const statuses = latestStatuses(repository, sha);
  const url = repositoryUrl(world, repository);
  return {
    state: combinedState(statuses),
    statuses: statuses.map((status) => simpleStatusView(world, repository, status)),
    sha,
    total_count: statuses.length,
    repository: listedRepositoryView(world, repository, viewer),
    commit_url: `${url}/commits/${sha}`,
    url: `${url}/commits/${sha}/status`,
  };
};

export const checkRunView = (world: World, repository: Repository, run: CheckRun): Shape<'check-run'> => {
  const url = `${repositoryUrl(world, repository)}/check-runs/${run.id}`;
  return {
    id: run.id,
    name: run.name,
    node_id: nodeId('CR', run.id),
    head_sha: run.sha,
    external_id: run.externalId,
    url,
    html_url: `${repositoryHtmlUrl(world, repository)}/runs/${run.id}`,
    details_url: run.detailsUrl,
    status: run.status,
    conclusion: run.conclusion,
    started_at: iso(run.startedAt),
    completed_at: isoOrNull(run.completedAt),
    output: { ...run.output, annotations_count: 0, annotations_url: `${url}/annotations` },
    check_suite: { id: run.app.id },
    app: appView(world, run.app),
    pull_requests: pullsAt(world, repository, run.sha),
  };
};

/** Only those whose branch is in the repository itself. */
const pullsAt = (world: World, repository: Repository, sha: string): Shape<'pull-request-minimal'>[] => {
  const end = { id: repository.id, url: repositoryUrl(world, repository), name: repository.name };
  return pullRequests(repository)
    .filter((pull) => pull.state === 'open' && pull.headSha === sha && pull.headRepository === repository)
    .map((pull) => ({
      id: pull.pullId,
      number: pull.number,
      url: `${repositoryUrl(world, repository)}/pulls/${pull.number}`,
      head: { ref: pull.headRef, sha: pull.headSha, repo: end },
      base: { ref: pull.baseRef, sha: pull.baseSha, repo: end },
    }));
};

export const deploymentView = (world: World, repository: Repository, deployment: Deployment): Shape<'deployment'> => {
  const url = `${repositoryUrl(world, repository)}/deployments/${deployment.id}`;
  return {
    url,
    id: deployment.id,
    node_id: nodeId('DE', deployment.id),
    sha: deployment.sha,
    ref: deployment.ref,
    task: deployment.task,
    payload: deployment.payload,
    original_environment: deployment.environment,
    environment: deployment.environment,
    description: deployment.description,
    creator: accountView(world, deployment.creator),
    created_at: iso(deployment.createdAt),
    updated_at: iso(deployment.updatedAt),
    statuses_url: `${url}/statuses`,
    repository_url: repositoryUrl(world, repository),
    transient_environment: deployment.transient,
    production_environment: deployment.production,
    performed_via_github_app: viaApp(world, deployment.creator),
  };
};

export const deploymentStatusView = (
  world: World,
  repository: Repository,
  deployment: Deployment,
  status: DeploymentStatus,
): Shape<'deployment-status'> => {
  const url = `${repositoryUrl(world, repository)}/deployments/${deployment.id}`;
  return {
    url: `${url}/statuses/${status.id}`,
    id: status.id,
    node_id: nodeId('DES', status.id),
    state: status.state,
    creator: accountView(world, status.creator),
    description: status.description,
    environment: deployment.environment,
    target_url: status.targetUrl,
    log_url: status.targetUrl,
    environment_url: status.environmentUrl,
    created_at: iso(status.at),
    updated_at: iso(status.at),
    deployment_url: url,
    repository_url: repositoryUrl(world, repository),
    performed_via_github_app: viaApp(world, status.creator),
  };
};

export const environmentView = (
  world: World,
  repository: Repository,
  environment: DeploymentEnvironment,
): Shape<'environment'> => ({
  id: environment.id,
  node_id: nodeId('EN', environment.id),
  name: environment.name,
  url: `${repositoryUrl(world, repository)}/environments/${encodePath(environment.name)}`,
  html_url: `${repositoryHtmlUrl(world, repository)}/deployments/activity_log?environments_filter=${encodeURIComponent(environment.name)}`,
  created_at: iso(environment.createdAt),
  updated_at: iso(environment.createdAt),
  protection_rules: [],
  deployment_branch_policy: null,
});
