import {
  type Action,
  type Condition,
  type EnvironmentStatus,
  type Failure,
  type ObservedComponent,
  type ObservedEnvironment,
  type Phase,
  type ResolvedComponent,
  reasonOf,
} from '@eph/contract';
import { type Fact, transition } from './conditions.ts';

export interface Findings {
  readonly wanted: boolean;
  readonly because: string;
  readonly held: boolean;
  /** Faults of `eph.yaml` and of what it refers to; empty when it is sound. */
  readonly specFaults: readonly Failure[];
  readonly observed: ObservedEnvironment | undefined;
  /** What is still to be done after this run. */
  readonly actions: readonly Action[];
  readonly failures: readonly Failure[];
  /** What `eph.yaml` asks for and this version does not do yet. */
  readonly notices: readonly string[];
  /** What works otherwise than a file says. */
  readonly remarks: readonly string[];
  /** Why the platform's configuration in force is not the newest; absent when it is. */
  readonly staleConfiguration: Failure | undefined;
  /** What is known about the images of the wanted version; absent where it names none. */
  readonly images?: Pick<Condition, 'status' | 'reason' | 'message'> | undefined;
  /** The components as they should be; empty while that is not known. */
  readonly components: readonly Pick<ResolvedComponent, 'name' | 'provider' | 'revision'>[];
  /** The commit these findings speak of. */
  readonly generation: string;
}

/** Everything that was found, as conditions, a phase and one sentence. The only place where findings become a status. */
export const summarize = (findings: Findings, previous: EnvironmentStatus | undefined, now: string): EnvironmentStatus => {
  const facts = computeFacts(findings);
  return {
    phase: computePhase(findings, facts),
    summary: computeSummary(findings),
    conditions: transition(previous?.conditions ?? [], facts, findings.generation, now),
  };
};

const computeFacts = (findings: Findings): readonly Fact[] => {
  const answers = isAnswering(findings.observed);
  const stall = firstStall(findings);
  const broken = findings.specFaults[0];
  const ready = findings.wanted && isQuiet(findings) && answers && !usesFallback(findings);
  const facts: Fact[] = [
    fact('Ready', ready, ready ? 'Answering' : 'NotReady', ready ? 'the wanted version answers' : computeSummary(findings)),
    fact('Available', answers, answers ? 'Answering' : 'NothingAnswers', answers ? 'a version answers' : 'nothing answers yet'),
    fact('SpecValid', broken === undefined, broken === undefined ? 'Understood' : reasonOf(broken), broken?.message ?? ''),
    fact(
      'Progressing',
      !ready && stall === undefined && !findings.held,
      ready ? 'Settled' : stall !== undefined ? 'Stalled' : findings.held ? 'Held' : 'Working',
      ready ? '' : computeSummary(findings),
    ),
    fact('Stalled', stall !== undefined, stall === undefined ? 'NotStalled' : reasonOf(stall), stall?.message ?? ''),
  ];
  if (findings.images !== undefined) facts.push({ type: 'ImagesResolved', ...findings.images });
  const kept = findings.wanted ? findings.actions.find(isHeld)?.reason : undefined;
  if (findings.held) facts.push(fact('Held', true, 'TooManyDeletions', tooMany));
  else if (kept !== undefined) facts.push(fact('Held', true, 'ProviderNotConfigured', kept));
  if (findings.remarks.length > 0) facts.push(fact('Warning', true, 'CheckConfiguration', findings.remarks.join('; ')));
  if (findings.notices.length > 0) facts.push(fact('Unsupported', true, 'NotAvailableYet', findings.notices.join('; ')));
  const { staleConfiguration: stale } = findings;
  if (stale !== undefined)
    facts.push(fact('ConfigurationStale', true, reasonOf(stale), `the last good reading is in force: ${stale.message}`));
  return facts;
};

const tooMany = 'more environments than usual wanted to go at once; an operator must release it';

const fact = (type: Fact['type'], holds: boolean, reason: string, message: string): Fact => ({
  type,
  status: holds ? 'True' : 'False',
  reason,
  message,
});

const computePhase = (findings: Findings, facts: readonly Fact[]): Phase => {
  const holds = (type: Condition['type']): boolean => facts.some((one) => one.type === type && one.status === 'True');
  if (!findings.wanted) return findings.held ? 'Held' : 'Removing';
  if (holds('Ready')) return 'Ready';
  const troubled = holds('Stalled') || isFailing(findings.observed) || findings.actions.some(isGivenUp);
  if (holds('Available')) return troubled || findings.failures.length > 0 || usesFallback(findings) ? 'Degraded' : 'Progressing';
  if (troubled) return 'Failed';
  return findings.observed === undefined ? 'Pending' : 'Progressing';
};

const computeSummary = (findings: Findings): string => {
  if (!findings.wanted) {
    const blocker = findings.actions.find((action) => action.type === 'wait' && action.code === 'component.removing');
    if (blocker !== undefined) return `being removed: ${blocker.reason}`;
    return findings.held ? `removal is held: ${findings.because}` : `being removed: ${findings.because}`;
  }
  const serving = servesAnother(findings) ? '; the version before keeps serving' : '';
  const trouble = findings.specFaults[0] ?? findings.failures[0];
  if (trouble !== undefined) return serving === '' ? trouble.message : `${trouble.message.replace(/\.$/, '')}${serving}`;
  if (isQuiet(findings)) return usesFallback(findings) ? (findings.images?.message ?? '') : '';
  const waiting = findings.actions.find((action) => action.type === 'wait' && !isHousekeeping(action));
  if (waiting !== undefined) return `${waiting.reason}${isFailing(findings.observed) || isForImage(waiting) ? serving : ''}`;
  const next = findings.actions[0];
  return next === undefined ? '' : next.reason;
};

const isQuiet = (findings: Findings): boolean =>
  findings.specFaults.length === 0 && findings.failures.length === 0 && findings.actions.every(isHousekeeping);

/** Stopping or keeping what gets no traffic any more does not make an environment less ready. */
const isHousekeeping = (action: Action): boolean =>
  action.type === 'destroy' || (action.type === 'wait' && housekeeping.includes(action.code));

const housekeeping: readonly string[] = ['component.draining', 'component.removing', 'plan.held'];

const isForImage = (action: Action): boolean => action.type === 'wait' && action.code.startsWith('artifact.');

/** It still may come, but nobody should wait for it. */
const isGivenUp = (action: Action): boolean => action.type === 'wait' && action.code === 'artifact.not_found';

/** What answers was not built from the wanted commit. */
const usesFallback = ({ images }: Findings): boolean => images?.reason === 'UsingFallbackImage';

const isHeld = (action: Action): boolean => action.type === 'wait' && action.code === 'plan.held';

const firstStall = (findings: Findings): Failure | undefined =>
  [...findings.specFaults, ...findings.failures, ...findings.actions.flatMap(toStall)].find(
    (one) => one.disposition === 'stall' || one.disposition === 'bug',
  );

/** A component for which nothing is tried again. */
const toStall = (action: Action): readonly Failure[] =>
  action.type === 'wait' && action.code === 'component.stalled'
    ? [{ code: action.code, message: action.reason, disposition: 'stall' }]
    : [];

/** Components that can get the traffic; more than one while it moves from one to another. */
const answering = (observed: ObservedEnvironment | undefined): readonly ObservedComponent[] =>
  observed?.components.filter(({ entry, current }) => entry && current?.health === 'ready') ?? [];

const isAnswering = (observed: ObservedEnvironment | undefined): boolean => answering(observed).length > 0;

/** What answers is not what Git asks for. */
const servesAnother = (findings: Findings): boolean =>
  isAnswering(findings.observed) && answering(findings.observed).every((component) => isAnother(component, findings));

const isAnother = ({ name, provider, current }: ObservedComponent, { components, generation }: Findings): boolean => {
  const wanted = components.find((one) => one.name === name && one.provider === provider);
  if (wanted !== undefined) return current?.revision !== wanted.revision;
  return generation !== '' && current?.commit !== generation;
};

const isFailing = (observed: ObservedEnvironment | undefined): boolean =>
  observed?.components.some((component) => component.next?.health === 'failing' || component.current?.health === 'failing') ??
  false;
