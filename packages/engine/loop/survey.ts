import {
  type EnvironmentId,
  type EnvironmentName,
  failure,
  type ObservedEnvironment,
  type ProjectId,
  type Reading,
  type Source,
  type SourceRef,
} from '@eph/contract';
import { printSource } from '../desired/printed-names.ts';
import type { GuardAnswer } from '../plan/guard.ts';
import type { Judge } from './judge.ts';
import {
  createRecord,
  type Decided,
  type Decision,
  type Decisions,
  type EnvironmentRecord,
  type Memory,
  unwanted,
} from './memory.ts';
import { chooseNewName } from './names.ts';
import type { Outcomes } from './outcome.ts';
import type { Wakes, World } from './world.ts';

/** One look at a project: what Git says, what exists, and what follows. */
export interface Survey {
  readonly sources: Reading<Source>;
  readonly observed: Reading<ObservedEnvironment>;
  readonly decided: Decisions;
  /** Exist, and no source wants them. */
  readonly surplus: readonly Surplus[];
  readonly guard: GuardAnswer;
}

interface Surplus {
  readonly observed: ObservedEnvironment;
  readonly decision: Decision;
  /** Still there, but no trigger wants it; absent when the source itself is gone. */
  readonly source: Source | undefined;
}

/** What a look at a whole project means for its environments: who is expected, who is dismissed, who needs a closer look. */
export class Surveys {
  readonly #world: World;
  readonly #memory: Memory;
  readonly #wakes: Wakes;
  readonly #judge: Judge;
  readonly #outcomes: Outcomes;
  /** Numbers the looks at projects, so that each can tell what it has seen itself. */
  #looks = 0;

  constructor(world: World, memory: Memory, wakes: Wakes, judge: Judge, outcomes: Outcomes) {
    this.#world = world;
    this.#memory = memory;
    this.#wakes = wakes;
    this.#judge = judge;
    this.#outcomes = outcomes;
  }

  /**
   * Nothing has changed since a look that left nothing to do: the path an idle pass takes. It walks the listing side by side with what
   * is known; looking each environment up by its id would cost several times as much once there are more than fit in a cache.
   */
  isAtRest(id: ProjectId, sources: Reading<Source>, decided: Decisions, observed: Reading<ObservedEnvironment>): boolean {
    const { atRest, decided: before, environments } = this.#memory.project(id);
    if (atRest === undefined || decided !== before || !sources.complete || !observed.complete) return false;
    if (observed.items.length !== atRest.length || environments.size !== atRest.length) return false;
    const isUnchanged = (seen: ObservedEnvironment, index: number): boolean => {
      const known = atRest[index];
      return known?.settled === true && known.id === seen.identity.id && known.observed?.mark === seen.mark;
    };
    return observed.items.every(isUnchanged);
  }

  compute(id: ProjectId, sources: Reading<Source>, decided: Decisions, observed: Reading<ObservedEnvironment>): Survey {
    const surplus: Surplus[] = [];
    for (const environment of observed.items) {
      const { source: ref } = environment.identity;
      const wish = decided.get(ref);
      if (wish === undefined && sources.complete)
        surplus.push({ observed: environment, decision: unwanted(`${printSource(ref)} is gone`), source: undefined });
      else if (wish?.decision.state === 'unwanted') surplus.push({ observed: environment, ...wish });
    }
    const memory = this.#memory.project(id);
    const guard = this.#world.guard({
      candidates: surplus.map((one) => one.observed.identity.id),
      total: observed.items.length,
      vanished: sources.items.length === 0,
      complete: sources.complete && observed.complete,
      held: new Set(surplus.map((one) => one.observed.identity.id).filter((one) => memory.environments.get(one)?.held)),
      released: memory.released,
      first: !memory.surveyed,
      bound: this.#world.deletionBound,
    });
    return { sources, observed, decided, surplus, guard };
  }

  /** Takes a survey over into memory and wakes whoever needs a closer look. It awaits nothing, so nothing comes between. */
  absorb(id: ProjectId, survey: Survey): void {
    const memory = this.#memory.project(id);
    const complete = survey.sources.complete && survey.observed.complete;
    this.#looks += 1;
    memory.verified = false;
    memory.faults = [...survey.sources.faults, ...survey.observed.faults];
    this.#world.telemetry.projectRead(id, memory.faults);
    const listed: EnvironmentRecord[] = [];
    for (const seen of survey.observed.items) {
      const decided = survey.decided.get(seen.identity.source);
      const known =
        decided?.environment === undefined
          ? this.#memory.get(seen.identity.id)
          : this.#expect(decided.environment, decided, seen, survey);
      if (known === undefined) continue;
      known.seenInLook = this.#looks;
      listed.push(known);
    }
    let doubtful = false;
    for (const decided of survey.decided.values()) {
      if (decided.decision.state === 'unknown' && !isFinal(decided.decision)) doubtful = true;
      if (decided.environment === undefined || this.#memory.get(decided.environment)?.seenInLook === this.#looks) continue;
      this.#expect(decided.environment, decided, undefined, survey);
    }
    for (const surplus of survey.surplus) this.#dismiss(surplus, survey.guard);
    this.#reviseUndecided(id, survey);
    memory.decided = survey.decided;
    // Without all names, what is new has not even been met.
    const isDone = complete && this.#memory.knowsNames && !doubtful && survey.surplus.length === 0;
    memory.atRest = isDone ? listed : undefined;
    if (complete) {
      memory.surveyed = true;
      this.#judge.retain(
        id,
        survey.decided.values().map(({ made }) => made),
      );
    }
    if (complete && !doubtful) this.#wakes.calmProject(id);
    else this.#wakes.retryProject(id);
  }

  /** Environments of projects that are not configured here: somebody may have made a mistake, so only an operator lets them go. */
  holdStrays(strays: readonly ObservedEnvironment[]): void {
    const seen = new Set(strays.map((stray) => stray.identity.id));
    for (const stray of strays) {
      const { id, project, source: ref, name } = stray.identity;
      if (this.#memory.get(id) !== undefined) continue;
      const decision = unwanted(`project ${project} is not configured here`);
      this.#meet(id, project, ref, name, decision, undefined, stray).held = true;
      this.#wakes.environment(id);
    }
    for (const known of this.#memory.environments())
      if (!this.#world.projects.has(known.project) && !seen.has(known.id)) this.#wakes.environment(known.id);
  }

  /** A source wants, or may want, this environment. */
  #expect(
    id: EnvironmentId,
    { source: { commit: head }, made: source, decision }: Decided,
    seen: ObservedEnvironment | undefined,
    survey: Survey,
  ): EnvironmentRecord | undefined {
    const known = this.#memory.get(id);
    if (known === undefined) {
      // Until every provider has answered, it may exist under a name that is still to be read back, or its name may be another's.
      const complete = survey.observed.complete && this.#memory.knowsNames;
      if (seen === undefined && (decision.state === 'unknown' || !complete)) return undefined;
      const name = seen?.identity.name ?? chooseNewName(this.#world, this.#memory, id, source, decision);
      const met = this.#meet(id, source.project, source.ref, name, decision, source, seen);
      met.head = head;
      if (seen === undefined) this.#outcomes.record('environment.wanted', met, `${name} is wanted: ${decision.because}`);
      this.#wakes.environment(id);
      return met;
    }
    if (decision.state === 'unknown' && !isFinal(decision) && known.decision.state === 'wanted') return known;
    if (known.source?.commit !== source.commit || !isSameWish(known.decision, decision)) {
      known.settled = false;
      this.#wakes.supersede(id);
    }
    if (decision.state === 'wanted' && known.decision.state !== 'wanted') known.farewell = undefined;
    known.source = source;
    known.head = head;
    known.decision = decision;
    known.held = false;
    known.permit = false;
    const { released } = this.#memory.project(known.project);
    if (released.size > 0) released.delete(id);
    if (!known.settled || known.observed?.mark !== seen?.mark) this.#wakes.environment(id);
    return known;
  }

  /** It exists, and no source wants it. */
  #dismiss({ observed, decision, source }: Surplus, guard: GuardAnswer): void {
    const { id, project, source: ref, name } = observed.identity;
    const known = this.#memory.get(id) ?? this.#meet(id, project, ref, name, decision, source, observed);
    if (known.decision.state !== 'unwanted') this.#wakes.supersede(id);
    const wasHeld = known.held;
    known.source = source;
    known.decision = decision;
    known.held = guard.held.has(id);
    known.permit = guard.permitted.has(id);
    if (known.held && !wasHeld)
      this.#outcomes.record('deletion.held', known, `the removal of ${known.name} is held: ${decision.because}`);
    if (known.permit || known.held !== wasHeld || known.status?.phase !== 'Removing') this.#wakes.environment(id);
  }

  /** What Git said nothing about this time: with an incomplete reading that means nothing, with a complete one it is gone. */
  #reviseUndecided(id: ProjectId, survey: Survey): void {
    for (const known of this.#memory.project(id).environments.values()) {
      const isListed = known.seenInLook === this.#looks;
      const decided = isListed ? undefined : survey.decided.get(known.ref);
      if (isListed || decided?.environment !== undefined) continue;
      known.permit = false;
      if (!survey.sources.complete || !survey.observed.complete) continue;
      known.decision = decided?.decision ?? unwanted(`${printSource(known.ref)} is gone`);
      this.#wakes.supersede(known.id);
      this.#wakes.environment(known.id);
    }
    if (survey.sources.complete) return;
    const fault = survey.sources.faults[0] ?? failure('forge.incomplete', 'Git could not be read completely');
    for (const environment of survey.observed.items) {
      const { id: environmentId, project, source: ref, name } = environment.identity;
      const known = this.#memory.get(environmentId);
      if (known !== undefined) known.permit = false;
      else if (survey.decided.get(ref) === undefined) {
        const doubt: Decision = { state: 'unknown', because: `Git could not be read: ${fault.message}`, fault };
        this.#meet(environmentId, project, ref, name, doubt, undefined, environment);
        this.#wakes.environment(environmentId);
      }
    }
  }

  #meet(
    id: EnvironmentId,
    project: ProjectId,
    ref: SourceRef,
    name: EnvironmentName,
    decision: Decision,
    source: Source | undefined,
    observed: ObservedEnvironment | undefined,
  ): EnvironmentRecord {
    const known = createRecord({ id, project, ref, name, decision, source, observed });
    this.#memory.remember(known);
    return known;
  }
}

/** Reading again will not help; a new commit will. */
const isFinal = ({ fault }: Decision & { state: 'unknown' }): boolean =>
  fault.disposition === 'stall' && fault.code !== 'forge.refused';

/** Whether two decisions ask for the same, on the same terms. */
const isSameWish = (a: Decision, b: Decision): boolean =>
  a === b ||
  (a.state === b.state &&
    (a.state !== 'wanted' ||
      b.state !== 'wanted' ||
      (a.spec === b.spec && (a.terms === b.terms || JSON.stringify(a.terms) === JSON.stringify(b.terms)))));
