import { type Approval, type Command, type Failure, failure, type Reading, type Source } from '@eph/contract';
import { appliesTo, findShortCommand, type ShortCommand } from './commands.ts';
import { printName, printNames, printSource } from './printed-names.ts';

/**
 * What a project does with pull requests from forks, whose commits are untrusted.
 * - `deny`: no environment.
 * - `base`: an environment without secrets, with the configuration of the default branch or of a target branch that the
 *   operator lists. Who opens a pull request chooses its target, so no other branch counts.
 * - `approve`: an environment once somebody with write access has approved exactly this commit.
 */
export const forkModes = ['deny', 'base', 'approve'] as const;
export type ForkMode = (typeof forkModes)[number];

export type ForkDecision =
  | {
      readonly state: 'allowed';
      readonly because: string;
      /** Whose configuration applies: the commit's, or that of a branch of the repository, without secrets. */
      readonly trust: 'commit' | 'base';
    }
  | { readonly state: 'denied'; readonly because: string; readonly short?: ShortCommand }
  | { readonly state: 'unknown'; readonly because: string; readonly fault: Failure };

/** Only mode `approve` needs them, and the commands only where nobody approved otherwise. */
export interface ApprovalFacts {
  /** By people with write access, for exactly the commit of the source. */
  readonly approvals?: Reading<Approval> | undefined;
  readonly commands?: Reading<Command> | undefined;
}

/** What a comment that approves a commit begins with. A file of the fork cannot change it. */
const approvalPatterns = ['/deploy'];

export const decideFork = (mode: ForkMode, source: Source, facts: ApprovalFacts = {}): ForkDecision => {
  const who = printSource(source.ref);
  if (source.ref.kind !== 'pr') return { state: 'allowed', because: `${who} is in the repository itself`, trust: 'commit' };
  if (source.pull === undefined) return undecided(`it is not known where ${who} comes from`);
  const { fork } = source.pull;
  if (fork === null) return { state: 'allowed', because: `${who} comes from the repository itself`, trust: 'commit' };
  const from = `${who} comes from the fork ${printName(fork)}`;
  switch (mode) {
    case 'deny':
      return { state: 'denied', because: `${from}, and this project does not allow environments for forks` };
    case 'base':
      return {
        state: 'allowed',
        because: `${from} and gets the configuration of the repository, without secrets`,
        trust: 'base',
      };
    case 'approve':
      return decideByApprovals(from, source, facts);
  }
};

const decideByApprovals = (from: string, source: Source, { approvals, commands }: ApprovalFacts): ForkDecision => {
  const what = `commit ${source.commit.slice(0, 12)}`;
  const given = commands?.items ?? [];
  const comments = given.filter((one) => one.mayWrite && approvalPatterns.some((pattern) => appliesTo(one, pattern, source)));
  const names = [...(approvals?.items ?? []), ...comments].map(({ author }) => author);
  if (names.length > 0)
    return { state: 'allowed', because: `${from}, and ${printNames(names)} approved ${what}`, trust: 'commit' };
  if (approvals === undefined || commands === undefined) return undecided(`${from}, and the approvals of ${what} were not read`);
  for (const { complete, faults } of [approvals, commands])
    if (!complete) return undecided(`${from}, and the approvals of ${what} could not be read`, faults[0]);
  const short = findShortCommand(given, approvalPatterns, source);
  const because = `${from}, and nobody with write access has approved ${what}`;
  return { state: 'denied', because, ...(short && { short }) };
};

const undecided = (because: string, fault = failure('forge.incomplete', because)): ForkDecision => ({
  state: 'unknown',
  because: fault.message === because ? because : `${because}: ${fault.message}`,
  fault,
});
