import { createHash } from 'node:crypto';
import type { Deployment, Environment, Project, User } from './entities.ts';
import { forbidden, invalid, noRecord } from './refusal.ts';
import type { GitlabState } from './state.ts';

export interface EnvironmentAttributes {
  readonly externalUrl?: string | undefined;
  readonly description?: string | undefined;
  readonly tier?: string | undefined;
}

/** https://docs.gitlab.com/api/environments/#create-a-new-environment */
export const createEnvironment = (
  state: GitlabState,
  project: Project,
  name: string,
  attributes: EnvironmentAttributes,
): Environment => {
  refuseName(name);
  refuseUrl(attributes.externalUrl);
  if (environmentNamed(project, name) !== undefined)
    throw invalid({ name: ['has already been taken'], slug: ['has already been taken'] });
  const now = state.now();
  const environment: Environment = {
    id: state.nextId(),
    name,
    slug: slugOf(name),
    createdAt: now,
    updatedAt: now,
    externalUrl: attributes.externalUrl ?? null,
    description: attributes.description ?? null,
    tier: attributes.tier ?? tierOf(name),
    state: 'available',
  };
  project.environments.set(environment.id, environment);
  state.touch();
  return environment;
};

const environmentNamed = (project: Project, name: string): Environment | undefined =>
  [...project.environments.values()].find((environment) => environment.name === name);

const refuseName = (name: string): void => {
  if (name.length > 255) throw invalid({ name: ['is too long (maximum is 255 characters)'] });
  if (!/^[\w\-/.${} ]+$/u.test(name) || /^\/|\/$/u.test(name)) {
    throw invalid({
      name: [
        "can contain only letters, digits, '-', '_', '/', '$', '{', '}', '.', and spaces, but it cannot start or end with '/'",
      ],
    });
  }
};

const refuseUrl = (url: string | undefined): void => {
  if (url === undefined) return;
  if (url.length > 255) throw invalid({ external_url: ['is too long (maximum is 255 characters)'] });
  if (!/^https?:\/\//u.test(url)) throw invalid({ external_url: ['is blocked: Only allowed schemes are http, https'] });
};

/** https://docs.gitlab.com/ci/environments/#use-the-environment-slug: at most 24 characters; shortened names get a suffix */
const slugOf = (name: string): string => {
  const plain = name
    .toLowerCase()
    .replace(/[^a-z0-9]+/gu, '-')
    .replace(/^-+|-+$/gu, '');
  if (plain === name && plain.length <= 24) return plain;
  const suffix = createHash('sha256').update(name).digest('hex').slice(0, 6);
  return `${plain.slice(0, 17).replace(/-+$/u, '')}-${suffix}`;
};

/** https://docs.gitlab.com/ci/environments/#deployment-tier-of-environments */
const tierOf = (name: string): string => {
  if (/(dev|review|trunk)/iu.test(name)) return 'development';
  if (/(test|tst|int|ac(ce|)pt|qa|qc|control|quality)/iu.test(name)) return 'testing';
  if (/(st(a|)g|mod(e|)l|pre|demo|non)/iu.test(name)) return 'staging';
  return /(pr(o|)d|live)/iu.test(name) ? 'production' : 'other';
};

export const findEnvironment = (project: Project, id: string): Environment => {
  const environment = project.environments.get(Number(id));
  if (environment === undefined) throw noRecord();
  return environment;
};

export const updateEnvironment = (
  state: GitlabState,
  environment: Environment,
  { externalUrl, description, tier }: EnvironmentAttributes,
): void => {
  refuseUrl(externalUrl);
  environment.externalUrl = externalUrl ?? environment.externalUrl;
  environment.description = description ?? environment.description;
  environment.tier = tier ?? environment.tier;
  environment.updatedAt = state.now();
  state.touch();
};

/** Idempotent. No job belongs to an environment created through the API, so it stops immediately. */
export const stopEnvironment = (state: GitlabState, environment: Environment): void => {
  environment.state = 'stopped';
  environment.updatedAt = state.now();
  state.touch();
};

/** Only a stopped environment can be deleted; its deployments are deleted too. */
export const deleteEnvironment = (state: GitlabState, project: Project, environment: Environment): void => {
  if (environment.state !== 'stopped') throw forbidden();
  project.environments.delete(environment.id);
  for (const { id, environment: of } of project.deployments.values()) if (of === environment) project.deployments.delete(id);
  state.touch();
};

export const lastDeployment = (project: Project, environment: Environment): Deployment | undefined =>
  [...project.deployments.values()].findLast(
    (deployment) => deployment.environment === environment && deployment.status === 'success',
  );

export interface NewDeployment {
  readonly environment: string;
  readonly sha: string;
  readonly ref: string;
  readonly tag: boolean;
  readonly status: Deployment['status'];
}

/** https://docs.gitlab.com/api/deployments/#create-a-deployment; makes the environment if there is none of this name. */
export const createDeployment = (state: GitlabState, user: User, project: Project, wanted: NewDeployment): Deployment => {
  const environment = environmentNamed(project, wanted.environment) ?? createEnvironment(state, project, wanted.environment, {});
  const iid = 1 + Math.max(0, ...[...project.deployments.values()].map((deployment) => deployment.iid));
  const { sha, ref, tag, status } = wanted;
  const deployment: Deployment = {
    id: state.nextId(),
    iid,
    environment,
    sha,
    ref,
    tag,
    user,
    createdAt: state.now(),
    status,
  };
  project.deployments.set(deployment.id, deployment);
  if (status === 'success') environment.state = 'available';
  state.touch();
  return deployment;
};
