import { failure, type ObservedEnvironment, type ProjectId, type ProviderName, type Reading, type Source } from '@eph/contract';
import { type Decided, type Decision, type Decisions, isFinal, isSameDecision, unwanted } from '../desired/decisions.ts';
import { printSource } from '../desired/printed-names.ts';
import type { GuardAnswer } from '../plan/guard.ts';
import { type Observation, withoutReasons } from '../provider/observe.ts';
import { projectOf } from './context.ts';
import { answerCommands, decideSources, specsOf } from './decide.ts';
import type { Loop } from './loop.ts';
import { chooseNewName, mayBeNew } from './names.ts';
import { recordEvent } from './outcome.ts';
import { type EnvironmentRecord, isOn, type ProjectRecord } from './record.ts';
import { findSurplus, isHoldWritten, type Surplus } from './removal.ts';
import { environmentKey, type Key, type Result } from './result.ts';

/** One reading of a project: what Git says, what exists, and what follows. */
interface ProjectReading {
  readonly sources: Reading<Source>;
  readonly decided: Decisions;
  readonly observed: Observation;
}

/** Reads what Git says about one project and wakes every environment that is not as it should be. */
export const reconcileProject = async (loop: Loop, id: ProjectId, signal: AbortSignal): Promise<Result> => {
  const { context, records, polling } = loop;
  const project = records.project(id);
  const listing = records.takeListing(id);
  const last = polling.decide(id, project.wokenAt);
  if (last === 'wait') return {};
  const asOf = listing !== undefined && project.wokenAt < records.listedAt ? records.listedAt : undefined;
  const observed = listing ?? (await loop.observer.observe({ project: id }, signal));
  const began = context.clock.now();
  const sources = last === 'read' ? await projectOf(context, id).forge.sources(signal, asOf) : last;
  const decided = await decideSources(loop, id, sources, signal);
  signal.throwIfAborted();
  if (last === 'read') polling.noteReading(id, began, sources);
  if (decided !== project.decided) await answerCommands(loop, decided, signal);
  const reading = { sources, decided, observed };
  return isAtRest(project, reading) ? {} : new RecordsUpdate(loop, id, reading).absorb();
};

/** Nothing has changed since a reading that left nothing to do: the path of an idle pass. What is on a provider that is away rests. */
const isAtRest = (project: ProjectRecord, { sources, decided, observed: { items, incomplete } }: ProjectReading): boolean => {
  const { environments, incomplete: before } = project;
  if (!project.atRest || decided !== project.decided || !sources.complete) return false;
  if (before.length !== incomplete.size || before.some((name) => !incomplete.has(name))) return false;
  let listed = 0;
  for (const seen of items) {
    const record = environments.get(seen.identity.id);
    if (record === undefined) return false;
    if (isOn(record.observed, incomplete)) continue;
    if (!record.settled || record.observed?.mark !== seen.mark) return false;
    listed += 1;
  }
  if (listed === environments.size) return true;
  for (const record of environments.values()) {
    if (isOn(record.observed, incomplete)) listed += 1;
    else if (record.observed === undefined && record.settled) listed += 1;
  }
  return listed === environments.size;
};

/** Takes one reading of a project over into the records. It awaits nothing, so nothing comes between. */
class RecordsUpdate {
  readonly #loop: Loop;
  readonly #id: ProjectId;
  readonly #reading: ProjectReading;
  readonly #incomplete: ReadonlyMap<ProviderName, unknown>;
  readonly #wake: Key[] = [];
  readonly #supersede: Key[] = [];
  /** Something new must wait until a provider has been read. */
  #isPostponed = false;

  constructor(loop: Loop, id: ProjectId, reading: ProjectReading) {
    this.#loop = loop;
    this.#id = id;
    this.#reading = reading;
    this.#incomplete = reading.observed.incomplete;
  }

  absorb(): Result {
    const { context, records, polling } = this.#loop;
    const { sources, decided, observed } = this.#reading;
    const project = records.project(this.#id);
    project.faults = [...sources.faults, ...withoutReasons(observed.incomplete).values()];
    context.telemetry.projectRead(this.#id, [...sources.faults, ...observed.incomplete.values()]);
    const { surplus, guard } = findSurplus(this.#loop, this.#id, sources, decided, observed);
    const listed = new Set<EnvironmentRecord | undefined>();
    for (const seen of observed.items) {
      const about = decided.get(seen.identity.source);
      listed.add(about?.environment === undefined ? records.get(seen.identity.id) : this.#expect(about, seen));
    }
    const isDoubtful = decided.values().some(({ decision }) => decision.state === 'unknown' && !isFinal(decision));
    for (const about of decided.values()) {
      const record = about.environment === undefined ? undefined : records.get(about.environment);
      if (about.environment !== undefined && !(record !== undefined && listed.has(record))) this.#expect(about, undefined);
    }
    for (const one of surplus) this.#dismiss(one, guard);
    for (const record of project.environments.values())
      if (!listed.has(record) && decided.get(record.ref)?.environment === undefined) this.#reviseUnlisted(record);
    if (!sources.complete) this.#keepUndecided();
    project.decided = decided;
    project.incomplete = [...observed.incomplete.keys()];
    project.atRest = sources.complete && !isDoubtful && !this.#isPostponed && surplus.length === 0;
    if (sources.complete) specsOf(this.#loop, this.#id).retain(decided.values().map(({ made }) => made));
    project.isRead ||= sources.complete;
    project.surveyed ||= sources.complete && this.#incomplete.size === 0;
    const { doubt, unknown } = polling.doubtsOf(this.#id);
    const readAt = sources.complete ? doubt.clear() : doubt.note(sources.faults);
    const lookAt = (isDoubtful ? unknown.note() : unknown.clear()) ?? readAt;
    return { wake: this.#wake, supersede: this.#supersede, lookAt, ...(this.#isPostponed && { retryAfterMs: 500 }) };
  }

  /** A source wants, or may want, this environment. */
  #expect(about: Decided, seen: ObservedEnvironment | undefined): EnvironmentRecord | undefined {
    const { records } = this.#loop;
    const { made: source, decision, environment: id } = about;
    if (id === undefined) return undefined;
    const head = about.source.commit;
    const record = records.get(id);
    if (record === undefined) return this.#add(about, seen);
    if (decision.state === 'unknown' && !isFinal(decision) && record.decision.state === 'wanted') return record;
    const isChanged = record.source?.commit !== source.commit || !isSameDecision(record.decision, decision);
    const isAway = isOn(record.observed, this.#incomplete);
    if (isChanged) this.#supersede.push(environmentKey(id));
    if (isChanged || (!isAway && (!record.settled || record.observed?.mark !== seen?.mark))) this.#wake.push(environmentKey(id));
    const returns = decision.state === 'wanted' && record.decision.state !== 'wanted';
    const changes = { source, head, decision, held: false, permitted: false };
    records.update(record, { ...changes, ...(isChanged && { settled: false }), ...(returns && { endedBecause: undefined }) });
    const { released } = records.project(this.#id);
    if (released.size > 0 && !isOn(seen ?? record.observed, this.#loop.context.retired)) released.delete(id);
    return record;
  }

  #add({ made: source, source: { commit: head }, decision, environment: id }: Decided, seen: ObservedEnvironment | undefined) {
    if (id === undefined) return undefined;
    if (seen === undefined && !mayBeNew(this.#loop, source.project, decision, this.#incomplete)) {
      this.#isPostponed ||= decision.state !== 'unknown';
      return undefined;
    }
    const name = seen?.identity.name ?? chooseNewName(this.#loop, id, source, decision);
    const { project, ref } = source;
    const record = this.#loop.records.add({ id, project, ref, name, decision, source, head, observed: seen });
    // Its alias is taken from now on.
    this.#loop.context.changed(id);
    if (seen === undefined) recordEvent(this.#loop, 'environment.wanted', record, `${name} is wanted: ${decision.because}`);
    this.#wake.push(environmentKey(id));
    return record;
  }

  /** It exists, and no source wants it. */
  #dismiss({ observed, decision, source }: Surplus, guard: GuardAnswer): void {
    const { records } = this.#loop;
    const { id, project, source: ref, name } = observed.identity;
    const record = records.get(id) ?? records.add({ id, project, ref, name, decision, source, head: source?.commit, observed });
    if (record.decision.state !== 'unwanted') this.#supersede.push(environmentKey(id));
    const wasHeld = record.held || observed.held;
    const [held, permitted] = [guard.held.has(id), guard.permitted.has(id)];
    const isShown = ['Removing', 'Held'].includes(record.status?.phase ?? '');
    const isAway = isOn(record.observed, this.#incomplete);
    if (permitted || held !== record.held || (held && !isHoldWritten(observed) && !isAway) || !isShown)
      this.#wake.push(environmentKey(id));
    records.update(record, { source, decision, held, permitted });
    if (held && !wasHeld)
      recordEvent(this.#loop, 'deletion.held', record, `the removal of ${record.name} is held: ${decision.because}`);
  }

  /** Neither listed nor wanted: with a complete reading of Git it is gone, or has to go. */
  #reviseUnlisted(record: EnvironmentRecord): void {
    const { records } = this.#loop;
    const { sources, decided } = this.#reading;
    records.update(record, { permitted: false });
    if (!sources.complete) return;
    const decision = decided.get(record.ref)?.decision ?? unwanted(`${printSource(record.ref)} is gone`);
    if (isOn(record.observed, this.#incomplete) && isSameDecision(record.decision, decision)) return;
    records.update(record, { decision });
    this.#supersede.push(environmentKey(record.id));
    this.#wake.push(environmentKey(record.id));
  }

  /** Git could not be read completely: what it did not name is left as it is, and shown. */
  #keepUndecided(): void {
    const { records } = this.#loop;
    const { sources, decided, observed } = this.#reading;
    const fault = sources.faults[0] ?? failure('forge.incomplete', 'Git could not be read completely');
    const decision: Decision = { state: 'unknown', because: `Git could not be read: ${fault.message}`, fault };
    for (const seen of observed.items) {
      const { id, project, source: ref, name } = seen.identity;
      const record = records.get(id);
      if (record !== undefined) records.update(record, { permitted: false });
      else if (decided.get(ref) === undefined) {
        records.add({ id, project, ref, name, decision, source: undefined, head: undefined, observed: seen });
        this.#wake.push(environmentKey(id));
      }
    }
  }
}
