import { type Action, type EventType, type Failure, failure, type ObservedEnvironment, sourceKey } from '@eph/contract';
import type { ActionResult } from '../provider/apply.ts';
import type { EnvironmentReading } from '../provider/observe.ts';
import { composeText } from '../report/plain-text.ts';
import { composeView } from '../report/view.ts';
import { type Findings, summarize } from '../status/summarize.ts';
import { nowOf } from './context.ts';
import type { Draft } from './draft.ts';
import type { Loop } from './loop.ts';
import { type EnvironmentRecord, isOn } from './record.ts';
import { environmentKey, type Key, projectKey, type Result } from './result.ts';

/** How a run of one environment ended. */
export type Outcome = (
  | ObservedOutcome
  /** Nothing of it is left, and no source wants it. */
  | { readonly state: 'removed' }
  /** A newer reading ended the run. */
  | { readonly state: 'superseded' }
) & { readonly results?: readonly ActionResult[] };

export interface ObservedOutcome extends Pick<Findings, 'observed' | 'actions' | 'failures' | 'specFaults'> {
  readonly state: 'observed';
  /** Absent when it was not worked out what the environment should be. */
  readonly draft?: Draft;
  readonly lifetime?: EnvironmentRecord['lifetime'];
  /** Why its request was withdrawn. */
  readonly ended?: string;
}

export const observedOutcome = (
  observed: ObservedEnvironment | undefined,
  actions: readonly Action[],
  failures: readonly Failure[],
): ObservedOutcome => ({ state: 'observed', observed, actions, failures, specFaults: [] });

/** Undefined where every provider that is known to hold some of it was read completely. Otherwise it is left as it is. */
export const unreadable = (
  record: EnvironmentRecord,
  { observed, incomplete }: EnvironmentReading,
): ObservedOutcome | undefined => {
  const isAway = isOn(record.observed, incomplete) || isOn(observed, incomplete);
  if (!isAway && observed?.complete !== false) return undefined;
  const partly = failure('provider.incomplete', 'part of it could not be read; it is left as it is');
  return observedOutcome(record.observed ?? observed, [], isAway ? [...incomplete.values()] : [partly]);
};

/** What went wrong. A removal that takes its time is no failure. */
export const failuresOf = (results: readonly ActionResult[]): readonly Failure[] =>
  results.flatMap((result) => (result.state === 'failed' && !isRemoving(result.failure) ? [result.failure] : []));

const isRemoving = ({ code }: { readonly code: string }): boolean => code === 'component.removing';

/** What is left to do, with what blocks a removal in place of the action that began it. */
export const withBlockers = (actions: readonly Action[], results: readonly ActionResult[]): readonly Action[] => {
  const blocked = results.filter((result) => result.state === 'failed' && isRemoving(result.failure));
  const blockers = new Map(
    blocked.map((result) => [keyOf(result.action), result.state === 'failed' ? result.failure.message : '']),
  );
  return actions.map((action) => {
    const { component } = action;
    const reason = blockers.get(keyOf(action));
    return reason === undefined || component === undefined
      ? action
      : { type: 'wait', component, code: 'component.removing', reason };
  });
};

const keyOf = (action: Action): string => (action.type === 'wait' ? '' : `${action.provider}/${action.component}`);

/** The one place where the outcome of a run becomes record, status, log, event, report and the time of the next look. */
export const conclude = (loop: Loop, record: EnvironmentRecord, outcome: Outcome): Result | undefined => {
  recordActions(loop, record, outcome.results ?? []);
  if (outcome.state === 'superseded') return undefined;
  if (outcome.state === 'removed') return finishRemoval(loop, record);
  const { context, records, references, platform } = loop;
  const { observed, actions, failures, draft, ended } = outcome;
  const wake: Key[] = [];
  if (draft !== undefined) references.refer(record, draft.namespaces);
  if (record.publishedMark !== observed?.mark) wake.push(...references.referrersOf(record).map(({ id }) => environmentKey(id)));
  if (ended !== undefined) {
    if (record.endedBecause === undefined) recordEvent(loop, 'environment.expired', record, `${record.name}: ${ended}`);
    records.project(record.project).wokenAt = context.clock.now();
    wake.push(projectKey(record.project));
  }
  const before = record.status;
  const status = summarize(findingsOf(record, outcome), before, nowOf(context));
  const isStalled = failures.length > 0 && failures.every((one) => one.disposition === 'stall');
  const settled = isStalled || (failures.length === 0 && actions.every(isAwaited));
  records.update(record, {
    observed,
    publishedMark: observed?.mark,
    actions,
    status,
    settled,
    ...(draft && { configuration: draft.configuration, declared: draft.declared, lifetime: outcome.lifetime }),
    ...(ended !== undefined && { endedBecause: ended }),
  });
  if (platform.isOutdated(record)) wake.push(environmentKey(record.id));
  for (const one of failures) context.telemetry.failed(`environment:${record.name}`, one);
  if (before?.phase !== status.phase || before.summary !== status.summary) {
    context.telemetry.statusChanged(record.id, record.name, status);
    // Found again after a start, as it should be: no event in the life of the environment.
    if (before !== undefined || !settled || actions.length > 0)
      recordEvent(loop, 'status.changed', record, `${record.name}: ${[status.phase, status.summary].filter(Boolean).join(', ')}`);
  }
  report(loop, record, false, outcome);
  context.changed(record.id);
  const isUnfinished = failures.length > 0 || actions.some((action) => action.type !== 'wait' || isRemoving(action));
  const retryAfterMs = Math.max(0, ...failures.map((one) => one.retryAfterMs ?? 0));
  return { wake, lookAt: nextLook(record, draft?.lookAgainAt), ...(isUnfinished && !isStalled && { retryAfterMs }) };
};

const findingsOf = ({ decision, held, source }: EnvironmentRecord, { draft, ...outcome }: ObservedOutcome): Findings => ({
  ...outcome,
  notices: draft?.notices ?? [],
  remarks: draft?.remarks ?? [],
  staleConfiguration: draft?.staleConfiguration,
  images: draft?.images,
  components: draft?.components ?? [],
  wanted: decision.state !== 'unwanted',
  because: decision.because,
  held,
  generation: source?.commit ?? '',
});

/** Time alone ends some waits, and the life of an environment. */
const nextLook = ({ actions, decision, lifetime }: EnvironmentRecord, lookAgainAt: number | undefined): number | undefined => {
  const untils = actions.flatMap((action) =>
    action.type === 'wait' && action.until !== undefined ? [Date.parse(action.until)] : [],
  );
  const end = decision.state === 'wanted' ? lifetime?.expiry?.at : undefined;
  const times = [...untils, end, lookAgainAt].filter((time) => time !== undefined);
  return times.length === 0 ? undefined : Math.min(...times);
};

/** What it waits for wakes it: another component or environment that changes, another configuration, room, or an operator. */
const isAwaited = (action: Action): boolean =>
  action.type === 'wait' && ['reference.waiting', 'policy.full', 'plan.paused', 'plan.held'].includes(action.code);

const recordActions = (loop: Loop, record: EnvironmentRecord, results: readonly ActionResult[]): void => {
  for (const result of results) {
    const { action } = result;
    const fault = result.state === 'failed' ? result.failure : undefined;
    loop.context.telemetry.acted(record.id, record.name, action, fault);
    if (fault !== undefined || action.type === 'wait') continue;
    const type = action.type === 'destroy' ? 'component.removed' : 'component.applied';
    recordEvent(loop, type, record, `${action.type} ${action.component}: ${action.reason}`);
  }
};

const finishRemoval = (loop: Loop, record: EnvironmentRecord): Result => {
  const { context, records, references, admission } = loop;
  const wake = [...references.referrersOf(record).map(({ id }) => id), ...admission.leave(record.id)].map(environmentKey);
  references.refer(record, []);
  loop.imageMemory.forget(record.id);
  records.forget(record);
  if (record.observed !== undefined)
    recordEvent(loop, 'environment.removed', record, `${record.name} was removed: ${record.decision.because}`);
  records.update(record, { status: undefined, observed: undefined });
  report(loop, record, true);
  context.changed(record.id);
  return { wake };
};

export const recordEvent = ({ context }: Loop, type: EventType, record: EnvironmentRecord, message: string): void => {
  const { project, id: environment, name, ref, source } = record;
  const details = { name, source: sourceKey(ref), commit: source?.commit ?? null };
  context.record({ at: nowOf(context), type, project, environment, message, details });
};

const report = ({ context, records }: Loop, record: EnvironmentRecord, last: boolean, outcome?: ObservedOutcome): void => {
  const { decision, name, ref, project, id, lifetime } = record;
  const commit = record.source?.commit ?? record.reportedCommit;
  if (commit === undefined) return;
  const spec = decision.state === 'wanted' && decision.spec !== 'missing' ? decision.spec : undefined;
  records.update(record, { reportedCommit: commit, triggers: spec?.triggers ?? record.triggers });
  const expiresAt = lifetime?.expiry?.at;
  const view = composeView({
    ...record,
    url: context.urlOf(name),
    source: ref,
    commit,
    because: record.endedBecause ?? decision.because,
    failures: [...(outcome?.specFaults ?? []), ...(outcome?.failures ?? [])],
    resolved: outcome?.draft?.components ?? [],
    notes: decision.state === 'wanted' ? (decision.terms?.notes ?? []) : [],
    expiresAt: expiresAt === undefined ? null : new Date(expiresAt).toISOString(),
  });
  context.report({ project, environment: id, source: ref, commit, text: composeText(view), view, last });
};
