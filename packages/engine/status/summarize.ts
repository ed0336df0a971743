import type { Action, Condition, EnvironmentStatus, Failure, ObservedComponent, ObservedEnvironment, Phase } from '@eph/contract';
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
  /** Why the platform's configuration in force is not the newest; absent when it is. */
  readonly staleConfiguration: Failure | undefined;
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
  const ready = findings.wanted && isQuiet(findings) && answers;
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
  if (findings.held)
    facts.push(
      fact('Held', true, 'TooManyDeletions', 'more environments than usual wanted to go at once; an operator must release it'),
    );
  if (findings.notices.length > 0) facts.push(fact('Unsupported', true, 'NotAvailableYet', findings.notices.join('; ')));
  const { staleConfiguration: stale } = findings;
  if (stale !== undefined)
    facts.push(fact('ConfigurationStale', true, reasonOf(stale), `the last good reading is in force: ${stale.message}`));
  return facts;
};

const fact = (type: Fact['type'], holds: boolean, reason: string, message: string): Fact => ({
  type,
  status: holds ? 'True' : 'False',
  reason,
  message,
});

const computePhase = (findings: Findings, facts: readonly Fact[]): Phase => {
  const holds = (type: Condition['type']): boolean => facts.some((one) => one.type === type && one.status === 'True');
  if (!findings.wanted) return 'Removing';
  if (holds('Ready')) return 'Ready';
  const troubled = holds('Stalled') || isFailing(findings.observed);
  if (holds('Available')) return troubled || findings.failures.length > 0 ? 'Degraded' : 'Progressing';
  if (troubled) return 'Failed';
  return findings.observed === undefined ? 'Pending' : 'Progressing';
};

const computeSummary = (findings: Findings): string => {
  if (!findings.wanted) return findings.held ? `removal is held: ${findings.because}` : `being removed: ${findings.because}`;
  const serving = servesAnother(findings) ? '; the version before keeps serving' : '';
  const trouble = findings.specFaults[0] ?? findings.failures[0];
  if (trouble !== undefined) return `${trouble.message}${serving}`;
  if (isQuiet(findings)) return '';
  const waiting = findings.actions.find((action) => action.type === 'wait' && !isHousekeeping(action));
  if (waiting !== undefined) return `${waiting.reason}${isFailing(findings.observed) ? serving : ''}`;
  const next = findings.actions[0];
  return next === undefined ? '' : next.reason;
};

const isQuiet = (findings: Findings): boolean =>
  findings.specFaults.length === 0 && findings.failures.length === 0 && findings.actions.every(isHousekeeping);

/** Stopping a version nobody is sent to any more does not make an environment less ready. */
const isHousekeeping = (action: Action): boolean =>
  action.type === 'destroy' || (action.type === 'wait' && action.code === 'component.draining');

const firstStall = (findings: Findings): Failure | undefined =>
  [...findings.specFaults, ...findings.failures].find((one) => one.disposition === 'stall' || one.disposition === 'bug');

const reasonOf = (failure: Failure): string =>
  failure.code
    .split(/[._]/)
    .map((word) => word.charAt(0).toUpperCase() + word.slice(1))
    .join('');

const entryOf = (observed: ObservedEnvironment | undefined): ObservedComponent | undefined =>
  observed?.components.find((component) => component.entry);

/** The component that gets the traffic has a version that answers. */
const isAnswering = (observed: ObservedEnvironment | undefined): boolean => entryOf(observed)?.current?.health === 'ready';

/** What answers is not what Git asks for. */
const servesAnother = ({ observed, generation }: Findings): boolean =>
  isAnswering(observed) && generation !== '' && entryOf(observed)?.current?.commit !== generation;

const isFailing = (observed: ObservedEnvironment | undefined): boolean =>
  observed?.components.some((component) => component.next?.health === 'failing' || component.current?.health === 'failing') ??
  false;
