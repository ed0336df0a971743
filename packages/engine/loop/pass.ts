import type { ObservedEnvironment, ProjectId } from '@eph/contract';
import type { Loop } from './loop.ts';
import { withoutProject } from './project-set.ts';
import { environmentKey, type Key, projectKey, type Result } from './result.ts';

/** Lists everything that exists at once and wakes every project with its share. */
export const runPass = async (loop: Loop, signal: AbortSignal): Promise<Result> => {
  const { context, records } = loop;
  const at = context.clock.now();
  const observed = await loop.observer.observe({ all: true }, signal);
  signal.throwIfAborted();
  const isSurveyed = [...context.projects.keys()].every((id) => records.project(id).surveyed);
  records.noteListing(observed, { at, providers: context.providers.keys(), names: !isSurveyed });
  const shares = new Map<ProjectId, ObservedEnvironment[]>();
  for (const id of context.projects.keys()) shares.set(id, []);
  const strays: ObservedEnvironment[] = [];
  // Listings mostly come project by project: one look-up serves many.
  let share = strays;
  let shareOf: ProjectId | undefined;
  for (const environment of observed.items) {
    const { project } = environment.identity;
    if (project !== shareOf) share = shares.get(project) ?? strays;
    shareOf = project;
    share.push(environment);
  }
  loop.polling.choose(shares.keys());
  for (const [id, items] of shares) records.putListing(id, { ...observed, items });
  return { wake: [...[...shares.keys()].map(projectKey), ...holdStrays(loop, strays)] };
};

const holdStrays = ({ context, records }: Loop, strays: readonly ObservedEnvironment[]): readonly Key[] => {
  const listed = new Set(strays.map((stray) => stray.identity.id));
  const wake: Key[] = [];
  for (const observed of strays) {
    const { id, project, source: ref, name } = observed.identity;
    if (records.get(id) !== undefined) continue;
    const record = records.add({ id, project, ref, name, ...withoutProject(project), observed });
    records.update(record, { held: true });
    wake.push(environmentKey(id));
  }
  if (strays.length === 0 && [...records.projects()].every((id) => context.projects.has(id))) return wake;
  for (const { id, project } of records.all())
    if (!context.projects.has(project) && !listed.has(id)) wake.push(environmentKey(id));
  return wake;
};
