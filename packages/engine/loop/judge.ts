import {
  type CommitSha,
  defaultTriggers,
  EphError,
  type Failure,
  type Fault,
  failure,
  isSameSource,
  type ParsedSpec,
  type ProjectId,
  printFault,
  type Reading,
  type Source,
  type Trigger,
} from '@eph/contract';
import { decideFork } from '../desired/forks.ts';
import type { SourceFacts } from '../desired/generator.ts';
import { identify } from '../desired/identity.ts';
import { readLabelRequests } from '../desired/labels.ts';
import { printName, printSource } from '../desired/printed-names.ts';
import { noteUnsupportedOptions } from '../desired/pull-triggers.ts';
import { decide, factsToRead } from '../desired/triggers.ts';
import { SpecReader } from '../source/read-spec.ts';
import { type Decided, type Decision, Decisions, type Memory, unwanted } from './memory.ts';
import { projectOf, type World } from './world.ts';

/** What Git says about a source, and by which triggers. */
export interface Considered {
  readonly decision: Decision;
  /** The commit that was asked for, where that is no longer where the source stands. */
  readonly at?: CommitSha;
  /** The commit of the branch it goes to, where the file was read there. */
  readonly base?: CommitSha;
  readonly triggers: readonly Trigger[];
}

/** From the source to what is desired: which sources want an environment, and on which terms. It only reads. */
export class Judge {
  readonly #world: Pick<World, 'projects' | 'generators'>;
  readonly #memory: Memory;
  readonly #specs = new Map<ProjectId, SpecReader>();

  constructor(world: Pick<World, 'projects' | 'generators'>, memory: Memory) {
    this.#world = world;
    this.#memory = memory;
    for (const [id, { forge }] of world.projects) this.#specs.set(id, new SpecReader(forge));
  }

  /** About every source of a reading. What was decided about a source stands for as long as the source looks the same. */
  async decideAll(id: ProjectId, sources: Reading<Source>, signal: AbortSignal): Promise<Decisions> {
    const { decided: before, atRest } = this.#memory.project(id);
    if (atRest !== undefined && before.areAbout(sources)) return before;
    const branches = projectOf(this.#world, id).forks === 'base' ? commitsOfBranches(sources.items) : undefined;
    const isSettled = ({ source, base, decision }: Decided): boolean =>
      decision.state !== 'unknown' && base === (branches?.get(source.pull?.base ?? '') ?? base);
    const keepOrDecide = async (source: Source): Promise<Decided> => {
      const known = before.get(source.ref);
      const isDecided = known !== undefined && isSameSource(known.source, source) && isSettled(known);
      return isDecided ? known : await this.#decide(id, source, signal);
    };
    return new Decisions(await Promise.all(sources.items.map(keepOrDecide)), sources.mark);
  }

  async #decide(id: ProjectId, source: Source, signal: AbortSignal): Promise<Decided> {
    const { decision, at, base } = await this.#judge(id, source, signal);
    const environment = decision.state === 'unwanted' ? undefined : identify(id, source.ref);
    const made = at === undefined ? source : { ...source, commit: at };
    return { source, made, ...(base && { base }), decision, environment };
  }

  /** What Git says about a source as it is, or as it would be; nothing follows from it. */
  consider(source: Source, signal: AbortSignal): Promise<Considered> {
    return this.#judge(source.project, source, signal);
  }

  /** What Git says about a source, and by which triggers. Nothing of a fork is looked at that its project does not allow. */
  async #judge(id: ProjectId, source: Source, signal: AbortSignal): Promise<Considered> {
    const { forge, forks } = projectOf(this.#world, id);
    const isStranger = (source.pull?.fork ?? null) !== null;
    const approvals = isStranger && forks === 'approve' ? forge.pulls?.approvals(source.ref, source.commit, signal) : undefined;
    const fork = decideFork(forks, source, await approvals);
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
    const base = trusted?.source.commit;
    return { ...(await this.#applyTriggers(source, spec, triggers, isolated, signal)), ...(base && { base }), triggers };
  }

  async #applyTriggers(
    source: Source,
    spec: ParsedSpec | 'missing',
    triggers: readonly Trigger[],
    isolated: boolean,
    signal: AbortSignal,
  ): Promise<Omit<Considered, 'triggers'>> {
    const asked =
      source.pull === undefined ? forRefs(triggers, projectOf(this.#world, source.project).forge.pulls !== undefined) : triggers;
    const facts = await this.#readFacts(source, asked, signal);
    const decision = decide(source, asked, this.#world.generators, facts);
    if (decision.state === 'wanted') {
      const { paused, kept, ttlSeconds, notes: remarks } = readLabelRequests(source.pull?.labels ?? []);
      const { because, checks, command, at } = decision;
      const notes = command === undefined ? remarks : [...remarks, ...noteUnsupportedOptions(command)];
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
    const note = `it stays at commit ${at.slice(0, 12)}, for which it was asked; ask again to bring it to ${source.commit.slice(0, 12)}`;
    const terms = wanted.terms && { ...wanted.terms, notes: [...wanted.terms.notes, note] };
    return { ...wanted, spec: reading.state === 'missing' ? 'missing' : reading.parsed, ...(terms && { terms }) };
  }

  /** What the triggers have to know beyond the source, and nothing else. */
  async #readFacts(source: Source, triggers: readonly Trigger[], signal: AbortSignal): Promise<SourceFacts> {
    const { pulls } = projectOf(this.#world, source.project).forge;
    const facts: { -readonly [fact in keyof SourceFacts]: SourceFacts[fact] } = {};
    for (;;) {
      const needs = factsToRead(source, triggers, this.#world.generators, facts);
      const lacksCommands = needs.commands && facts.commands === undefined;
      const lacksPaths = needs.changedPaths && facts.changedPaths === undefined;
      if (pulls === undefined || (!lacksCommands && !lacksPaths)) return facts;
      if (lacksCommands) facts.commands = await pulls.commands(source.ref, signal);
      if (lacksPaths) facts.changedPaths = await pulls.changedPaths(source, signal);
    }
  }

  /** Forgets the files of all other commits. */
  retain(id: ProjectId, sources: readonly Source[]): void {
    this.#specsOf(id).retain(sources);
  }

  #specsOf(id: ProjectId): SpecReader {
    const specs = this.#specs.get(id);
    if (specs === undefined) throw new EphError('internal', `project ${id} is not configured`);
    return specs;
  }
}

const commitsOfBranches = (sources: readonly Source[]): ReadonlyMap<string, CommitSha> =>
  new Map(sources.filter(({ ref }) => ref.kind === 'branch').map(({ ref, commit }) => [ref.name, commit]));

const misunderstood = (faults: readonly Fault[]): Decision => {
  const fault = failure('spec.invalid', faults[0] === undefined ? 'eph.yaml cannot be understood' : printFault(faults[0]));
  return { state: 'unknown', because: `eph.yaml cannot be understood: ${fault.message}`, fault };
};

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
