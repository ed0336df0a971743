import {
  type Approval,
  type Check,
  type CommitSha,
  EphError,
  failure,
  incompleteReading,
  type Reading,
  type SourceRef,
} from '@eph/contract';
import type { Command, Pulls } from '@eph/engine/source/pulls';
import { type Answer, toError, unwrap } from './answer.ts';

/** As `Pulls`, by number. Labels throw `EphError`, and so does what is refused. */
export interface NumberedPulls {
  readonly shown: string;
  checks(commit: CommitSha, signal: AbortSignal): Promise<Reading<Check>>;
  commands(number: number, signal: AbortSignal): Promise<Reading<Command>>;
  acknowledge(number: number, id: string, signal: AbortSignal): Promise<Answer<unknown>>;
  readonly approvals?: (number: number, commit: CommitSha, signal: AbortSignal) => Promise<Reading<Approval>>;
  changedPaths(number: number, commit: CommitSha, signal: AbortSignal): Promise<Reading<string>>;
  defaultBranch(signal: AbortSignal): Promise<Answer<string>>;
  readonly labels: Labels;
}

export interface Labels {
  labelledAt(number: number, label: string, signal: AbortSignal): Promise<string | undefined>;
  add(number: number, label: string, signal: AbortSignal): Promise<void>;
  remove(number: number, label: string, signal: AbortSignal): Promise<void>;
}

/** The number of a pull request; undefined if a forge can have no such one. */
export const parseNumber = ({ kind, name }: SourceRef): number | undefined =>
  kind === 'pr' && /^[1-9]\d{0,8}$/.test(name) ? Number(name) : undefined;

export const createPulls = (numbered: NumberedPulls): Pulls => {
  const { shown, labels, approvals } = numbered;

  /** Readings never throw: an impossible number is reported as a fault. */
  const read = async <T>(ref: SourceRef, readNumber: (number: number) => Promise<Reading<T>>): Promise<Reading<T>> => {
    const number = parseNumber(ref);
    if (number === undefined) return incompleteReading([], failure('forge.refused', `${shown} has no such pull request.`));
    return await readNumber(number);
  };

  const requireNumber = (ref: SourceRef): number => {
    const number = parseNumber(ref);
    if (number === undefined)
      throw new EphError('forge.refused', `${shown} has no pull request ${JSON.stringify(ref.name.slice(0, 40))}.`);
    return number;
  };

  return {
    checks: (commit, signal) => numbered.checks(commit, signal),
    commands: (ref, signal) => read(ref, (number) => numbered.commands(number, signal)),
    ...(approvals && { approvals: (ref, commit, signal) => read(ref, (number) => approvals(number, commit, signal)) }),
    defaultBranch: async (signal) => unwrap(await numbered.defaultBranch(signal)),
    changedPaths: ({ ref, commit }, signal) => read(ref, (number) => numbered.changedPaths(number, commit, signal)),

    async acknowledge(ref, { id }, signal) {
      const number = requireNumber(ref);
      if (!/^\d{1,15}$/.test(id))
        throw new EphError('forge.refused', `${shown} has no comment ${JSON.stringify(id.slice(0, 40))}.`);
      const answer = await numbered.acknowledge(number, id, signal);
      // Nothing to do for a deleted comment.
      if (!answer.ok && answer.meaning !== 'gone') throw toError(answer);
    },

    labelledAt: async (ref, label, signal) => await labels.labelledAt(requireNumber(ref), label, signal),
    addLabel: async (ref, label, signal) => await labels.add(requireNumber(ref), label, signal),
    removeLabel: async (ref, label, signal) => await labels.remove(requireNumber(ref), label, signal),
  };
};
