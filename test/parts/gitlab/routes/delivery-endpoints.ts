import { type Call, endpoint } from '../http/endpoint.ts';
import { paginate } from '../http/pagination.ts';
import { parameters } from '../shapes/parameters.ts';
import { shapes } from '../shapes/shapes.ts';
import { findProject, requireCode, requireRole } from '../state/access.ts';
import type { Project } from '../state/entities.ts';
import {
  createDeployment,
  createEnvironment,
  deleteEnvironment,
  findEnvironment,
  lastDeployment,
  stopEnvironment,
  updateEnvironment,
} from '../state/environments.ts';
import { latestStatuses, setCommitStatus } from '../state/pipelines.ts';
import { badRequest, invalid, notFound } from '../state/refusal.ts';
import {
  representCommitStatus,
  representDeployment,
  representEnvironment,
  representEnvironmentDetail,
} from '../views/represent-delivery.ts';

const projectOf = (call: Call<unknown>): Project => {
  const project = findProject(call.state, call.user, call.path('id'), call);
  requireCode(call.user, project);
  return project;
};
const developedBy = (call: Call<unknown>) => {
  const project = projectOf(call);
  return { project, user: requireRole(call.user, project, 'developer') };
};

const sorted = <Item>(items: readonly Item[], key: (item: Item) => number | string, sort: 'asc' | 'desc'): readonly Item[] => {
  const ascending = items.toSorted((a, b) => (key(a) < key(b) ? -1 : key(a) > key(b) ? 1 : 0));
  return sort === 'asc' ? ascending : ascending.toReversed();
};

export const deliveryEndpoints = [
  endpoint(
    'GET /projects/:id/repository/commits/:sha/statuses',
    parameters.commitStatuses,
    shapes.commitStatuses,
    async (call) => {
      const project = projectOf(call);
      const { ref, name, stage, pipeline_id: pipelineId, all = false, sort = 'asc' } = call.parameters;
      const sha = await (await call.state.repositoryOf(project)).resolve(call.path('sha'));
      if (sha === undefined) throw notFound('Commit');
      const found = project.statuses.filter(
        (status) =>
          status.pipeline.sha === sha &&
          (ref === undefined || status.pipeline.ref === ref) &&
          (name === undefined || status.name === name) &&
          (stage === undefined || stage === 'external') &&
          (pipelineId === undefined || status.pipeline.id === pipelineId),
      );
      return paginate(
        call,
        sorted(all ? found : latestStatuses(found), ({ id }) => id, sort),
        (status) => representCommitStatus(call.state, status),
      );
    },
  ),
  endpoint('POST /projects/:id/statuses/:sha', parameters.newCommitStatus, shapes.commitStatus, async (call) => {
    const { project, user } = developedBy(call);
    const {
      state: wanted,
      name,
      context,
      ref,
      target_url: targetUrl,
      description,
      coverage,
      pipeline_id: pipelineId,
    } = call.parameters;
    const status = {
      sha: call.path('sha'),
      state: wanted,
      name: name ?? context ?? 'default',
      ref,
      targetUrl,
      description,
      coverage,
      pipelineId,
    };
    return { status: 201, body: representCommitStatus(call.state, await setCommitStatus(call.state, user, project, status)) };
  }),

  endpoint('GET /projects/:id/environments', parameters.environments, shapes.environments, (call) => {
    const { name, search, states } = call.parameters;
    if (name !== undefined && search !== undefined) throw badRequest('name, search cannot be used together');
    if (search !== undefined && search.length < 3) throw badRequest('Search query is less than 3 characters');
    const found = [...projectOf(call).environments.values()].filter(
      (environment) =>
        (name === undefined || environment.name === name) &&
        (search === undefined || environment.name.includes(search)) &&
        (states === undefined || environment.state === states),
    );
    return paginate(call, found, representEnvironment);
  }),
  endpoint('POST /projects/:id/environments', parameters.newEnvironment, shapes.environment, (call) => {
    const { name, external_url: externalUrl, description, tier } = call.parameters;
    const environment = createEnvironment(call.state, developedBy(call).project, name, { externalUrl, description, tier });
    return { status: 201, body: representEnvironment(environment) };
  }),
  endpoint('GET /projects/:id/environments/:environment_id', parameters.none, shapes.environmentDetail, (call) => {
    const project = projectOf(call);
    const environment = findEnvironment(project, call.path('environment_id'));
    return { body: representEnvironmentDetail(call.state, environment, lastDeployment(project, environment)) };
  }),
  endpoint('PUT /projects/:id/environments/:environment_id', parameters.environmentUpdate, shapes.environment, (call) => {
    const environment = findEnvironment(developedBy(call).project, call.path('environment_id'));
    const { external_url: externalUrl, description, tier } = call.parameters;
    updateEnvironment(call.state, environment, { externalUrl, description, tier });
    return { body: representEnvironment(environment) };
  }),
  endpoint('POST /projects/:id/environments/:environment_id/stop', parameters.environmentStop, shapes.environment, (call) => {
    const environment = findEnvironment(developedBy(call).project, call.path('environment_id'));
    stopEnvironment(call.state, environment);
    return { body: representEnvironment(environment) };
  }),
  endpoint('DELETE /projects/:id/environments/:environment_id', parameters.none, undefined, (call) => {
    const { project } = developedBy(call);
    deleteEnvironment(call.state, project, findEnvironment(project, call.path('environment_id')));
    return { status: 204 };
  }),

  endpoint('GET /projects/:id/deployments', parameters.deployments, shapes.deployments, (call) => {
    const { environment, status, sort = 'asc' } = call.parameters;
    const found = [...projectOf(call).deployments.values()].filter(
      (deployment) =>
        (environment === undefined || deployment.environment.name === environment) &&
        (status === undefined || deployment.status === status),
    );
    return paginate(
      call,
      sorted(found, ({ id }) => id, sort),
      (deployment) => representDeployment(call.state, deployment),
    );
  }),
  endpoint('POST /projects/:id/deployments', parameters.newDeployment, shapes.deployment, async (call) => {
    const { project, user } = developedBy(call);
    if ((await (await call.state.repositoryOf(project)).resolve(call.parameters.sha)) === undefined)
      throw invalid({ sha: ['The sha does not exist'] });
    return { status: 201, body: representDeployment(call.state, createDeployment(call.state, user, project, call.parameters)) };
  }),
];
