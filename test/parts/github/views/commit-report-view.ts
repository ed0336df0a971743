import type { Shape } from '../openapi/shapes.ts';
import { type CheckRun, type CommitStatus, checkStatus, type Deployment, type DeploymentStatus } from '../state/commit-report.ts';
import { latestStatuses } from '../state/commit-report-mutations.ts';
import type { GithubState } from '../state/github-state.ts';
import { pullRequests, type Repository } from '../state/repository.ts';
import type { Viewer } from '../state/viewer.ts';
import { accountView, repositoryHtmlUrl } from './account-view.ts';
import { appView, viaApp } from './app-view.ts';
import { listedRepositoryView, repositoryUrl } from './repository-view.ts';
import { iso, nodeId } from './text.ts';

export const statusView = (github: GithubState, repository: Repository, status: CommitStatus): Shape<'status'> => ({
  ...simpleStatusView(github, repository, status),
  creator: accountView(github, status.creator),
});

const simpleStatusView = (github: GithubState, repository: Repository, status: CommitStatus): Shape<'simple-commit-status'> => ({
  url: `${repositoryUrl(github, repository)}/statuses/${status.sha}`,
  avatar_url: accountView(github, status.creator).avatar_url,
  id: status.id,
  node_id: nodeId('SC', status.id),
  state: status.state,
  description: status.description,
  target_url: status.targetUrl,
  context: status.context,
  created_at: iso(status.at),
  updated_at: iso(status.at),
});

/** The worst of the latest statuses; `pending` without any. */
export const combinedState = (statuses: readonly CommitStatus[]): 'failure' | 'pending' | 'success' => {
  if (statuses.some(({ state }) => state === 'error' || state === 'failure')) return 'failure';
  return statuses.length > 0 && statuses.every(({ state }) => state === 'success') ? 'success' : 'pending';
};

export const combinedStatusView = (
  github: GithubState,
  repository: Repository,
  sha: string,
  viewer: Viewer,
): Shape<'combined-commit-status'> => {
  const statuses = latestStatuses(repository, sha);
  const url = repositoryUrl(github, repository);
  return {
    state: combinedState(statuses),
    statuses: statuses.map((status) => simpleStatusView(github, repository, status)),
    sha,
    total_count: statuses.length,
    repository: listedRepositoryView(github, repository, viewer),
    commit_url: `${url}/commits/${sha}`,
    url: `${url}/commits/${sha}/status`,
  };
};

export const checkRunView = (github: GithubState, repository: Repository, run: CheckRun): Shape<'check-run'> => {
  const url = `${repositoryUrl(github, repository)}/check-runs/${run.id}`;
  return {
    id: run.id,
    name: run.name,
    node_id: nodeId('CR', run.id),
    head_sha: run.sha,
    external_id: '',
    url,
    html_url: `${repositoryHtmlUrl(github, repository)}/runs/${run.id}`,
    details_url: github.urls.web,
    status: checkStatus(run),
    conclusion: run.conclusion,
    started_at: iso(run.at),
    completed_at: run.conclusion === null ? null : iso(run.at),
    output: { title: null, ...run.output, annotations_count: 0, annotations_url: `${url}/annotations` },
    check_suite: { id: run.app.id },
    app: appView(github, run.app),
    pull_requests: pullsAt(github, repository, run.sha),
  };
};

/** Only those whose branch is in the repository itself. */
const pullsAt = (github: GithubState, repository: Repository, sha: string): Shape<'pull-request-minimal'>[] => {
  const end = { id: repository.id, url: repositoryUrl(github, repository), name: repository.name };
  return pullRequests(repository)
    .filter((pull) => pull.state === 'open' && pull.headSha === sha && pull.headRepository === repository)
    .map((pull) => ({
      id: pull.pullId,
      number: pull.number,
      url: `${repositoryUrl(github, repository)}/pulls/${pull.number}`,
      head: { ref: pull.headRef, sha: pull.headSha, repo: end },
      base: { ref: pull.baseRef, sha: pull.baseSha, repo: end },
    }));
};

export const deploymentView = (github: GithubState, repository: Repository, deployment: Deployment): Shape<'deployment'> => {
  const url = `${repositoryUrl(github, repository)}/deployments/${deployment.id}`;
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
    creator: accountView(github, deployment.creator),
    created_at: iso(deployment.createdAt),
    updated_at: iso(deployment.updatedAt),
    statuses_url: `${url}/statuses`,
    repository_url: repositoryUrl(github, repository),
    transient_environment: deployment.transient,
    production_environment: deployment.production,
    performed_via_github_app: viaApp(github, deployment.creator),
  };
};

export const deploymentStatusView = (
  github: GithubState,
  repository: Repository,
  deployment: Deployment,
  status: DeploymentStatus,
): Shape<'deployment-status'> => {
  const url = `${repositoryUrl(github, repository)}/deployments/${deployment.id}`;
  return {
    url: `${url}/statuses/${status.id}`,
    id: status.id,
    node_id: nodeId('DES', status.id),
    state: status.state,
    creator: accountView(github, status.creator),
    description: status.description,
    environment: deployment.environment,
    target_url: status.targetUrl,
    log_url: status.targetUrl,
    environment_url: status.environmentUrl,
    created_at: iso(status.at),
    updated_at: iso(status.at),
    deployment_url: url,
    repository_url: repositoryUrl(github, repository),
    performed_via_github_app: viaApp(github, status.creator),
  };
};
