import { type Answer, created, empty, found, ok, Problem, page } from '../http/answer.ts';
import { type Route, repositoryRoute } from '../http/route.ts';
import type { Account } from '../state/account.ts';
import type { Deployment } from '../state/commit-report.ts';
import {
  addDeployment,
  addDeploymentStatus,
  deactivateOthers,
  deploymentState,
  latestStatuses,
  removeDeployment,
} from '../state/commit-report-mutations.ts';
import type { GithubState } from '../state/github-state.ts';
import { mergeDefaultBranch } from '../state/merge-mutations.ts';
import { branchRef, type Repository, resolveCommit } from '../state/repository.ts';
import { combinedState, deploymentStatusView, deploymentView } from '../views/commit-report-view.ts';

export const deploymentRoutes: readonly Route[] = [
  repositoryRoute('repos/create-deployment', ['deployments:write'], 'write', ({ github, repository, body, actor }) => {
    const sha = resolveCommit(repository, body.ref);
    if (sha === undefined) throw new Problem(422, `No ref found for: ${body.ref}`);
    const merged = body.auto_merge === false ? undefined : mergeIfBehind(github, repository, body.ref, actor);
    if (merged !== undefined) return merged;
    checkContexts(repository, sha, body.ref, body.required_contexts);
    const environment = body.environment ?? 'production';
    const deployment = addDeployment(github, repository, {
      sha,
      ref: body.ref,
      task: body.task ?? 'deploy',
      payload: body.payload ?? {},
      environment,
      description: body.description ?? null,
      transient: body.transient_environment ?? false,
      production: body.production_environment ?? environment === 'production',
      creator: actor,
    });
    return created(deploymentView(github, repository, deployment));
  }),

  repositoryRoute('repos/list-deployments', ['deployments:read'], 'read', ({ github, repository, query }) => {
    const fits = (wanted: string | null | undefined, actual: string): boolean =>
      wanted === undefined || wanted === null || wanted === 'none' || wanted === actual;
    const matching = [...repository.deployments.values()].filter(
      (one) =>
        fits(query.sha, one.sha) &&
        fits(query.ref, one.ref) &&
        fits(query.task, one.task) &&
        fits(query.environment, one.environment),
    );
    return page(matching.toReversed(), (deployment) => deploymentView(github, repository, deployment));
  }),

  repositoryRoute('repos/get-deployment', ['deployments:read'], 'read', ({ github, repository, path }) =>
    ok(deploymentView(github, repository, find(repository, path.deployment_id))),
  ),

  repositoryRoute('repos/delete-deployment', ['deployments:write'], 'write', ({ github, repository, path }) => {
    const deployment = find(repository, path.deployment_id);
    const siblings = [...repository.deployments.values()].filter(({ environment }) => environment === deployment.environment);
    const state = deploymentState(deployment);
    const isActive = state !== undefined && state !== 'inactive' && state !== 'error' && state !== 'failure';
    if (isActive && siblings.length > 1)
      throw new Problem(422, 'We cannot delete an active deployment unless it is the only deployment in a given environment.');
    removeDeployment(github, repository, deployment);
    return empty(204);
  }),

  repositoryRoute('repos/create-deployment-status', ['deployments:write'], 'write', (call) => {
    const { github, repository, path, body, actor } = call;
    const deployment = find(repository, path.deployment_id);
    const status = addDeploymentStatus(github, repository, deployment, {
      state: body.state,
      description: body.description ?? '',
      targetUrl: body.log_url ?? body.target_url ?? '',
      environmentUrl: body.environment_url ?? '',
      creator: actor,
    });
    if (body.state === 'success' && body.auto_inactive !== false) deactivateOthers(github, repository, deployment, actor);
    const view = deploymentStatusView(github, repository, deployment, status);
    return created(view, view.url);
  }),

  repositoryRoute('repos/list-deployment-statuses', ['deployments:read'], 'read', ({ github, repository, path }) => {
    const deployment = find(repository, path.deployment_id);
    return page(deployment.statuses.toReversed(), (status) => deploymentStatusView(github, repository, deployment, status));
  }),
];

const find = (repository: Repository, id: number): Deployment => found(repository.deployments.get(id));

/** Unless disabled, the default branch is merged into a branch that lacks its commits, instead of deploying. */
const mergeIfBehind = (github: GithubState, repository: Repository, ref: string, by: Account): Answer | undefined => {
  const head = repository.refs.get(branchRef(ref));
  const newest = repository.refs.get(branchRef(repository.defaultBranch));
  if (head === undefined || newest === undefined || repository.network.isAncestor(newest, head)) return undefined;
  mergeDefaultBranch(github, repository, ref, by);
  const message = `Auto-merged ${repository.defaultBranch} into ${ref} on deployment.`;
  return { kind: 'json', status: 202, body: { message }, headers: {} };
};

/** Without a list, every status of the commit has to be successful. */
const checkContexts = (repository: Repository, sha: string, ref: string, required: readonly string[] | undefined): void => {
  const statuses = latestStatuses(repository, sha);
  const runs = repository.checkRuns.filter((run) => run.sha === sha);
  const relevant = statuses.filter(({ context }) => required?.includes(context) ?? true);
  const relevantRuns = runs.filter(({ name }) => required?.includes(name) ?? true);
  const isGreen =
    (relevant.length === 0 || combinedState(relevant) === 'success') &&
    relevantRuns.every(({ conclusion }) => conclusion === 'success' || conclusion === 'neutral' || conclusion === 'skipped');
  if (!isGreen) throw new Problem(409, `Conflict: Commit status checks failed for ${ref}.`);
};
