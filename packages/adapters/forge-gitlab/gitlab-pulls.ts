import { completeReading, incompleteReading } from '@eph/contract';
import type { Pulls } from '@eph/engine/source/pulls';
import { parseNothing } from '../forge-http/forge-http.ts';
import { createPulls } from '../forge-http/numbered-pulls.ts';
import { readApprovals } from './approvals.ts';
import { readChangedPaths } from './changed-paths.ts';
import { readCommands } from './commands.ts';
import type { GitlabClient } from './gitlab-client.ts';
import { createLabels } from './labels.ts';
import { computeChecks, readStatuses } from './statuses.ts';

export const createGitlabPulls = (client: GitlabClient): Pulls =>
  createPulls({
    shown: client.shown,
    async checks(commit, signal) {
      const statuses = await readStatuses(client, commit, signal);
      return statuses.complete ? completeReading(computeChecks(statuses.items)) : incompleteReading([], statuses.refusal.fault);
    },
    commands: (number, signal) => readCommands(client, number, signal),
    async acknowledge(number, id, signal) {
      const path = `/merge_requests/${number}/notes/${id}/award_emoji`;
      const answer = await client.send('POST', path, { name: 'eyes' }, parseNothing, signal);
      // GitLab answers the second reaction as it answers one to a deleted comment.
      return !answer.ok && answer.meaning === 'gone' ? { ok: true, value: undefined } : answer;
    },
    approvals: (number, commit, signal) => readApprovals(client, number, commit, signal),
    changedPaths: (number, commit, signal) => readChangedPaths(client, number, commit, signal),
    labels: createLabels(client),
  });
