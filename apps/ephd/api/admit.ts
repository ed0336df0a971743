import { EphError, type Permission, type ProjectId, type Route } from '@eph/contract';
import type { Decision } from '@eph/engine/access/decide';
import type { EnvironmentRecord } from '@eph/engine/loop/record';
import type { Access } from '../access/access.ts';
import { findProject, type ProjectIds } from './find-project.ts';
import type { Caller } from './handlers.ts';

/** What a request is about, as far as its path says it. */
export interface Admitted {
  readonly environment?: EnvironmentRecord;
  readonly project?: ProjectId;
}

export interface Admission {
  /** By id, name or alias, among those that the caller may see. Throws when there is none. */
  readonly find: (text: string, caller: Pick<Caller, 'may'>) => EnvironmentRecord;
  readonly projects: ProjectIds;
  readonly access: Pick<Access, 'of'>;
}

/** Refuses what the caller may not do. What the caller may not see does not exist for them. */
export const admit = (
  { permission, target }: Route,
  caller: Caller,
  path: Readonly<Record<string, string>>,
  { find, projects, access }: Admission,
): Admitted => {
  if (permission === null) return {};
  const rights = access.of(caller.identity);
  const requireIn = (project?: ProjectId): void => {
    if (!rights.may(permission, project)) throw refused(permission, rights.decide(permission, project));
  };
  switch (target) {
    case 'environment': {
      const environment = find(path['id'] ?? '', caller);
      requireIn(environment.project);
      return { environment, project: environment.project };
    }
    case 'project': {
      const project = findProject(path['project'] ?? '', projects, caller);
      requireIn(project);
      return { project };
    }
    case 'each': {
      const decision = rights.decideAny(permission, projects.keys());
      if (!decision.allowed) throw refused(permission, decision);
      return {};
    }
    case 'server':
      requireIn();
      return {};
  }
};

const refused = (permission: Permission, { because }: Decision): EphError =>
  new EphError('api.forbidden', `you may not use ${permission}: ${because}`);
