import {
  type CommitSha,
  completeReading,
  defaultTriggers,
  type Failure,
  type Fault,
  failure,
  isFromFork,
  isSameSource,
  type ParsedSpec,
  type ProjectId,
  printFault,
  type Reading,
  type Source,
  type Trigger,
  toFailure,
} from '@eph/contract';
import type { ShortCommand } from '../desired/commands.ts';
import { type Base, type Decided, type Decision, Decisions, unwanted, type Wanted } from '../desired/decisions.ts';
import { type ApprovalFacts, decideFork } from '../desired/forks.ts';
import type { SourceFacts } from '../desired/generator.ts';
import { identify } from '../desired/identity.ts';
import { readLabelRequests } from '../desired/labels.ts';
import { printName, printSource } from '../desired/printed-names.ts';
import { noteUnsupportedOptions } from '../desired/pull-triggers.ts';
import { decide, factsToRead } from '../desired/triggers.ts';
import { composeAnswer } from '../report/command-answer.ts';
import type { Pulls } from '../source/pulls.ts';
import { SpecReader } from '../source/read-spec.ts';
import { projectOf } from './context.ts';
import type { Loop } from './loop.ts';

/** What Git says about a source, and by which triggers. */
export interface Considered {
  readonly decision: Decision;
  /** The commit that was asked for, where the source has moved on since. */
  readonly at?: CommitSha;
  readonly base?: Base;
  readonly short?: ShortCommand;
  readonly triggers: readonly Trigger[];
}

/** From sources to what is desired. A decision about a source stays for as long as the source looks the same. */
export const decideSources = async (
  loop: Loop,
  id: ProjectId,
  sources: Reading<Source>,
  signal: AbortSignal,
): Promise<Decisions> => {
  const { decided: before, atRest } = loop.records.project(id);
  if (atRest && before.areAbout(sources)) return before;
  const branches = projectOf(loop.context, id).forks === 'base' ? commitsOfBranches(sources.items) : undefined;
  const mayDecideAgain = loop.polling.doubtsOf(id).unknown.waitMs === 0;
  const isSettled = ({ base, decision }: Decided): boolean =>
    (decision.state !== 'unknown' || !mayDecideAgain) && base?.commit === (branches?.get(base?.branch ?? '') ?? base?.commit);
  const decided: Promise<Decided>[] = [];
  let begun = 0;
  for (const source of sources.items) {
    const known = before.get(source.ref);
    if (known !== undefined && isSameSource(known.source, source) && isSettled(known)) decided.push(Promise.resolve(known));
    else {
      const decision = decideSource(loop, source, signal);
      // It is awaited below; until then a failure must not count as unhandled.
      decision.catch(() => {});
      decided.push(decision);
      begun += 1;
      if (begun % decidedPerTurn === 0) await loop.context.clock.nextTurn();
    }
  }
  return new Decisions(await Promise.all(decided), sources.mark);
};

/** Patterns are untrusted, and a project may have many branches: others get a turn in between. */
const decidedPerTurn = 10;

const decideSource = async (loop: Loop, source: Source, signal: AbortSignal): Promise<Decided> => {
  const { decision, at, base, short } = await considerSource(loop, source, signal);
  const environment = decision.state === 'unwanted' ? undefined : identify(source.project, source.ref);
  const made = at === undefined ? source : { ...source, commit: at };
  return { source, made, ...(base && { base }), ...(short && { short }), decision, environment };
};

/**
 * What Git says about a source as it is, or as it would be. Of a fork nothing is read that its project does not allow.
 *
 * @param file in place of the `eph.yaml` at its commit
 */
export const considerSource = async (loop: Loop, source: Source, signal: AbortSignal, file?: ParsedSpec): Promise<Considered> => {
  const { forge, forks } = projectOf(loop.context, source.project);
  const facts = isFromFork(source) && forks === 'approve' ? await readApprovals(forge.pulls, source, signal) : {};
  const fork = decideFork(forks, source, facts);
  if (fork.state === 'denied')
    return { decision: unwanted(fork.because), ...(fork.short && { short: fork.short }), triggers: [] };
  if (fork.state === 'unknown') return { decision: fork, triggers: [] };
  const isolated = fork.trust === 'base';
  const found = isolated ? await findBase(loop, source, signal) : {};
  if (found.decision !== undefined) return { ...found, decision: found.decision, triggers: [] };
  const reading =
    file === undefined
      ? await specsOf(loop, source.project).read(found.base?.commit ?? source.commit, signal)
      : ({ state: 'read', parsed: file } as const);
  if (reading.state === 'unreadable') return { decision: unreadable(reading.fault), triggers: [] };
  const spec = reading.state === 'missing' ? 'missing' : reading.parsed;
  const triggers = (spec === 'missing' ? undefined : spec.triggers) ?? defaultTriggers;
  return { ...(await applyTriggers(loop, source, spec, triggers, isolated, signal)), ...found, triggers };
};

/** A review says which commit it is about on most forges; where nobody gave one, a comment may. */
const readApprovals = async (pulls: Pulls | undefined, source: Source, signal: AbortSignal): Promise<ApprovalFacts> => {
  const approvals = (await pulls?.approvals?.(source.ref, source.commit, signal)) ?? completeReading([]);
  return approvals.items.length > 0 ? { approvals } : { approvals, commands: await pulls?.commands(source.ref, signal) };
};

/** The branch whose file a fork gets, or the decision that follows where it could not be read. */
const findBase = async (
  loop: Loop,
  source: Source,
  signal: AbortSignal,
): Promise<{ readonly base?: Base; readonly decision?: Decision }> => {
  const { forge, baseBranches = [] } = projectOf(loop.context, source.project);
  const target = source.pull?.base ?? '';
  try {
    const branch = baseBranches.includes(target) ? target : ((await forge.pulls?.defaultBranch(signal)) ?? '');
    const what = `the branch ${printName(branch)}, whose file ${printSource(source.ref)} would get,`;
    const answer = await forge.source({ kind: 'branch', name: branch }, signal);
    if (answer.state === 'present') return { base: { branch, commit: answer.source.commit } };
    if (answer.state === 'gone') return { base: { branch, commit: undefined }, decision: unwanted(`${what} does not exist`) };
    return { decision: unknown(`${what} could not be read`, answer.fault) };
  } catch (error) {
    return { decision: unknown('the name of the default branch could not be read', toFailure(error)) };
  }
};

/** Answers the commands that do not name a commit. Nothing waits for this to succeed. */
export const answerCommands = async ({ context }: Loop, decided: Decisions, signal: AbortSignal): Promise<void> => {
  for (const { source, short } of decided.values()) {
    if (short === undefined || context.answer === undefined) continue;
    const { project, ref } = source;
    try {
      await context.answer({ project, source: ref, command: short.command, text: composeAnswer(short.line) }, signal);
    } catch (error) {
      context.telemetry.failed(`answer to a comment on ${printSource(ref)}`, toFailure(error));
    }
  }
};

const applyTriggers = async (
  loop: Loop,
  source: Source,
  spec: ParsedSpec | 'missing',
  triggers: readonly Trigger[],
  isolated: boolean,
  signal: AbortSignal,
): Promise<Omit<Considered, 'triggers'>> => {
  const { forge } = projectOf(loop.context, source.project);
  const asked = source.pull === undefined ? forRefs(triggers, forge.pulls !== undefined) : triggers;
  const facts = await readFacts(loop, source, asked, signal);
  const decision = decide(source, asked, loop.context.generators, facts);
  if (decision.state === 'wanted') {
    const { paused, kept, ttlSeconds, notes: remarks } = readLabelRequests(source.pull?.labels ?? []);
    const { because, checks, command, at } = decision;
    const notes = command === undefined ? remarks : [...remarks, ...noteUnsupportedOptions(command)];
    const hasTerms = paused || kept || isolated || checks.length > 0 || notes.length > 0 || ttlSeconds || command;
    const terms = { checks, paused, kept, isolated, notes, ...(ttlSeconds && { ttlSeconds }), ...(command && { command }) };
    const wanted: Wanted = { state: 'wanted', because, spec, ...(hasTerms && { terms }) };
    return at === undefined ? { decision: wanted } : { decision: await moveTo(loop, at, source, wanted, signal), at };
  }
  if (decision.state === 'unknown') return { decision };
  // Its own triggers might want it: a mistake in the file must not remove what runs.
  if (spec !== 'missing' && !spec.ok && spec.triggers === undefined) return { decision: invalid(spec.faults) };
  return { decision: unwanted(decision.because), ...(decision.short && { short: decision.short }) };
};

/** The same for the commit that was asked for, with the file of that commit. */
const moveTo = async (loop: Loop, at: CommitSha, source: Source, wanted: Wanted, signal: AbortSignal): Promise<Decision> => {
  const reading = await specsOf(loop, source.project).read(at, signal);
  if (reading.state === 'unreadable') return unreadable(reading.fault);
  const note = `it stays at commit ${at.slice(0, 12)}, for which it was asked; ask again to bring it to ${source.commit.slice(0, 12)}`;
  const terms = wanted.terms && { ...wanted.terms, notes: [...wanted.terms.notes, note] };
  return { ...wanted, spec: reading.state === 'missing' ? 'missing' : reading.parsed, ...(terms && { terms }) };
};

/** What the triggers have to know beyond the source, and nothing else. */
const readFacts = async (
  { context }: Loop,
  source: Source,
  triggers: readonly Trigger[],
  signal: AbortSignal,
): Promise<SourceFacts> => {
  const { pulls } = projectOf(context, source.project).forge;
  const facts: { -readonly [fact in keyof SourceFacts]: SourceFacts[fact] } = {};
  for (;;) {
    const needs = factsToRead(source, triggers, context.generators, facts);
    const lacksCommands = needs.commands && facts.commands === undefined;
    const lacksPaths = needs.changedPaths && facts.changedPaths === undefined;
    if (pulls === undefined || (!lacksCommands && !lacksPaths)) return facts;
    if (lacksCommands) facts.commands = await pulls.commands(source.ref, signal);
    if (lacksPaths) facts.changedPaths = await pulls.changedPaths(source, signal);
  }
};

export const specsOf = ({ specs, context }: Loop, id: ProjectId): SpecReader => {
  const { forge } = projectOf(context, id);
  const reader = specs.get(forge) ?? new SpecReader(forge, context.sections);
  specs.set(forge, reader);
  return reader;
};

const commitsOfBranches = (sources: readonly Source[]): ReadonlyMap<string, CommitSha> =>
  new Map(sources.filter(({ ref }) => ref.kind === 'branch').map(({ ref, commit }) => [ref.name, commit]));

const invalid = (faults: readonly Fault[]): Decision => {
  const fault = failure('spec.invalid', faults[0] === undefined ? 'eph.yaml cannot be understood' : printFault(faults[0]));
  return { state: 'unknown', because: `eph.yaml cannot be understood: ${fault.message}`, fault };
};

/**
 * What triggers mean for a branch or tag: nobody can say what it changes, and where there are pull requests, `auto` is about them
 * and not about the branches they come from.
 */
const forRefs = (triggers: readonly Trigger[], hasPulls: boolean): readonly Trigger[] =>
  triggers.filter(({ type }) => !(type === 'auto' && hasPulls)).map(({ paths: _, ...trigger }) => trigger as Trigger);

const unknown = (because: string, fault: Failure): Decision => ({ state: 'unknown', because, fault });
const unreadable = (fault: Failure): Decision => unknown(`eph.yaml could not be read: ${fault.message}`, fault);
