import { completeReading, EphError, failure, incompleteReading, type Reading, type SourceRef } from '@eph/contract';
import type { Pulls } from '@eph/engine/source/pulls';
import { toError } from '../forge-http/answer.ts';
import { parseNumber, requireNumber } from '../forge-http/pull-number.ts';
import { readApprovals } from './approvals.ts';
import { ensureAward } from './awards.ts';
import { readChangedPaths } from './changed-paths.ts';
import { readCommands } from './commands.ts';
import type { GitlabClient } from './gitlab-client.ts';
import { createLabels } from './labels.ts';
import { computeChecks, readStatuses } from './statuses.ts';

export const createGitlabPulls = (client: GitlabClient): Pulls => {
  const { shown } = client;
  const labels = createLabels(client);

  /** Readings never throw: an impossible number is reported as a fault. */
  const withNumber = async <T>(ref: SourceRef, read: (number: number) => Promise<Reading<T>>): Promise<Reading<T>> => {
    const number = parseNumber(ref);
    if (number === undefined) return incompleteReading([], failure('forge.refused', `${shown} has no such merge request.`));
    return await read(number);
  };

  return {
    async checks(commit, signal) {
      const statuses = await readStatuses(client, commit, signal);
      return statuses.complete ? completeReading(computeChecks(statuses.items)) : incompleteReading([], statuses.refusal.fault);
    },

    commands: (ref, signal) => withNumber(ref, (number) => readCommands(client, number, signal)),

    async acknowledge(ref, { id }, signal) {
      const number = requireNumber(ref, shown);
      if (!/^\d{1,15}$/.test(id))
        throw new EphError('forge.refused', `${shown} has no comment ${JSON.stringify(id.slice(0, 40))}.`);
      const answer = await ensureAward(client, `/merge_requests/${number}/notes/${id}`, 'eyes', signal);
      // Nothing to do for a deleted comment.
      if (!answer.ok && answer.meaning !== 'gone') throw toError(answer);
    },

    approvals: (ref, commit, signal) => withNumber(ref, (number) => readApprovals(client, number, commit, signal)),
    changedPaths: ({ ref, commit }, signal) => withNumber(ref, (number) => readChangedPaths(client, number, commit, signal)),
    labelledAt: async (ref, label, signal) => await labels.labelledAt(requireNumber(ref, shown), label, signal),
    addLabel: async (ref, label, signal) => await labels.add(requireNumber(ref, shown), label, signal),
    removeLabel: async (ref, label, signal) => await labels.remove(requireNumber(ref, shown), label, signal),
  };
};
