import { closest, type EnvironmentId, type ProjectId } from '@eph/contract';
import type { Engine } from '@eph/engine/loop/engine';
import type { EnvironmentRecord } from '@eph/engine/loop/record';
import type { Caller } from '../api/handlers.ts';
import { notFound } from '../api/located-refusal.ts';
import { findAfter, memoize } from './list-environments.ts';

export interface Directory {
  readonly engine: Pick<Engine, 'findEnvironment' | 'environment' | 'environmentsByName' | 'unsurveyed'>;
  /** Who has this name or alias. */
  readonly ownerOf: (label: string) => EnvironmentId | undefined;
  /** Whether it is known which projects there are. */
  readonly knowsProjects: boolean;
}

/**
 * By id, name or alias, among those that the caller may see: others do not exist for them, in suggestions neither. Nothing is said
 * not to exist before everything has been read once where it could be.
 */
export const findEnvironment = (text: string, directory: Directory, caller: Pick<Caller, 'may'>): EnvironmentRecord => {
  const { engine, ownerOf, knowsProjects } = directory;
  const owner = ownerOf(text);
  const found = engine.findEnvironment(text) ?? (owner && engine.environment(owner));
  const maySee = memoize((project: ProjectId) => caller.may('environments.read', project));
  if (found !== undefined && maySee(found.project)) return found;
  const near = suggest(text, engine.environmentsByName(), maySee);
  const hint = near === undefined ? '' : `; did you mean ${near}?`;
  const hidden = found && { environment: found, project: found.project };
  const { providers, projects } = engine.unsurveyed();
  if (knowsProjects && !providers && !projects.some(maySee))
    throw notFound(`there is no environment ${JSON.stringify(text)}${hint}`, hidden);
  throw notFound(
    `ephd does not know of an environment ${JSON.stringify(text)} and has not read everything yet${hint}`,
    hidden,
    'api.starting',
    1_000,
  );
};

/** How many names on either side are compared: each takes its time, in which nobody else is answered. */
const neighbours = 100;

/** Of few names any, of many one that begins alike. */
const suggest = (
  text: string,
  all: readonly EnvironmentRecord[],
  maySee: (project: ProjectId) => boolean,
): string | undefined => {
  const visible = all.filter(({ project }) => maySee(project));
  const at = findAfter(visible, text);
  return closest(
    text,
    visible.slice(Math.max(0, at - neighbours), at + neighbours).map(({ name }) => name),
  );
};
