import { type Action, EphError } from '@eph/contract';
import { describeExpiry } from '../desired/expiry.ts';
import { apply } from '../provider/apply.ts';
import type { EnvironmentReading } from '../provider/observe.ts';
import { projectOf } from './context.ts';
import { type Draft, draftEnvironment } from './draft.ts';
import { acknowledge, readLifetime, withdrawRequest } from './lifetime.ts';
import type { Loop } from './loop.ts';
import { findFreeName } from './names.ts';
import { failuresOf, type Outcome, observedOutcome, unreadable, withBlockers } from './outcome.ts';
import type { EnvironmentRecord } from './record.ts';
import { continueRedeploy, noteRemoved } from './redeploy.ts';
import { removeEnvironment, writeHold } from './removal.ts';

/**
 * Git says what should exist, providers say what does exist, Eph makes them equal and reports it.
 *
 * One environment: observe, draft, apply, observe, outcome. Every run starts from a fresh reading, so it may be cut off anywhere and
 * be repeated. An aborted run ends at its next stage, by throwing.
 */
export const reconcile = async (loop: Loop, record: EnvironmentRecord, signal: AbortSignal): Promise<Outcome> => {
  const { context } = loop;
  const reading = await loop.observer.environment(record.id, signal);
  const unknown = unreadable(record, reading);
  if (unknown !== undefined) return unknown;
  const { decision, source } = record;
  if (decision.state === 'unwanted') return await removeEnvironment(loop, record, decision, reading, signal);
  if (decision.state === 'unknown') return observedOutcome(reading.observed, [], [decision.fault]);
  if (source === undefined) throw new EphError('internal', `${record.name} is wanted by no source`);

  const request = { name: findFreeName(loop, record, source, reading.observed), source, decision };
  const draft = await draftEnvironment(loop, request, reading, signal);
  loop.imageMemory.note(record.id, draft.sought);
  await acknowledge(loop, record, signal);
  const lifetime = await readLifetime(loop, record, source, signal);
  signal.throwIfAborted();
  const outcome = { state: 'observed', ...draft, draft, lifetime, observed: reading.observed } as const;
  if (lifetime?.expiry !== undefined && lifetime.expiry.at <= context.clock.now()) {
    const ended = describeExpiry(lifetime.expiry);
    const failures = await withdrawRequest(loop, record, lifetime.expiry, signal);
    const actions: readonly Action[] = [{ type: 'wait', code: 'plan.expired', reason: ended }];
    return { ...outcome, actions, failures, ...(failures.length === 0 && { ended }) };
  }

  show(loop, record, reading, draft);
  const removal = await continueRedeploy(loop, record, request, reading, draft, signal);
  const actions = await withoutDoubtfulRemovals(loop, record, removal === undefined ? draft.actions : [removal], signal);
  const unheld = reading.observed?.held === true ? await writeHold(loop, reading.observed, false, signal) : [];
  const results = await apply({ ...draft, actions, providers: context.providers }, signal);
  if (signal.aborted) return { state: 'superseded', results };
  if (removal !== undefined && results.some(({ state }) => state === 'done')) noteRemoved(loop, record, removal);
  if (results.length === 0 && reading.observed?.held !== true) return outcome;

  const after = await loop.observer.environment(record.id, signal);
  const lost = unreadable(record, after);
  if (lost !== undefined) return { ...lost, results };
  const left = await draftEnvironment(loop, request, after, signal);
  loop.imageMemory.note(record.id, left.sought);
  const failures = [...unheld, ...failuresOf(results), ...left.failures];
  return {
    ...outcome,
    ...left,
    actions: withBlockers(left.actions, results),
    draft: left,
    observed: after.observed,
    results,
    failures,
  };
};

/** Before anything is done: traffic must have moved to a new version before the old one is stopped. */
const show = (
  { records, context }: Loop,
  record: EnvironmentRecord,
  { observed }: EnvironmentReading,
  { entry }: Draft,
): void => {
  records.update(record, { observed, entry });
  context.changed(record.id);
};

/** Nothing is removed, not even a component, for a commit that is no longer that of the source. */
const withoutDoubtfulRemovals = async (
  { context }: Loop,
  { project, ref, head }: EnvironmentRecord,
  actions: readonly Action[],
  signal: AbortSignal,
): Promise<readonly Action[]> => {
  if (!actions.some((action) => action.type === 'destroy')) return actions;
  const answer = await projectOf(context, project).forge.source(ref, signal);
  const isCurrent = answer.state === 'present' && answer.source.commit === head;
  return isCurrent ? actions : actions.filter((action) => action.type !== 'destroy');
};
