import {
  type Action,
  type CommitSha,
  type ConfigurationView,
  type ConfigView,
  defaultTriggers,
  type EnvironmentId,
  type EnvironmentName,
  EphError,
  type Event,
  type EventType,
  type Failure,
  type Fault,
  failure,
  type Identity,
  isSameSource,
  type ObservedEnvironment,
  type ParsedSpec,
  type Plan,
  type ProjectId,
  type ProviderName,
  printFault,
  type Reading,
  type ResolvedComponent,
  type ServerVariables,
  type Source,
  type SourceRef,
  sourceKey,
  type Trigger,
  toFailure,
} from '@eph/contract';
import { type ForkMode, judgeFork } from '../desired/forks.ts';
import type { Generator, SourceFacts } from '../desired/generator.ts';
import { chooseName, identify, nameParts } from '../desired/identity.ts';
import { wishesOf } from '../desired/labels.ts';
import { printName, printSource } from '../desired/printed-names.ts';
import { remarksOn } from '../desired/pull-triggers.ts';
import { decide, needsOf } from '../desired/triggers.ts';
import type { Resolver } from '../images/resolver.ts';
import { planDestroy, planUpdate } from '../plan/diff.ts';
import { explain } from '../plan/explain.ts';
import type { DeletionBound, GuardAnswer, GuardInput } from '../plan/guard.ts';
import { type ActionResult, apply } from '../provider/apply.ts';
import { observe } from '../provider/observe.ts';
import type { Provider, Scope } from '../provider/provider.ts';
import type { Report } from '../report/reporter.ts';
import { composeText } from '../report/text.ts';
import { composeView } from '../report/view.ts';
import type { Configuration } from '../source/configuration.ts';
import type { Forge } from '../source/forge.ts';
import { SpecReader } from '../source/read-spec.ts';
import { type Findings, summarize } from '../status/summarize.ts';
import { isSameFor } from '../values/configuration.ts';
import { computeEnvironment, type EnvironmentInput, explainEnvironment } from '../values/environment.ts';
import { limitDuration } from '../values/policy.ts';
import { Preparations } from '../values/prepare.ts';
import { missingVariables, renderTemplate, sourceValues } from '../values/templates.ts';
import { Admission } from './admission.ts';
import type { Clock } from './clock.ts';
import { describeExpiry, type Expiry, findExpiry } from './expiry.ts';
import { createKnown, type Decided, type Decision, Decisions, type Known, type Memory, type Terms } from './memory.ts';
import { Neighbours } from './neighbours.ts';
import type { Telemetry } from './telemetry.ts';

/** A project as its operator configured it. */
export interface ConfiguredProject {
  readonly forge: Forge;
  readonly resolver: Resolver;
  /** What happens with pull requests from other repositories. */
  readonly forks: ForkMode;
  /** What the platform's files know it by. */
  readonly repository: string;
  readonly team: string | undefined;
  /** What its files may have of ephd. */
  readonly variables: ServerVariables;
}

/** Everything outside: what Git says, what providers hold, and who is told. */
export interface World {
  readonly projects: ReadonlyMap<ProjectId, ConfiguredProject>;
  /** What the platform and its operators say. */
  readonly configuration: Configuration;
  readonly providers: ReadonlyMap<ProviderName, Provider>;
  readonly generators: readonly Generator[];
  readonly clock: Clock;
  readonly telemetry: Telemetry;
  /** Makes names that cannot be guessed. Losing it renames nothing. */
  readonly serverKey: string;
  readonly urlOf: (name: string) => string;
  /** Whose name or alias this is. */
  readonly ownerOf: (label: string) => EnvironmentId | undefined;
  readonly aliasesOf: (id: EnvironmentId) => readonly string[];
  readonly deletionBound: DeletionBound;
  /** Which of the environments nobody wants may go now. */
  readonly guard: (input: GuardInput) => GuardAnswer;
  readonly record: (event: Event) => void;
  readonly report: (report: Report) => void;
  /** Something about this environment looks different now. */
  readonly changed: (id: EnvironmentId) => void;
}

/** How the reconciler asks to be called again. */
export interface Wakes {
  project(id: ProjectId): void;
  environment(id: EnvironmentId): void;
  retryProject(id: ProjectId): void;
  retryConfiguration(): void;
  calmConfiguration(): void;
  /** The last look at the project was good. */
  calmProject(id: ProjectId): void;
  retry(id: EnvironmentId, atLeastMs: number): void;
  /** Time alone will bring something about. */
  later(id: EnvironmentId, ms: number): void;
  /** The last look at the environment left nothing to try again. */
  calm(id: EnvironmentId): void;
  supersede(id: EnvironmentId): void;
}

/** What `eph config explain` says about one environment. */
export type ExplainedValues = Pick<ConfigView, 'configuration' | 'notices' | 'components' | 'violations'>;

/** What Git says about a source, and by which triggers. */
export interface Considered {
  readonly decision: Decision;
  /** The commit that was asked for, where that is no longer where the source stands. */
  readonly at?: CommitSha;
  readonly triggers: readonly Trigger[];
}

/** One look at a project: what Git says, what exists, and what follows. */
interface Survey {
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

/** What one wanted environment should be, and the difference to what is. */
interface Draft extends Remarks {
  readonly identity: Identity;
  readonly components: readonly ResolvedComponent[];
  readonly actions: readonly Action[];
  readonly specFaults: readonly Failure[];
  /** What keeps it from being worked out, and is no fault of the file. */
  readonly failures: readonly Failure[];
  readonly told: ConfigurationView;
  readonly namespaces: readonly string[];
}

/** What is worth knowing beside the outcome. */
type Remarks = Pick<Findings, 'notices' | 'staleConfiguration'>;

/** How a look at one environment ended: the input of its status. */
type Outcome = Pick<Findings, 'observed' | 'actions' | 'failures' | 'specFaults'> & Partial<Remarks & Pick<Draft, 'components'>>;

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
  readonly #specs = new Map<ProjectId, SpecReader>();
  /** Numbers the looks at projects, so that each can tell what it has seen itself. */
  #looks = 0;
  /** Of the last pass, if it was complete. */
  #passMark: string | undefined;
  /** When the last pass began. */
  #passAt = Number.NEGATIVE_INFINITY;
  /** The first reading of the configuration: until it is over, nobody knows how anything should be. */
  #configured: Promise<void> | undefined;
  /** What the platform said to each project when its environments were last asked whether it concerns them. */
  readonly #told = new Map<ProjectId, ConfigurationView>();
  readonly #admission: Admission;
  readonly #preparations = new Preparations();
  readonly #neighbours: Neighbours;
  /** Comments whose writers know that they were seen; losing it shows them again. */
  readonly #acknowledged = new Set<string>();

  constructor(world: World, memory: Memory, wakes: Wakes) {
    this.#world = world;
    this.#memory = memory;
    this.#wakes = wakes;
    this.#neighbours = new Neighbours(memory, world.ownerOf);
    this.#admission = new Admission(memory, (project) => world.projects.get(project)?.team);
    for (const [id, { forge }] of world.projects) this.#specs.set(id, new SpecReader(forge));
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
    this.#holdStrays(strays);
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
    const decided = await this.#decideAll(id, sources, signal);
    if (signal.aborted) return;
    if (observed === undefined) {
      if (memory.verified && sources.complete && decided === memory.decided) this.#wakes.calmProject(id);
      // Something moved after all: look again, this time at everything.
      else this.#wakeAfresh(id);
    } else if (this.#isAtRest(id, sources, decided, observed)) {
      memory.verified = isListed;
      this.#wakes.calmProject(id);
    } else this.#absorb(id, this.#survey(id, sources, decided, observed));
  }

  /** Looks at one environment, makes it what it should be, and says how it went. */
  async environment(id: EnvironmentId, signal: AbortSignal): Promise<void> {
    const known = this.#memory.get(id);
    if (known === undefined) return;
    const { decision } = known;
    const reading = await this.#observe({ environment: id }, signal);
    const seen = reading.items[0];
    if (signal.aborted) return;
    if (!isWhole(reading)) return this.#conclude(known, unreadable(reading, seen ?? known.observed));
    // Shown before anything is done about it: traffic must have moved to a new version before the old one is stopped.
    known.observed = seen;
    this.#memory.project(known.project).verified = false;
    this.#world.changed(id);
    if (decision.state === 'unwanted') await this.#remove(known, decision, seen, signal);
    else if (decision.state === 'wanted') await this.#update(known, decision, seen, signal);
    else this.#conclude(known, { observed: seen, actions: [], failures: [decision.fault], specFaults: [] });
  }

  /** What the next pass would do: read afresh, nothing done. */
  async dryRun(signal: AbortSignal): Promise<{ readonly plans: readonly Plan[]; readonly faults: readonly Failure[] }> {
    const plans: Plan[] = [];
    const faults: Failure[] = [];
    for (const id of this.#world.projects.keys()) {
      const observed = await this.#observe({ project: id }, signal);
      const sources = await this.#forgeOf(id).sources(signal);
      const survey = this.#survey(id, sources, await this.#decideAll(id, sources, signal), observed);
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
    this.#record('deletion.released', known, `the removal of ${known.name} was released`);
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
  async explainValues(id: EnvironmentId, signal: AbortSignal): Promise<ExplainedValues> {
    const known = this.#memory.get(id);
    const { decision, source } = known ?? {};
    const parsed = decision?.state === 'wanted' && decision.spec !== 'missing' ? decision.spec : undefined;
    if (known === undefined || source === undefined || parsed?.ok !== true)
      throw new EphError(
        'api.conflict',
        `eph.yaml cannot be understood: ${known?.status?.summary ?? 'it has not been read yet'}`,
      );
    await this.#untilConfigured(signal);
    const told = this.#configurationOf(known.project);
    const { state, commit, faults } = told;
    const configuration = { state, commit, fault: faults[0]?.message ?? null };
    const notices = [...parsed.notices];
    if (!('layers' in told)) return { configuration, notices, components: [], violations: [] };
    const artifact = await this.#projectOf(known.project).resolver.resolve(source, signal);
    const identity = known.observed?.identity ?? this.#newIdentity(known.name, source);
    const input = this.#environmentInput(parsed, source, identity, known.observed);
    const explained = explainEnvironment({ ...input, told, artifact: artifact.state === 'missing' ? '' : artifact.artifact });
    return { configuration, notices, components: [...explained.components], violations: [...explained.violations] };
  }

  /**
   * Nothing has changed since a look that left nothing to do: the path an idle pass takes. It walks the listing side by side with what
   * is known; looking each environment up by its id would cost several times as much once there are more than fit in a cache.
   */
  #isAtRest(id: ProjectId, sources: Reading<Source>, decided: Decisions, observed: Reading<ObservedEnvironment>): boolean {
    const { atRest, decided: before, environments } = this.#memory.project(id);
    if (atRest === undefined || decided !== before || !sources.complete || !observed.complete) return false;
    if (observed.items.length !== atRest.length || environments.size !== atRest.length) return false;
    const isUnchanged = (seen: ObservedEnvironment, index: number): boolean => {
      const known = atRest[index];
      return known?.settled === true && known.id === seen.identity.id && known.observed?.mark === seen.mark;
    };
    return observed.items.every(isUnchanged);
  }

  #survey(id: ProjectId, sources: Reading<Source>, decided: Decisions, observed: Reading<ObservedEnvironment>): Survey {
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

  async #decideAll(id: ProjectId, sources: Reading<Source>, signal: AbortSignal): Promise<Decisions> {
    const { decided: before, atRest } = this.#memory.project(id);
    if (atRest !== undefined && before.areAbout(sources)) return before;
    const keepOrDecide = async (source: Source): Promise<Decided> => {
      const known = before.get(source.ref);
      const isDecided = known !== undefined && isSameSource(known.source, source) && known.decision.state !== 'unknown';
      return isDecided ? known : await this.#decide(id, source, signal);
    };
    return new Decisions(await Promise.all(sources.items.map(keepOrDecide)), sources.mark);
  }

  async #decide(id: ProjectId, source: Source, signal: AbortSignal): Promise<Decided> {
    const { decision, at } = await this.#judge(id, source, signal);
    const environment = decision.state === 'unwanted' ? undefined : identify(id, source.ref);
    return { source, made: at === undefined ? source : { ...source, commit: at }, decision, environment };
  }

  /** What Git says about a source, and by which triggers. Nothing of a fork is looked at that its project does not allow. */
  async #judge(id: ProjectId, source: Source, signal: AbortSignal): Promise<Considered> {
    const { forge, forks } = this.#projectOf(id);
    const isStranger = (source.pull?.fork ?? null) !== null;
    const approvals = isStranger && forks === 'approve' ? forge.pulls?.approvals(source.ref, source.commit, signal) : undefined;
    const fork = judgeFork(forks, source, await approvals);
    if (fork.state === 'denied') return { decision: unwanted(fork.because), triggers: [] };
    if (fork.state === 'unknown') return { decision: fork, triggers: [] };
    const isolated = fork.trust === 'base';
    const trusted = isolated ? await forge.source({ kind: 'branch', name: source.pull?.base ?? '' }, signal) : undefined;
    if (trusted !== undefined && trusted.state !== 'present') return { decision: withoutBase(source, trusted), triggers: [] };
    const reading = await this.#specsOf(id).read(trusted?.source.commit ?? source.commit, signal);
    if (reading.state === 'unreadable')
      return { decision: doubtful(`eph.yaml could not be read: ${reading.fault.message}`, reading.fault), triggers: [] };
    const spec = reading.state === 'missing' ? 'missing' : reading.parsed;
    const triggers = (spec === 'missing' ? undefined : spec.triggers) ?? defaultTriggers;
    return { ...(await this.#applyTriggers(source, spec, triggers, isolated, signal)), triggers };
  }

  async #applyTriggers(
    source: Source,
    spec: ParsedSpec | 'missing',
    triggers: readonly Trigger[],
    isolated: boolean,
    signal: AbortSignal,
  ): Promise<Omit<Considered, 'triggers'>> {
    const asked = source.pull === undefined ? forRefs(triggers, this.#forgeOf(source.project).pulls !== undefined) : triggers;
    const facts = await this.#readFacts(source, asked, signal);
    const decision = decide(source, asked, this.#world.generators, facts);
    if (decision.state === 'wanted') {
      const { paused, kept, ttlSeconds, notes: remarks } = wishesOf(source.pull?.labels ?? []);
      const { because, checks, command, at } = decision;
      const notes = command === undefined ? remarks : [...remarks, ...remarksOn(command)];
      const terms = { checks, paused, kept, isolated, notes, ...(ttlSeconds && { ttlSeconds }), ...(command && { command }) };
      const wanted: Decision = { state: 'wanted', because, spec, terms };
      return at === undefined ? { decision: wanted } : { decision: await this.#moveTo(at, source, wanted, signal), at };
    }
    if (decision.state === 'unknown') return { decision: doubtful(decision.because, decision.fault) };
    // Its own triggers might want it: a slip in the file must not remove what runs.
    if (spec !== 'missing' && !spec.ok && spec.triggers === undefined) return { decision: misunderstood(spec.faults) };
    return { decision: unwanted(decision.because) };
  }

  /** The same wish for the commit that was asked for, with what its own file says. */
  async #moveTo(at: CommitSha, source: Source, wanted: Decision & { state: 'wanted' }, signal: AbortSignal): Promise<Decision> {
    const reading = await this.#specsOf(source.project).read(at, signal);
    if (reading.state === 'unreadable') return doubtful(`eph.yaml could not be read: ${reading.fault.message}`, reading.fault);
    const note = `it stays at commit ${at.slice(0, 12)}, for which it was asked; ask again to bring it to ${short(source)}`;
    const terms = wanted.terms && { ...wanted.terms, notes: [...wanted.terms.notes, note] };
    return { ...wanted, spec: reading.state === 'missing' ? 'missing' : reading.parsed, ...(terms && { terms }) };
  }

  /** What the triggers have to know beyond the source, and nothing else. */
  async #readFacts(source: Source, triggers: readonly Trigger[], signal: AbortSignal): Promise<SourceFacts> {
    const { pulls } = this.#forgeOf(source.project);
    const facts: { -readonly [fact in keyof SourceFacts]: SourceFacts[fact] } = {};
    for (;;) {
      const needs = needsOf(source, triggers, this.#world.generators, facts);
      const lacksCommands = needs.commands && facts.commands === undefined;
      const lacksPaths = needs.changedPaths && facts.changedPaths === undefined;
      if (pulls === undefined || (!lacksCommands && !lacksPaths)) return facts;
      if (lacksCommands) facts.commands = await pulls.commands(source.ref, signal);
      if (lacksPaths) facts.changedPaths = await pulls.changedPaths(source, signal);
    }
  }

  /** What Git says about a source as it is, or as it would be; nothing follows from it. */
  consider(source: Source, signal: AbortSignal): Promise<Considered> {
    return this.#judge(source.project, source, signal);
  }

  /** Takes a survey over into memory and wakes whoever needs a closer look. It awaits nothing, so nothing comes between. */
  #absorb(id: ProjectId, survey: Survey): void {
    const memory = this.#memory.project(id);
    const complete = survey.sources.complete && survey.observed.complete;
    this.#looks += 1;
    memory.verified = false;
    memory.faults = [...survey.sources.faults, ...survey.observed.faults];
    this.#world.telemetry.projectRead(id, memory.faults);
    const listed: Known[] = [];
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
      this.#specsOf(id).retain(survey.decided.values().map(({ made }) => made));
    }
    if (complete && !doubtful) this.#wakes.calmProject(id);
    else this.#wakes.retryProject(id);
  }

  /** A source wants, or may want, this environment. */
  #expect(
    id: EnvironmentId,
    { source: { commit: head }, made: source, decision }: Decided,
    seen: ObservedEnvironment | undefined,
    survey: Survey,
  ): Known | undefined {
    const known = this.#memory.get(id);
    if (known === undefined) {
      // Until every provider has answered, it may exist under a name that is still to be read back, or its name may be another's.
      const complete = survey.observed.complete && this.#memory.knowsNames;
      if (seen === undefined && (decision.state === 'unknown' || !complete)) return undefined;
      const name = seen?.identity.name ?? this.#chooseName(id, source, decision);
      const met = this.#meet(id, source.project, source.ref, name, decision, source, seen);
      met.head = head;
      if (seen === undefined) this.#record('environment.wanted', met, `${name} is wanted: ${decision.because}`);
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
    if (known.held && !wasHeld) this.#record('deletion.held', known, `the removal of ${known.name} is held: ${decision.because}`);
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
  ): Known {
    const known = createKnown({ id, project, ref, name, decision, source, observed });
    this.#memory.remember(known);
    return known;
  }

  /** Environments of projects that are not configured here: somebody may have made a mistake, so only an operator lets them go. */
  #holdStrays(strays: readonly ObservedEnvironment[]): void {
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

  async #update(
    known: Known,
    decision: Decision & { state: 'wanted' },
    seen: ObservedEnvironment | undefined,
    signal: AbortSignal,
  ): Promise<void> {
    const { source } = known;
    if (source === undefined) throw new EphError('internal', `${known.name} is wanted by no source`);
    // A listing from before its last removal may have brought back a name that was given to another since.
    if (seen === undefined && this.#memory.isNameTaken(known.name, known.id))
      this.#memory.rename(known, this.#chooseName(known.id, source, decision));
    const draft = await this.#draft(known.name, source, decision, seen, signal);
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
    this.#account(known, results);
    if (signal.aborted) return;
    if (results.length === 0) {
      this.#conclude(known, { ...draft, observed: seen });
      return this.#hear(known);
    }
    const after = await this.#observe({ environment: known.id }, signal);
    if (signal.aborted) return;
    if (!isWhole(after)) return this.#conclude(known, unreadable(after, seen));
    const left = await this.#draft(known.name, source, decision, after.items[0], signal);
    this.#conclude(known, { ...left, observed: after.items[0], failures: [...failuresOf(results), ...left.failures] });
    this.#hear(known);
  }

  /** When it has lived long enough; asked of the forge again only when something about it changed. */
  async #expiryOf(
    known: Known,
    source: Source,
    { spec, terms }: Decision & { state: 'wanted' },
    signal: AbortSignal,
  ): Promise<Expiry | undefined> {
    const { pulls } = this.#forgeOf(known.project);
    const told = this.#configurationOf(known.project);
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
    known: Known,
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
      if (known.farewell === undefined) this.#record('environment.expired', known, `${known.name}: ${because}`);
      known.farewell = because;
      this.#wakeAfresh(known.project);
    }
    const actions: readonly Action[] = [{ type: 'wait', code: 'plan.expired', reason: because }];
    this.#conclude(known, { ...draft, observed: seen, actions, failures });
  }

  /** Asks the environments of a project whether what the platform says now concerns them. */
  #tell(id: ProjectId): void {
    const told = this.#configurationOf(id);
    if (this.#told.get(id) === told) return;
    this.#told.set(id, told);
    for (const known of this.#memory.project(id).environments.values()) this.#hear(known);
  }

  #hear(known: Known): void {
    const { told: before, decision } = known;
    const told = this.#configurationOf(known.project);
    if (before === undefined || before === told) return;
    const spec = decision.state === 'wanted' && decision.spec !== 'missing' && decision.spec.ok ? decision.spec.spec : undefined;
    if (isSameFor(spec, before, told)) {
      known.told = told;
      return;
    }
    known.settled = false;
    this.#wakes.environment(known.id);
  }

  #configurationOf(id: ProjectId): ConfigurationView {
    return this.#world.configuration.layersFor(this.#projectOf(id).repository, id);
  }

  async #untilConfigured(signal: AbortSignal): Promise<void> {
    this.#configured ??= this.configuration(signal);
    await this.#configured;
    // Cut off, it has read nothing.
    if (signal.aborted) this.#configured = undefined;
  }

  /** From the values and the artifacts to the difference. Faults of the file are findings, not errors. */
  async #draft(
    name: EnvironmentName,
    source: Source,
    { spec, terms }: Decision & { state: 'wanted' },
    seen: ObservedEnvironment | undefined,
    signal: AbortSignal,
  ): Promise<Draft> {
    await this.#untilConfigured(signal);
    const told = this.#configurationOf(source.project);
    const identity = seen?.identity ?? this.#newIdentity(name, source);
    const draft: Draft = {
      identity,
      components: [],
      actions: [],
      specFaults: [],
      failures: [],
      notices:
        spec === 'missing' || !spec.ok ? [] : spec.notices.map((notice) => printFault({ file: spec.places.file, ...notice })),
      staleConfiguration: told.state === 'last-good' ? told.faults[0] : undefined,
      told,
      namespaces: [],
    };
    if (spec === 'missing')
      return { ...draft, specFaults: [failure('spec.missing', `there is no eph.yaml at commit ${short(source)}; add one`)] };
    if (!spec.ok) return { ...draft, specFaults: spec.faults.map((fault) => failure('spec.invalid', printFault(fault))) };
    if (!('layers' in told)) return { ...draft, failures: told.faults };
    const patience = await this.#findPatience(source, terms, seen, signal);
    if (patience !== undefined) return { ...draft, ...patience };
    const artifact = await this.#projectOf(source.project).resolver.resolve(source, signal);
    if (artifact.state === 'missing') {
      const { code, message } = artifact.fault;
      return { ...draft, actions: [{ type: 'wait', code, reason: message }] };
    }
    const { wishes, faults, obstacles, namespaces } = computeEnvironment({
      ...this.#environmentInput(spec, source, identity, seen),
      ...(terms?.isolated === true ? { variables: {} } : {}),
      told,
      artifact: artifact.artifact,
    });
    if (faults.length > 0) return { ...draft, namespaces, specFaults: faults };
    if (obstacles.length > 0) {
      if (seen === undefined) this.#admission.queue(identity.id);
      return {
        ...draft,
        namespaces,
        actions: obstacles.map(({ code, message }) => ({ type: 'wait', code, reason: message })),
      };
    }
    this.#admission.admit(identity.id);
    const components = wishes.flatMap((wish) => (wish.state === 'resolved' ? [wish.component] : []));
    return { ...draft, namespaces, components, actions: planUpdate(wishes, seen, this.#world.clock.now()) };
  }

  /** What people or their checks ask to wait for; undefined when it can go on. */
  async #findPatience(
    source: Source,
    terms: Terms | undefined,
    seen: ObservedEnvironment | undefined,
    signal: AbortSignal,
  ): Promise<Pick<Draft, 'actions' | 'failures'> | undefined> {
    if (terms?.paused === true)
      return { failures: [], actions: [{ type: 'wait', code: 'plan.paused', reason: 'a label asks to leave it as it is' }] };
    const { pulls } = this.#forgeOf(source.project);
    // Once it runs, its checks have had their say.
    const runs = seen?.components.some(({ current, next }) => (next ?? current)?.commit === source.commit) === true;
    if (terms === undefined || terms.checks.length === 0 || pulls === undefined || runs) return undefined;
    const { items, complete, faults } = await pulls.checks(source.commit, signal);
    const waits = terms.checks.flatMap((name) => {
      const state = items.find((check) => check.name === name)?.state;
      return state === 'success' ? [] : [state === 'failure' ? `check ${name} failed` : `check ${name} has not succeeded yet`];
    });
    if (waits.length === 0) return undefined;
    return {
      failures: complete ? [] : faults,
      actions: waits.map((reason) => ({ type: 'wait', code: 'source.checks', reason })),
    };
  }

  /** Shows whoever asked with a comment that it was seen. */
  async #acknowledge({ source, name, decision }: Known, signal: AbortSignal): Promise<void> {
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

  #environmentInput(
    parsed: ParsedSpec & { ok: true },
    source: Source,
    identity: Identity,
    seen: ObservedEnvironment | undefined,
  ): Omit<EnvironmentInput, 'artifact' | 'told'> {
    const { variables } = this.#projectOf(source.project);
    return {
      parsed,
      source,
      identity,
      url: this.#world.urlOf(identity.name),
      observed: seen?.components ?? [],
      aliases: this.#world.aliasesOf(identity.id),
      variables,
      providers: [...this.#world.providers.keys()],
      outputsOf: (namespace) => this.#neighbours.published(namespace, identity.id),
      countOthers: () => (seen === undefined ? this.#admission.countOthers(identity.id, source.project) : undefined),
      preparations: this.#preparations,
    };
  }

  /** Nothing is removed, not even a component, on the strength of a commit that is no longer the source's. */
  async #withoutDoubtfulRemovals(known: Known, actions: readonly Action[], signal: AbortSignal): Promise<readonly Action[]> {
    if (!actions.some((action) => action.type === 'destroy')) return actions;
    const answer = await this.#forgeOf(known.project).source(known.ref, signal);
    if (answer.state === 'present' && answer.source.commit === known.head) return actions;
    return actions.filter((action) => action.type !== 'destroy');
  }

  async #remove(
    known: Known,
    decision: Decision & { state: 'unwanted' },
    seen: ObservedEnvironment | undefined,
    signal: AbortSignal,
  ): Promise<void> {
    if (seen === undefined || seen.components.length === 0) return this.#farewell(known);
    const waiting = (reason: string, failures: readonly Failure[] = []): void =>
      this.#conclude(known, { observed: seen, actions: [{ type: 'wait', code: 'plan.held', reason }], failures, specFaults: [] });
    if (!known.permit) return waiting(known.held ? 'an operator must release it' : 'the next complete pass decides');
    const doubt = await this.#doubtAboutRemoval(known, signal);
    if (signal.aborted) return;
    if (doubt !== undefined) return waiting(doubt.message, doubt.disposition === 'retry' ? [doubt] : []);
    const actions = planDestroy(seen, decision.because);
    const results = await apply({ identity: seen.identity, actions, components: [], providers: this.#world.providers }, signal);
    this.#account(known, results);
    if (signal.aborted) return;
    const after = await this.#observe({ environment: known.id }, signal);
    if (signal.aborted) return;
    if (!isWhole(after)) return this.#conclude(known, unreadable(after, seen));
    const left = after.items[0];
    if (left === undefined || left.components.length === 0) return this.#farewell(known);
    this.#conclude(known, {
      observed: left,
      actions: planDestroy(left, decision.because),
      failures: failuresOf(results),
      specFaults: [],
    });
  }

  /** The last look before a removal: the one source, read past every cache. */
  async #doubtAboutRemoval(known: Known, signal: AbortSignal): Promise<Failure | undefined> {
    if (!this.#world.projects.has(known.project)) return undefined;
    const answer = await this.#forgeOf(known.project).source(known.ref, signal);
    if (answer.state === 'gone') return undefined;
    if (answer.state === 'unknown') return answer.fault;
    if (known.source !== undefined && isSameSource(answer.source, known.source)) return undefined;
    // Not woken from here: a forge that says one thing in the list and another about the one source would be asked in a circle.
    known.permit = false;
    return failure('plan.superseded', `${printSource(known.ref)} is back`);
  }

  #farewell(known: Known): void {
    const existed = known.observed !== undefined;
    for (const other of this.#neighbours.referrersOf(known)) this.#wakes.environment(other.id);
    this.#neighbours.refer(known, []);
    for (const waiting of this.#admission.leave(known.id)) this.#wakes.environment(waiting);
    this.#memory.forget(known);
    this.#memory.project(known.project).verified = false;
    this.#wakes.calm(known.id);
    if (existed) this.#record('environment.removed', known, `${known.name} was removed: ${known.decision.because}`);
    known.status = undefined;
    known.observed = undefined;
    this.#report(known, true);
    this.#world.changed(known.id);
  }

  /** The one place where the outcome of a look becomes status, log, event, report and the time of the next look. */
  #conclude(known: Known, outcome: Outcome): void {
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
    known.status = summarize(findings, before, this.#now());
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
        this.#record(
          'status.changed',
          known,
          `${known.name}: ${known.status.phase}${known.status.summary === '' ? '' : `, ${known.status.summary}`}`,
        );
    }
    this.#report(known, false, outcome);
    this.#world.changed(known.id);
  }

  /** Says what was done. */
  #account(known: Known, results: readonly ActionResult[]): void {
    for (const result of results) {
      const fault = result.state === 'failed' ? result.failure : undefined;
      this.#world.telemetry.acted(known.id, known.name, result.action, fault);
      if (fault !== undefined || result.action.type === 'wait') continue;
      const type = result.action.type === 'destroy' ? 'component.removed' : 'component.applied';
      this.#record(type, known, `${result.action.type} ${result.action.component}: ${result.action.reason}`);
    }
  }

  #report(known: Known, last: boolean, outcome?: Outcome): void {
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

  #record(type: EventType, known: Known, message: string): void {
    const details = { name: known.name, source: sourceKey(known.ref), commit: known.source?.commit ?? null };
    this.#world.record({ at: this.#now(), type, project: known.project, environment: known.id, message, details });
  }

  async #planSurvey(survey: Survey, signal: AbortSignal): Promise<readonly Plan[]> {
    const observed = new Map(survey.observed.items.map((one) => [one.identity.id, one]));
    const plans: Plan[] = [];
    for (const { environment, made: source, decision } of survey.decided.values()) {
      if (environment === undefined) continue;
      const seen = observed.get(environment);
      if (seen === undefined && decision.state === 'unknown') continue;
      const name = seen?.identity.name ?? this.#memory.get(environment)?.name ?? this.#chooseName(environment, source, decision);
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
    const draft = await this.#draft(name, source, decision, seen, signal);
    const faults = draft.specFaults.map((one): Action => ({ type: 'wait', code: one.code, reason: one.message }));
    return [...faults, ...draft.actions];
  }

  #chooseName(id: EnvironmentId, source: Source, decision: Decision): EnvironmentName {
    const spec = decision.state === 'wanted' && decision.spec !== 'missing' && decision.spec.ok ? decision.spec.spec : undefined;
    const values = { ...sourceValues(source), project: spec?.name ?? source.project };
    const asked = spec?.environment.name_template ?? defaultNameTemplate;
    // A template that this source cannot fill is a fault of its file, and is told there.
    const isFillable = missingVariables(asked, { ...values, words: '', number: '' }).length === 0;
    return chooseName(
      (parts) => renderTemplate(isFillable ? asked : defaultNameTemplate, { ...values, ...parts }, 'dns-label'),
      (attempt) => nameParts(this.#world.serverKey, source.project, source.ref, attempt),
      (name) => this.#memory.isNameTaken(name, id),
    );
  }

  #newIdentity(name: EnvironmentName, source: Source): Identity {
    return {
      id: identify(source.project, source.ref),
      name,
      project: source.project,
      source: source.ref,
      createdAt: this.#now(),
    };
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

  #now(): string {
    return new Date(this.#world.clock.now()).toISOString();
  }

  #projectOf(id: ProjectId): ConfiguredProject {
    const project = this.#world.projects.get(id);
    if (project === undefined) throw new EphError('internal', `project ${id} is not configured`);
    return project;
  }

  #forgeOf(id: ProjectId): Forge {
    return this.#projectOf(id).forge;
  }

  #specsOf(id: ProjectId): SpecReader {
    const specs = this.#specs.get(id);
    if (specs === undefined) throw new EphError('internal', `project ${id} is not configured`);
    return specs;
  }
}

/** What it waits for wakes it: another component or environment that looks different, the platform that says something else, room. */
const isAwaited = (action: Action): boolean =>
  action.type === 'wait' && ['reference.waiting', 'policy.full', 'plan.paused'].includes(action.code);

const defaultNameTemplate = '{project}-{words}-{number}';

const misunderstood = (faults: readonly Fault[]): Decision => {
  const fault = failure('spec.invalid', faults[0] === undefined ? 'eph.yaml cannot be understood' : printFault(faults[0]));
  return { state: 'unknown', because: `eph.yaml cannot be understood: ${fault.message}`, fault };
};

/** Reading again will not help; a new commit will. */
const isFinal = ({ fault }: Decision & { state: 'unknown' }): boolean =>
  fault.disposition === 'stall' && fault.code !== 'forge.refused';

/**
 * What triggers mean for a branch or tag: nobody can say what it changes, and where there are pull requests, `auto` is about them and
 * not about the branches they come from.
 */
const forRefs = (triggers: readonly Trigger[], hasPulls: boolean): readonly Trigger[] =>
  triggers.filter(({ type }) => !(type === 'auto' && hasPulls)).map(({ paths: _, ...trigger }) => trigger as Trigger);

const doubtful = (because: string, fault: Failure): Decision => ({ state: 'unknown', because, fault });

/** Without the branch a fork goes to nobody can say what it would get. */
const withoutBase = (
  { ref, pull }: Source,
  answer: { readonly state: 'gone' } | { readonly state: 'unknown'; readonly fault: Failure },
): Decision => {
  const what = `the branch ${printName(pull?.base ?? '')} that ${printSource(ref)} goes to`;
  return answer.state === 'gone' ? unwanted(`${what} is gone`) : doubtful(`${what} could not be read`, answer.fault);
};

/** Whether two decisions ask for the same, on the same terms. */
const isSameWish = (a: Decision, b: Decision): boolean =>
  a === b ||
  (a.state === b.state &&
    (a.state !== 'wanted' ||
      b.state !== 'wanted' ||
      (a.spec === b.spec && (a.terms === b.terms || JSON.stringify(a.terms) === JSON.stringify(b.terms)))));

const unwanted = (because: string): Decision & { state: 'unwanted' } => ({ state: 'unwanted', because });

const short = (source: Source): string => source.commit.slice(0, 12);

const failuresOf = (results: readonly ActionResult[]): readonly Failure[] =>
  results.flatMap((result) => (result.state === 'failed' ? [result.failure] : []));

/** Nothing that is missing from it is merely unread. */
const isWhole = (reading: Reading<ObservedEnvironment>): boolean =>
  reading.complete && reading.items.every((one) => one.complete);

const unreadable = (reading: Reading<ObservedEnvironment>, observed: ObservedEnvironment | undefined): Outcome => ({
  observed,
  actions: [],
  failures:
    reading.faults.length > 0
      ? reading.faults
      : [failure('provider.incomplete', 'part of it could not be read; it is left as it is')],
  specFaults: [],
});
