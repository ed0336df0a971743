import { EphError, type Permission, type ProjectId } from '@eph/contract';
import type { Caller } from './handlers.ts';
import { LocatedRefusal, notFound } from './located-refusal.ts';

export interface ProjectIds {
  readonly keys: () => Iterable<ProjectId>;
}

type Looking = Pick<Caller, 'may'>;

const visibleTo = (caller: Looking, projects: ProjectIds): readonly ProjectId[] =>
  [...projects.keys()].filter((one) => caller.may('environments.read', one));

/** One that the caller may see. Others do not exist for them. */
export const findProject = (name: string, projects: ProjectIds, caller: Looking): ProjectId => {
  const visible = visibleTo(caller, projects);
  const found = visible.find((one) => one === name);
  if (found !== undefined) return found;
  const hidden = [...projects.keys()].find((one) => one === name);
  throw notFound(`there is no project ${JSON.stringify(name)}${listed(visible)}`, hidden && { project: hidden });
};

/** The one that is named, or the only one that the caller may see. */
export const chooseProject = (
  name: string | undefined,
  permission: Permission,
  projects: ProjectIds,
  caller: Looking,
): ProjectId => {
  const visible = visibleTo(caller, projects);
  const [only] = visible;
  if (name === undefined && (only === undefined || visible.length > 1))
    throw new EphError('api.bad_request', `name the project${listed(visible)}`);
  const project = name === undefined && only !== undefined ? only : findProject(name ?? '', projects, caller);
  if (caller.may(permission, project)) return project;
  throw new LocatedRefusal('api.forbidden', `you may not use ${permission} in project ${project}`, { project });
};

const listed = (visible: readonly ProjectId[]): string => (visible.length === 0 ? '' : `: ephd watches ${visible.join(', ')}`);
