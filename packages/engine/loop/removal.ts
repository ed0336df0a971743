import {
  type EnvironmentId,
  type Failure,
  failure,
  isSameSource,
  type ObservedEnvironment,
  type ProjectId,
  type Reading,
  type Source,
  toFailure,
} from '@eph/contract';
import { type Decision, type Decisions, unwanted } from '../desired/decisions.ts';
import { printSource } from '../desired/printed-names.ts';
import { planDestroy } from '../plan/diff.ts';
import type { GuardAnswer } from '../plan/guard.ts';
import { apply } from '../provider/apply.ts';
import type { EnvironmentReading, Observation } from '../provider/observe.ts';
import { projectOf } from './context.ts';
import type { Loop } from './loop.ts';
import { failuresOf, type Outcome, observedOutcome, recordEvent, unreadable, withBlockers } from './outcome.ts';
import { type EnvironmentRecord, isOn } from './record.ts';
import { environmentKey, projectKey, type Result } from './result.ts';

/*
 * A removal, from the decision to the end:
 *
 * 1. A reading of a project finds what no source wants (`findSurplus`). Git must have been read completely, and so must every provider
 *    that holds a component of the environment.
 * 2. The guard bounds how many may go at once. The others are held until an operator releases them, and nothing goes before their holds
 *    are written on the infrastructure.
 * 3. The run of the environment (`removeEnvironment`) reads its one source again and removes components, users before what they use.
 * 4. The removal is finished when every provider has answered and none of them holds anything of the environment.
 */

/** An environment that exists and that no source wants. */
export interface Surplus {
  readonly observed: ObservedEnvironment;
  readonly decision: Decision;
  /** Still there, but no trigger wants it; absent when the source itself is gone. */
  readonly source: Source | undefined;
}

export const findSurplus = (
  { context, records }: Loop,
  id: ProjectId,
  sources: Reading<Source>,
  decided: Decisions,
  { items, incomplete }: Observation,
): { readonly surplus: readonly Surplus[]; readonly guard: GuardAnswer } => {
  const project = records.project(id);
  const surplus = items.flatMap((observed): readonly Surplus[] => {
    const about = decided.get(observed.identity.source);
    if (about?.decision.state === 'unwanted') return [{ observed, decision: about.decision, source: about.made }];
    if (about !== undefined || !sources.complete) return [];
    return [{ observed, decision: unwanted(`${printSource(observed.identity.source)} is gone`), source: undefined }];
  });
  const isRead = ({ observed }: Surplus): boolean =>
    observed.complete &&
    !isOn(observed, incomplete) &&
    !isOn(project.environments.get(observed.identity.id)?.observed, incomplete);
  const idsOf = (some: readonly Surplus[]): readonly EnvironmentId[] => some.map(({ observed }) => observed.identity.id);
  const isHeld = ({ observed }: Surplus): boolean =>
    observed.held || project.environments.get(observed.identity.id)?.held === true || isOn(observed, context.retired);
  const listed = new Set(items.map(({ identity }) => identity.id));
  const read = new Set(idsOf(surplus.filter(isRead)));
  const isUnwritten = ({ id: one, held: isKept, observed }: EnvironmentRecord): boolean =>
    isKept &&
    !(listed.has(one) && read.has(one)) &&
    !project.released.has(one) &&
    observed !== undefined &&
    !isHoldWritten(observed);
  const { permitted, held } = context.guard({
    candidates: idsOf(surplus.filter(isRead)),
    total: items.length,
    vanished: sources.items.length === 0,
    complete: sources.complete,
    held: new Set(idsOf(surplus.filter(isHeld))),
    written: new Set(idsOf(surplus.filter(({ observed }) => isHoldWritten(observed)))),
    unwrittenElsewhere: project.environments.values().some(isUnwritten),
    released: project.released,
    first: !project.surveyed,
    bound: context.deletionBound,
  });
  // What could not be read is no candidate, and stays held if it was.
  const unread = idsOf(surplus.filter((one) => !isRead(one) && isHeld(one))).filter((one) => !project.released.has(one));
  return { surplus, guard: { permitted, held: new Set([...held, ...unread]) } };
};

/** Removes what the guard permits, if its source is still gone. */
export const removeEnvironment = async (
  loop: Loop,
  record: EnvironmentRecord,
  { because }: Decision,
  { observed, incomplete }: EnvironmentReading,
  signal: AbortSignal,
): Promise<Outcome> => {
  const { context, records } = loop;
  if (observed === undefined || observed.components.length === 0)
    return incomplete.size === 0 ? { state: 'removed' } : observedOutcome(undefined, [], [...incomplete.values()]);
  records.update(record, { observed });
  context.changed(record.id);
  const wait = (reason: string, failures: readonly Failure[] = []): Outcome =>
    observedOutcome(observed, [{ type: 'wait', code: 'plan.held', reason }], failures);
  // A provider that is no longer configured may have answered only now, after the permit.
  const isRetired = isOn(observed, context.retired) && !records.project(record.project).released.has(record.id);
  if (!record.permitted || isRetired) {
    const isWritten = isHoldWritten(observed) || !record.held || !context.projects.has(record.project);
    const failures = isWritten ? [] : await writeHold(loop, observed, true, signal);
    return wait(record.held || isRetired ? 'an operator must release it' : 'the next complete pass decides', failures);
  }
  const doubt = await findDoubt(loop, record, signal);
  signal.throwIfAborted();
  if (doubt !== undefined) return wait(doubt.message, doubt.disposition === 'retry' ? [doubt] : []);
  // A reading of the project meanwhile may have withdrawn the permit.
  if (!record.permitted) return wait('the next complete pass decides');
  // Released: after a crash nobody has to release it again.
  const failures = observed.held ? await writeHold(loop, observed, false, signal) : [];
  if (failures.length > 0) return wait('its hold could not be taken away', failures);
  const actions = planDestroy(observed, because);
  const results = await apply({ identity: observed.identity, actions, components: [], providers: context.providers }, signal);
  if (signal.aborted) return { state: 'superseded', results };
  const after = await loop.observer.environment(record.id, signal);
  const unknown = unreadable(record, after);
  if (unknown !== undefined) return { ...unknown, results };
  const isGone = after.observed === undefined || after.observed.components.length === 0;
  if (isGone && after.incomplete.size === 0) return { state: 'removed', results };
  const left = after.observed === undefined ? [] : withBlockers(planDestroy(after.observed, because), results);
  return { ...observedOutcome(after.observed, left, [...failuresOf(results), ...after.incomplete.values()]), results };
};

export const isHoldWritten = ({ held, partlyHeld }: ObservedEnvironment): boolean => held && partlyHeld !== true;

/** Writes the guard's hold, or takes it away, on every provider that holds a component of the environment. */
export const writeHold = async (
  { context }: Loop,
  { identity, components }: ObservedEnvironment,
  held: boolean,
  signal: AbortSignal,
): Promise<readonly Failure[]> => {
  const failures: Failure[] = [];
  for (const name of new Set(components.map(({ provider }) => provider))) {
    signal.throwIfAborted();
    try {
      await context.providers.get(name)?.hold(identity, held, signal);
    } catch (error) {
      failures.push(toFailure(error));
    }
  }
  signal.throwIfAborted();
  return failures;
};

/** The last check before a removal: the one source, read past every cache. */
const findDoubt = async (
  { context, records }: Loop,
  record: EnvironmentRecord,
  signal: AbortSignal,
): Promise<Failure | undefined> => {
  if (!context.projects.has(record.project)) return undefined;
  const answer = await projectOf(context, record.project).forge.source(record.ref, signal);
  if (answer.state === 'gone') return undefined;
  if (answer.state === 'unknown') return answer.fault;
  if (record.source !== undefined && isSameSource(answer.source, record.source)) return undefined;
  // Nothing is woken here: a forge that says one thing in the list and another about the one source would be asked in a circle.
  records.update(record, { permitted: false });
  return failure('plan.superseded', `${printSource(record.ref)} is back`);
};

/**
 * An operator lets go of what is held: by the guard, or on a provider that is no longer configured. Undefined if nothing is, and nothing
 * was released that is still to go.
 */
export const release = (loop: Loop, id: EnvironmentId): Result | undefined => {
  const { context, records } = loop;
  const record = records.get(id);
  if (record === undefined) return undefined;
  const project = records.project(record.project);
  const isReleased = project.released.has(id);
  const isGoing = isReleased && record.decision.state === 'unwanted';
  if (!record.held && !isOn(record.observed, context.retired) && !isGoing) return undefined;
  if (isReleased) return {};
  recordEvent(loop, 'deletion.released', record, `the removal of ${record.name} was released`);
  project.released.add(id);
  project.wokenAt = context.clock.now();
  if (context.projects.has(record.project)) return { wake: [projectKey(record.project), environmentKey(id)] };
  records.update(record, { held: false, permitted: true });
  return { wake: [environmentKey(id)] };
};
