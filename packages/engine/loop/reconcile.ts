import {
  type Action,
  type ConfigurationView,
  type EnvironmentId,
  type EnvironmentName,
  EphError,
  type Failure,
  failure,
  isSameSource,
  type ObservedEnvironment,
  type Plan,
  type ProjectId,
  type Reading,
  type Source,
  toFailure,
} from '@eph/contract';
import { printSource } from '../desired/printed-names.ts';
import { planDestroy } from '../plan/diff.ts';
import { explain } from '../plan/explain.ts';
import { type ActionResult, apply } from '../provider/apply.ts';
import { observe } from '../provider/observe.ts';
import type { Scope } from '../provider/provider.ts';
import type { Forge } from '../source/forge.ts';
import { isSameFor } from '../values/configuration.ts';
import { limitDuration } from '../values/policy.ts';
import { Admission } from './admission.ts';
import { type Draft, Drafts, type ExplainedValues } from './draft.ts';
import { describeExpiry, type Expiry, findExpiry } from './expiry.ts';
import { type Considered, Judge } from './judge.ts';
import type { Decision, EnvironmentRecord, Memory } from './memory.ts';
import { chooseNewName } from './names.ts';
import { Neighbours } from './neighbours.ts';
import { isWhole, Outcomes, unreadable } from './outcome.ts';
import { type Survey, Surveys } from './survey.ts';
import { projectOf, type Wakes, type World } from './world.ts';

/**
 * Git says what should exist, providers say what does exist, Eph makes them equal and tells people.
 *
 * `pass` and `project` only find out who needs a closer look; `environment` looks at one, acts, and says how it went. Every look
 * starts from a fresh reading, so any of them may be cut off anywhere and simply be made again.
 */
export class Reconciler {
  readonly #world: World;
  readonly #memory: Memory;
  readonly #wakes: Wakes;
  readonly #judge: Judge;
  readonly #surveys: Surveys;
  readonly #drafts: Drafts;
  readonly #outcomes: Outcomes;
  /** Of the last pass, if it was complete. */
  #passMark: string | undefined;
  /** When the last pass began. */
  #passAt = Number.NEGATIVE_INFINITY;
  /** The first reading of the configuration: until it is over, nobody knows how anything should be. */
  #configured: Promise<void> | undefined;
  /** What the platform said to each project when its environments were last asked whether it concerns them. */
  readonly #told = new Map<ProjectId, ConfigurationView>();
  readonly #neighbours: Neighbours;
  /** Comments whose writers know that they were seen; losing it shows them again. */
  readonly #acknowledged = new Set<string>();

  constructor(world: World, memory: Memory, wakes: Wakes) {
    this.#world = world;
    this.#memory = memory;
    this.#wakes = wakes;
    const neighbours = new Neighbours(memory, world.ownerOf);
    const admission = new Admission(memory, (project) => world.projects.get(project)?.team);
    this.#neighbours = neighbours;
    this.#judge = new Judge(world, memory);
    this.#outcomes = new Outcomes(world, memory, wakes, admission, neighbours);
    this.#surveys = new Surveys(world, memory, wakes, this.#judge, this.#outcomes);
    this.#drafts = new Drafts(world, { admission, neighbours, untilConfigured: (signal) => this.#untilConfigured(signal) });
  }

  /** Looks at everything that exists at once and wakes every project with its share. */
  async pass(signal: AbortSignal): Promise<void> {
    this.#passAt = this.#world.clock.now();
    const observed = await this.#observe({ all: true }, signal);
    const isAsBefore = observed.complete && observed.mark !== undefined && observed.mark === this.#passMark;
    this.#passMark = observed.complete ? observed.mark : undefined;
    if (isAsBefore && [...this.#world.projects.keys()].every((id) => this.#memory.project(id).verified)) {
      for (const id of this.#world.projects.keys()) {
        this.#memory.putSnapshot(id, 'as before');
        this.#wakes.project(id);
      }
      return;
    }
    if (observed.complete && !this.#isSurveyed()) this.#memory.learnNames(observed.items);
    const shares = new Map<ProjectId, ObservedEnvironment[]>();
    for (const id of this.#world.projects.keys()) shares.set(id, []);
    const strays: ObservedEnvironment[] = [];
    // Listings come project by project, mostly: one look-up serves many.
    let share = strays;
    let shareOf: ProjectId | undefined;
    for (const environment of observed.items) {
      const { project } = environment.identity;
      if (project !== shareOf) share = shares.get(project) ?? strays;
      shareOf = project;
      share.push(environment);
    }
    for (const [id, items] of shares) {
      this.#memory.putSnapshot(id, { ...observed, items });
      this.#wakes.project(id);
    }
    this.#surveys.holdStrays(strays);
  }

  /** Reads what the platform says and wakes every environment that it concerns. */
  async configuration(signal: AbortSignal): Promise<void> {
    const { faults } = await this.#world.configuration.refresh(signal);
    if (signal.aborted) return;
    for (const fault of faults) this.#world.telemetry.failed('configuration', fault);
    for (const id of this.#world.projects.keys()) this.#tell(id);
    if (faults.some((fault) => fault.disposition !== 'stall')) this.#wakes.retryConfiguration();
    else this.#wakes.calmConfiguration();
  }

  /** Reads what Git says about one project and wakes every environment that is not as it should be. */
  async project(id: ProjectId, signal: AbortSignal): Promise<void> {
    const memory = this.#memory.project(id);
    const snapshot = this.#memory.takeSnapshot(id);
    const isAsBefore = snapshot === 'as before' && memory.verified;
    const isListed = snapshot !== undefined && snapshot !== 'as before';
    const isOfPass = snapshot !== undefined && memory.wokenAt < this.#passAt;
    const observed = isListed ? snapshot : isAsBefore ? undefined : await this.#observe({ project: id }, signal);
    const sources = await this.#forgeOf(id).sources(signal, isOfPass ? this.#passAt : undefined);
    const decided = await this.#judge.decideAll(id, sources, signal);
    if (signal.aborted) return;
    if (observed === undefined) {
      if (memory.verified && sources.complete && decided === memory.decided) this.#wakes.calmProject(id);
      // Something moved after all: look again, this time at everything.
      else this.#wakeAfresh(id);
    } else if (this.#surveys.isAtRest(id, sources, decided, observed)) {
      memory.verified = isListed;
      this.#wakes.calmProject(id);
    } else this.#surveys.absorb(id, this.#surveys.compute(id, sources, decided, observed));
  }

  /** Looks at one environment, makes it what it should be, and says how it went. */
  async environment(id: EnvironmentId, signal: AbortSignal): Promise<void> {
    const known = this.#memory.get(id);
    if (known === undefined) return;
    const { decision } = known;
    const reading = await this.#observe({ environment: id }, signal);
    const seen = reading.items[0];
    if (signal.aborted) return;
    if (!isWhole(reading)) return this.#outcomes.conclude(known, unreadable(reading, seen ?? known.observed));
    // Shown before anything is done about it: traffic must have moved to a new version before the old one is stopped.
    known.observed = seen;
    this.#memory.project(known.project).verified = false;
    this.#world.changed(id);
    if (decision.state === 'unwanted') await this.#remove(known, decision, seen, signal);
    else if (decision.state === 'wanted') await this.#update(known, decision, seen, signal);
    else this.#outcomes.conclude(known, { observed: seen, actions: [], failures: [decision.fault], specFaults: [] });
  }

  /** What the next pass would do: read afresh, nothing done. */
  async dryRun(signal: AbortSignal): Promise<{ readonly plans: readonly Plan[]; readonly faults: readonly Failure[] }> {
    const plans: Plan[] = [];
    const faults: Failure[] = [];
    for (const id of this.#world.projects.keys()) {
      const observed = await this.#observe({ project: id }, signal);
      const sources = await this.#forgeOf(id).sources(signal);
      const survey = this.#surveys.compute(id, sources, await this.#judge.decideAll(id, sources, signal), observed);
      faults.push(...survey.sources.faults, ...survey.observed.faults);
      plans.push(...(await this.#planSurvey(survey, signal)));
    }
    return { plans: plans.filter((plan) => plan.actions.length > 0), faults };
  }

  /** An environment as its providers see it this moment, for whoever wants to know how much it uses; nothing follows from it. */
  async look(id: EnvironmentId, signal: AbortSignal): Promise<ObservedEnvironment | undefined> {
    const { items } = await this.#observe({ environment: id }, signal);
    return items[0];
  }

  explain(id: EnvironmentId): readonly string[] | undefined {
    const known = this.#memory.get(id);
    if (known === undefined) return undefined;
    return explain({
      sourceName: printSource(known.ref),
      commit: known.source?.commit,
      decision: known.decision.state,
      because: known.decision.because,
      exists: known.observed !== undefined,
      held: known.held,
      actions: known.actions,
      status: known.status,
    });
  }

  /** An operator lets go what the deletion guard holds. */
  release(id: EnvironmentId): boolean {
    const known = this.#memory.get(id);
    if (known === undefined || !known.held) return false;
    this.#outcomes.record('deletion.released', known, `the removal of ${known.name} was released`);
    if (this.#world.projects.has(known.project)) {
      this.#memory.project(known.project).released.add(id);
      this.#wakeAfresh(known.project);
    } else {
      known.held = false;
      known.permit = true;
      this.#wakes.environment(id);
    }
    return true;
  }

  /** Where the values of an environment come from. Throws where that cannot be said. */
  explainValues(id: EnvironmentId, signal: AbortSignal): Promise<ExplainedValues> {
    return this.#drafts.explainValues(this.#memory.get(id), signal);
  }

  /** What Git says about a source as it is, or as it would be; nothing follows from it. */
  consider(source: Source, signal: AbortSignal): Promise<Considered> {
    return this.#judge.consider(source, signal);
  }

  async #update(
    known: EnvironmentRecord,
    decision: Decision & { state: 'wanted' },
    seen: ObservedEnvironment | undefined,
    signal: AbortSignal,
  ): Promise<void> {
    const { source } = known;
    if (source === undefined) throw new EphError('internal', `${known.name} is wanted by no source`);
    // A listing from before its last removal may have brought back a name that was given to another since.
    if (seen === undefined && this.#memory.isNameTaken(known.name, known.id))
      this.#memory.rename(known, chooseNewName(this.#world, this.#memory, known.id, source, decision));
    const draft = await this.#drafts.draft(known.name, source, decision, seen, signal);
    if (signal.aborted) return;
    known.told = draft.told;
    this.#neighbours.refer(known, draft.namespaces);
    await this.#acknowledge(known, signal);
    const expiry = await this.#expiryOf(known, source, decision, signal);
    if (signal.aborted) return;
    if (expiry !== undefined && expiry.at <= this.#world.clock.now())
      return await this.#expire(known, expiry, draft, seen, signal);
    const actions = await this.#withoutDoubtfulRemovals(known, draft.actions, signal);
    const results = await apply({ ...draft, actions, providers: this.#world.providers }, signal);
    this.#outcomes.account(known, results);
    if (signal.aborted) return;
    if (results.length === 0) {
      this.#outcomes.conclude(known, { ...draft, observed: seen });
      return this.#hear(known);
    }
    const after = await this.#observe({ environment: known.id }, signal);
    if (signal.aborted) return;
    if (!isWhole(after)) return this.#outcomes.conclude(known, unreadable(after, seen));
    const left = await this.#drafts.draft(known.name, source, decision, after.items[0], signal);
    this.#outcomes.conclude(known, { ...left, observed: after.items[0], failures: [...failuresOf(results), ...left.failures] });
    this.#hear(known);
  }

  /** When it has lived long enough; asked of the forge again only when something about it changed. */
  async #expiryOf(
    known: EnvironmentRecord,
    source: Source,
    { spec, terms }: Decision & { state: 'wanted' },
    signal: AbortSignal,
  ): Promise<Expiry | undefined> {
    const { pulls } = this.#forgeOf(known.project);
    const told = this.#drafts.configurationOf(known.project);
    if (pulls === undefined || source.pull === undefined || spec === 'missing' || !spec.ok) return undefined;
    const asked = terms?.kept === true ? undefined : (terms?.ttlSeconds ?? spec.spec.environment.ttl);
    const ttlSeconds = limitDuration('layers' in told ? told.policies : [], 'max_ttl', asked);
    const of = JSON.stringify([ttlSeconds, source.pull.labels, source.pull.touched]);
    if (known.expiry?.of === of) return known.expiry.expiry;
    try {
      const expiry = await findExpiry(source, spec.triggers, ttlSeconds, (ref, label) => pulls.labelledAt(ref, label, signal));
      known.expiry = { of, expiry };
    } catch (error) {
      // Not knowing when it was asked for, nobody may say that its time is over.
      this.#world.telemetry.failed(`environment:${known.name}`, toFailure(error));
      return known.expiry?.expiry;
    }
    return known.expiry.expiry;
  }

  /** Takes away what asks for it; Git then says that it goes. */
  async #expire(
    known: EnvironmentRecord,
    expiry: Expiry,
    draft: Draft,
    seen: ObservedEnvironment | undefined,
    signal: AbortSignal,
  ): Promise<void> {
    const because = describeExpiry(expiry);
    const failures: Failure[] = [];
    for (const label of expiry.labels)
      try {
        await this.#forgeOf(known.project).pulls?.removeLabel(known.ref, label, signal);
      } catch (error) {
        failures.push(toFailure(error));
      }
    if (signal.aborted) return;
    if (failures.length === 0) {
      if (known.farewell === undefined) this.#outcomes.record('environment.expired', known, `${known.name}: ${because}`);
      known.farewell = because;
      this.#wakeAfresh(known.project);
    }
    const actions: readonly Action[] = [{ type: 'wait', code: 'plan.expired', reason: because }];
    this.#outcomes.conclude(known, { ...draft, observed: seen, actions, failures });
  }

  /** Asks the environments of a project whether what the platform says now concerns them. */
  #tell(id: ProjectId): void {
    const told = this.#drafts.configurationOf(id);
    if (this.#told.get(id) === told) return;
    this.#told.set(id, told);
    for (const known of this.#memory.project(id).environments.values()) this.#hear(known);
  }

  #hear(known: EnvironmentRecord): void {
    const { told: before, decision } = known;
    const told = this.#drafts.configurationOf(known.project);
    if (before === undefined || before === told) return;
    const spec =
      decision.state === 'wanted' && decision.spec !== 'missing' && decision.spec.ok ? decision.spec.components : undefined;
    if (isSameFor(spec, before, told)) {
      known.told = told;
      return;
    }
    known.settled = false;
    this.#wakes.environment(known.id);
  }

  async #untilConfigured(signal: AbortSignal): Promise<void> {
    this.#configured ??= this.configuration(signal);
    await this.#configured;
    // Cut off, it has read nothing.
    if (signal.aborted) this.#configured = undefined;
  }

  /** Shows whoever asked with a comment that it was seen. */
  async #acknowledge({ source, name, decision }: EnvironmentRecord, signal: AbortSignal): Promise<void> {
    const command = decision.state === 'wanted' ? decision.terms?.command : undefined;
    if (source === undefined || command === undefined || this.#acknowledged.has(command.id)) return;
    try {
      await this.#forgeOf(source.project).pulls?.acknowledge(source.ref, command, signal);
      this.#acknowledged.add(command.id);
    } catch (error) {
      // A courtesy: the environment does not wait for it.
      this.#world.telemetry.failed(`environment:${name}`, toFailure(error));
    }
  }

  /** Nothing is removed, not even a component, on the strength of a commit that is no longer the source's. */
  async #withoutDoubtfulRemovals(
    known: EnvironmentRecord,
    actions: readonly Action[],
    signal: AbortSignal,
  ): Promise<readonly Action[]> {
    if (!actions.some((action) => action.type === 'destroy')) return actions;
    const answer = await this.#forgeOf(known.project).source(known.ref, signal);
    if (answer.state === 'present' && answer.source.commit === known.head) return actions;
    return actions.filter((action) => action.type !== 'destroy');
  }

  async #remove(
    known: EnvironmentRecord,
    decision: Decision & { state: 'unwanted' },
    seen: ObservedEnvironment | undefined,
    signal: AbortSignal,
  ): Promise<void> {
    if (seen === undefined || seen.components.length === 0) return this.#outcomes.farewell(known);
    const waiting = (reason: string, failures: readonly Failure[] = []): void =>
      this.#outcomes.conclude(known, {
        observed: seen,
        actions: [{ type: 'wait', code: 'plan.held', reason }],
        failures,
        specFaults: [],
      });
    if (!known.permit) return waiting(known.held ? 'an operator must release it' : 'the next complete pass decides');
    const doubt = await this.#doubtAboutRemoval(known, signal);
    if (signal.aborted) return;
    if (doubt !== undefined) return waiting(doubt.message, doubt.disposition === 'retry' ? [doubt] : []);
    const actions = planDestroy(seen, decision.because);
    const results = await apply({ identity: seen.identity, actions, components: [], providers: this.#world.providers }, signal);
    this.#outcomes.account(known, results);
    if (signal.aborted) return;
    const after = await this.#observe({ environment: known.id }, signal);
    if (signal.aborted) return;
    if (!isWhole(after)) return this.#outcomes.conclude(known, unreadable(after, seen));
    const left = after.items[0];
    if (left === undefined || left.components.length === 0) return this.#outcomes.farewell(known);
    this.#outcomes.conclude(known, {
      observed: left,
      actions: planDestroy(left, decision.because),
      failures: failuresOf(results),
      specFaults: [],
    });
  }

  /** The last look before a removal: the one source, read past every cache. */
  async #doubtAboutRemoval(known: EnvironmentRecord, signal: AbortSignal): Promise<Failure | undefined> {
    if (!this.#world.projects.has(known.project)) return undefined;
    const answer = await this.#forgeOf(known.project).source(known.ref, signal);
    if (answer.state === 'gone') return undefined;
    if (answer.state === 'unknown') return answer.fault;
    if (known.source !== undefined && isSameSource(answer.source, known.source)) return undefined;
    // Not woken from here: a forge that says one thing in the list and another about the one source would be asked in a circle.
    known.permit = false;
    return failure('plan.superseded', `${printSource(known.ref)} is back`);
  }

  async #planSurvey(survey: Survey, signal: AbortSignal): Promise<readonly Plan[]> {
    const observed = new Map(survey.observed.items.map((one) => [one.identity.id, one]));
    const plans: Plan[] = [];
    for (const { environment, made: source, decision } of survey.decided.values()) {
      if (environment === undefined) continue;
      const seen = observed.get(environment);
      if (seen === undefined && decision.state === 'unknown') continue;
      const name =
        seen?.identity.name ??
        this.#memory.get(environment)?.name ??
        chooseNewName(this.#world, this.#memory, environment, source, decision);
      plans.push({
        environment,
        name,
        wanted: true,
        because: decision.because,
        actions: await this.#planWanted(name, source, decision, seen, signal),
      });
    }
    for (const { observed: seen, decision } of survey.surplus) {
      const { id, name } = seen.identity;
      const permitted = survey.guard.permitted.has(id);
      const reason = survey.guard.held.has(id) ? 'held until an operator releases it' : 'the readings are incomplete';
      const actions: readonly Action[] = permitted
        ? planDestroy(seen, decision.because)
        : [{ type: 'wait', code: 'plan.held', reason }];
      plans.push({ environment: id, name, wanted: false, because: decision.because, actions });
    }
    return plans;
  }

  async #planWanted(
    name: EnvironmentName,
    source: Source,
    decision: Decision,
    seen: ObservedEnvironment | undefined,
    signal: AbortSignal,
  ): Promise<readonly Action[]> {
    if (decision.state !== 'wanted') return [{ type: 'wait', code: 'spec.unreadable', reason: decision.because }];
    const draft = await this.#drafts.draft(name, source, decision, seen, signal);
    const faults = draft.specFaults.map((one): Action => ({ type: 'wait', code: one.code, reason: one.message }));
    return [...faults, ...draft.actions];
  }

  /** Every project has been looked at completely since the start, so every name in use belongs to somebody known. */
  #isSurveyed(): boolean {
    return this.#memory.knowsNames && [...this.#world.projects.keys()].every((id) => this.#memory.project(id).surveyed);
  }

  /** What was read before this moment is no answer. */
  #wakeAfresh(id: ProjectId): void {
    this.#memory.project(id).wokenAt = this.#world.clock.now();
    this.#wakes.project(id);
  }

  #observe(scope: Scope, signal: AbortSignal): Promise<Reading<ObservedEnvironment>> {
    return observe(this.#world.providers.values(), scope, signal);
  }

  #forgeOf(id: ProjectId): Forge {
    return projectOf(this.#world, id).forge;
  }
}

const failuresOf = (results: readonly ActionResult[]): readonly Failure[] =>
  results.flatMap((result) => (result.state === 'failed' ? [result.failure] : []));
