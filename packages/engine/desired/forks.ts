import { type Approval, type Failure, failure, type Reading, type Source } from '@eph/contract';
import { printName, printNames, printSource } from './printed-names.ts';

/**
 * What a project does with pull requests from forks, whose commits are untrusted.
 * - `deny`: no environment.
 * - `base`: an environment with the configuration of the base branch, without secrets.
 * - `approve`: an environment once somebody with write access has approved exactly this commit.
 */
export const forkModes = ['deny', 'base', 'approve'] as const;
export type ForkMode = (typeof forkModes)[number];

export type ForkDecision =
  | {
      readonly state: 'allowed';
      readonly because: string;
      /** Whose configuration applies: the commit's, or that of the base branch without secrets. */
      readonly trust: 'commit' | 'base';
    }
  | { readonly state: 'denied'; readonly because: string }
  | { readonly state: 'unknown'; readonly because: string; readonly fault: Failure };

/** `approvals`: by people with write access, for exactly the commit of the source. Only mode `approve` needs them. */
export const decideFork = (mode: ForkMode, source: Source, approvals?: Reading<Approval>): ForkDecision => {
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
        because: `${from} and gets the configuration of its base branch, without secrets`,
        trust: 'base',
      };
    case 'approve':
      return decideByApprovals(from, source, approvals);
  }
};

const decideByApprovals = (from: string, { commit }: Source, approvals: Reading<Approval> | undefined): ForkDecision => {
  const what = `commit ${commit.slice(0, 12)}`;
  if (approvals === undefined) return undecided(`${from}, and the approvals of ${what} were not read`);
  if (approvals.items.length > 0) {
    const names = approvals.items.map(({ author }) => author);
    return { state: 'allowed', because: `${from}, and ${printNames(names)} approved ${what}`, trust: 'commit' };
  }
  if (!approvals.complete) return undecided(`${from}, and the approvals of ${what} could not be read`, approvals.faults[0]);
  return { state: 'denied', because: `${from}, and nobody with write access has approved ${what}` };
};

const undecided = (because: string, fault = failure('forge.incomplete', because)): ForkDecision => ({
  state: 'unknown',
  because: fault.message === because ? because : `${because}: ${fault.message}`,
  fault,
});
