import { type Action, type EventType, failure, type ObservedEnvironment, type Reading, sourceKey } from '@eph/contract';
import type { ActionResult } from '../provider/apply.ts';
import { composeText } from '../report/plain-text.ts';
import { composeView } from '../report/view.ts';
import { type Findings, summarize } from '../status/summarize.ts';
import type { Admission } from './admission.ts';
import type { Draft, Remarks } from './draft.ts';
import type { EnvironmentRecord, Memory } from './memory.ts';
import type { Neighbours } from './neighbours.ts';
import { nowOf, type Wakes, type World } from './world.ts';

/** How a look at one environment ended: the input of its status. */
export type Outcome = Pick<Findings, 'observed' | 'actions' | 'failures' | 'specFaults'> &
  Partial<Remarks & Pick<Draft, 'components'>>;

/** From what was done to status and report: all that anybody sees of an environment. */
export class Outcomes {
  readonly #world: World;
  readonly #memory: Memory;
  readonly #wakes: Wakes;
  readonly #admission: Admission;
  readonly #neighbours: Neighbours;

  constructor(world: World, memory: Memory, wakes: Wakes, admission: Admission, neighbours: Neighbours) {
    this.#world = world;
    this.#memory = memory;
    this.#wakes = wakes;
    this.#admission = admission;
    this.#neighbours = neighbours;
  }

  /** The one place where the outcome of a look becomes status, log, event, report and the time of the next look. */
  conclude(known: EnvironmentRecord, outcome: Outcome): void {
    const before = known.status;
    this.#memory.project(known.project).verified = false;
    known.observed = outcome.observed;
    if (known.shownMark !== known.observed?.mark)
      for (const other of this.#neighbours.referrersOf(known)) this.#wakes.environment(other.id);
    known.shownMark = known.observed?.mark;
    known.actions = outcome.actions;
    const name = outcome.observed?.identity.name;
    if (name !== undefined && name !== known.name) this.#memory.rename(known, name);
    const { decision, held } = known;
    const findings: Findings = {
      ...outcome,
      notices: outcome.notices ?? [],
      staleConfiguration: outcome.staleConfiguration,
      wanted: decision.state !== 'unwanted',
      because: decision.because,
      held,
      generation: known.source?.commit ?? '',
    };
    known.status = summarize(findings, before, nowOf(this.#world));
    const stalled = outcome.failures.length > 0 && outcome.failures.every((one) => one.disposition === 'stall');
    known.settled = stalled || (outcome.failures.length === 0 && outcome.actions.every(isAwaited));
    const unfinished = outcome.failures.length > 0 || outcome.actions.some((action) => action.type !== 'wait');
    if (unfinished && !stalled) this.#wakes.retry(known.id, Math.max(0, ...outcome.failures.map((one) => one.retryAfterMs ?? 0)));
    else this.#wakes.calm(known.id);
    const untils = outcome.actions.flatMap((action) =>
      action.type === 'wait' && action.until !== undefined ? [Date.parse(action.until)] : [],
    );
    const end = known.decision.state === 'wanted' ? known.expiry?.expiry?.at : undefined;
    if (end !== undefined) untils.push(end);
    if (untils.length > 0) this.#wakes.later(known.id, Math.max(0, Math.min(...untils) - this.#world.clock.now()));
    for (const one of outcome.failures) this.#world.telemetry.failed(`environment:${known.name}`, one);
    if (before?.phase !== known.status.phase || before.summary !== known.status.summary) {
      this.#world.telemetry.statusChanged(known.id, known.name, known.status);
      // Found again after a start, as it should be: that is no event in the life of the environment.
      const foundAgain = before === undefined && known.settled && outcome.actions.length === 0;
      if (!foundAgain)
        this.record(
          'status.changed',
          known,
          `${known.name}: ${known.status.phase}${known.status.summary === '' ? '' : `, ${known.status.summary}`}`,
        );
    }
    this.#report(known, false, outcome);
    this.#world.changed(known.id);
  }

  /** Says what was done. */
  account(known: EnvironmentRecord, results: readonly ActionResult[]): void {
    for (const result of results) {
      const fault = result.state === 'failed' ? result.failure : undefined;
      this.#world.telemetry.acted(known.id, known.name, result.action, fault);
      if (fault !== undefined || result.action.type === 'wait') continue;
      const type = result.action.type === 'destroy' ? 'component.removed' : 'component.applied';
      this.record(type, known, `${result.action.type} ${result.action.component}: ${result.action.reason}`);
    }
  }

  farewell(known: EnvironmentRecord): void {
    const existed = known.observed !== undefined;
    for (const other of this.#neighbours.referrersOf(known)) this.#wakes.environment(other.id);
    this.#neighbours.refer(known, []);
    for (const waiting of this.#admission.leave(known.id)) this.#wakes.environment(waiting);
    this.#memory.forget(known);
    this.#memory.project(known.project).verified = false;
    this.#wakes.calm(known.id);
    if (existed) this.record('environment.removed', known, `${known.name} was removed: ${known.decision.because}`);
    known.status = undefined;
    known.observed = undefined;
    this.#report(known, true);
    this.#world.changed(known.id);
  }

  record(type: EventType, known: EnvironmentRecord, message: string): void {
    const details = { name: known.name, source: sourceKey(known.ref), commit: known.source?.commit ?? null };
    this.#world.record({ at: nowOf(this.#world), type, project: known.project, environment: known.id, message, details });
  }

  #report(known: EnvironmentRecord, last: boolean, outcome?: Outcome): void {
    const commit = known.source?.commit ?? known.reportedCommit;
    if (commit === undefined) return;
    known.reportedCommit = commit;
    const { decision } = known;
    if (decision.state === 'wanted' && decision.spec !== 'missing') known.triggers = decision.spec.triggers ?? known.triggers;
    const expiresAt = known.expiry?.expiry?.at;
    const view = composeView({
      name: known.name,
      url: this.#world.urlOf(known.name),
      source: known.ref,
      commit,
      status: known.status,
      because: known.farewell ?? decision.because,
      observed: known.observed,
      actions: known.actions,
      failures: [...(outcome?.specFaults ?? []), ...(outcome?.failures ?? [])],
      resolved: outcome?.components ?? [],
      notes: decision.state === 'wanted' ? (decision.terms?.notes ?? []) : [],
      triggers: known.triggers,
      expiresAt: expiresAt === undefined ? null : new Date(expiresAt).toISOString(),
    });
    const text = composeText(view);
    this.#world.report({ project: known.project, environment: known.id, source: known.ref, commit, text, view, last });
  }
}

/** What it waits for wakes it: another component or environment that looks different, the platform that says something else, room. */
const isAwaited = (action: Action): boolean =>
  action.type === 'wait' && ['reference.waiting', 'policy.full', 'plan.paused'].includes(action.code);

/** Nothing that is missing from it is merely unread. */
export const isWhole = (reading: Reading<ObservedEnvironment>): boolean =>
  reading.complete && reading.items.every((one) => one.complete);

export const unreadable = (reading: Reading<ObservedEnvironment>, observed: ObservedEnvironment | undefined): Outcome => ({
  observed,
  actions: [],
  failures:
    reading.faults.length > 0
      ? reading.faults
      : [failure('provider.incomplete', 'part of it could not be read; it is left as it is')],
  specFaults: [],
});
