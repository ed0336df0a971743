import { EphError, type Permission, type Route } from '@eph/contract';
import type { Decision } from '@eph/engine/access/decide';
import type { EnvironmentRecord } from '@eph/engine/loop/record';
import type { Access } from '../access/access.ts';
import { findProject, type ProjectIds } from './find-project.ts';
import type { Caller } from './handlers.ts';
import type { Located } from './located-refusal.ts';

export interface Admission {
  /** By id, name or alias, among those that the caller may see. Throws when there is none. */
  readonly find: (text: string, caller: Pick<Caller, 'may'>) => EnvironmentRecord;
  readonly projects: ProjectIds;
  readonly access: Pick<Access, 'of'>;
}

/** What the path names. What the caller may not see does not exist for them. */
export const locate = (
  { target }: Route,
  caller: Caller,
  path: Readonly<Record<string, string>>,
  { find, projects }: Admission,
): Located => {
  if (target === 'project') return { project: findProject(path['project'] ?? '', projects, caller) };
  if (target !== 'environment') return {};
  const environment = find(path['id'] ?? '', caller);
  return { environment, project: environment.project };
};

/** Refuses what the caller may not do there. */
export const admit = (
  { permission, target }: Route,
  { identity }: Caller,
  { project }: Located,
  { projects, access }: Admission,
): void => {
  if (permission === null) return;
  const rights = access.of(identity);
  const isOfMany = target === 'each' || target === 'all';
  if (!isOfMany && rights.may(permission, project)) return;
  const decision = isOfMany
    ? rights[target === 'each' ? 'decideAny' : 'decideAll'](permission, projects.keys())
    : rights.decide(permission, project);
  if (!decision.allowed) throw refused(permission, decision);
};

const refused = (permission: Permission, { because }: Decision): EphError =>
  new EphError('api.forbidden', `you may not use ${permission}: ${because}`);
