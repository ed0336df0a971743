import type { CommitStatus, Deployment, Environment, Pipeline, Project } from '../state/entities.ts';
import { pipelineStatus } from '../state/pipelines.ts';
import type { GitlabState } from '../state/state.ts';
import { instant, instantOrNull, type Json, projectUrl, representUser } from './represent.ts';

export const representPipelineBasic = (state: GitlabState, project: Project, pipeline: Pipeline): Json<'pipelineBasic'> => ({
  id: pipeline.id,
  iid: pipeline.iid,
  project_id: project.id,
  sha: pipeline.sha,
  ref: pipeline.ref,
  status: pipelineStatus(project, pipeline),
  source: 'external',
  created_at: instant(pipeline.createdAt),
  updated_at: instant(pipeline.updatedAt),
  web_url: `${projectUrl(state, project)}/-/pipelines/${pipeline.id}`,
});

export const representPipeline = (state: GitlabState, project: Project, pipeline: Pipeline): Json<'pipeline'> => {
  const basic = representPipelineBasic(state, project, pipeline);
  const finished = ['success', 'failed', 'canceled', 'skipped'].includes(basic.status);
  return {
    ...basic,
    before_sha: '0'.repeat(40),
    tag: false,
    yaml_errors: null,
    user: representUser(state, pipeline.user),
    started_at: instant(pipeline.createdAt),
    finished_at: finished ? instant(pipeline.updatedAt) : null,
    committed_at: null,
    duration: finished ? (pipeline.updatedAt - pipeline.createdAt) / 1000 : null,
    queued_duration: null,
    coverage: null,
  };
};

export const representCommitStatus = (state: GitlabState, status: CommitStatus): Json<'commitStatus'> => ({
  id: status.id,
  sha: status.pipeline.sha,
  ref: status.pipeline.ref,
  status: status.status,
  name: status.name,
  target_url: status.targetUrl,
  description: status.description,
  created_at: instant(status.createdAt),
  started_at: instantOrNull(status.startedAt),
  finished_at: instantOrNull(status.finishedAt),
  allow_failure: false,
  coverage: status.coverage,
  pipeline_id: status.pipeline.id,
  author: representUser(state, status.author),
});

export const representEnvironment = (environment: Environment): Json<'environment'> => ({
  id: environment.id,
  name: environment.name,
  slug: environment.slug,
  external_url: environment.externalUrl,
  description: environment.description,
  state: environment.state,
  tier: environment.tier as Json<'environment'>['tier'],
  created_at: instant(environment.createdAt),
  updated_at: instant(environment.updatedAt),
  auto_stop_at: null,
  kubernetes_namespace: null,
  flux_resource_path: null,
  auto_stop_setting: 'always',
});

export const representDeployment = (state: GitlabState, deployment: Deployment): Json<'deployment'> => {
  const { id, name, slug, externalUrl } = deployment.environment;
  return { ...deploymentAlone(state, deployment), environment: { id, name, slug, external_url: externalUrl } };
};

const deploymentAlone = (state: GitlabState, deployment: Deployment) => ({
  id: deployment.id,
  iid: deployment.iid,
  ref: deployment.ref,
  sha: deployment.sha,
  created_at: instant(deployment.createdAt),
  updated_at: instant(deployment.createdAt),
  status: deployment.status,
  user: representUser(state, deployment.user),
  deployable: null,
});

export const representEnvironmentDetail = (
  state: GitlabState,
  environment: Environment,
  last: Deployment | undefined,
): Json<'environmentDetail'> => ({
  ...representEnvironment(environment),
  last_deployment: last === undefined ? null : deploymentAlone(state, last),
  cluster_agent: null,
});
