import { completeReading, incompleteReading } from '@eph/contract';
import type { Pulls } from '@eph/engine/source/pulls';
import { parseNothing } from '../forge-http/forge-http.ts';
import { readDefaultBranch } from '../forge-http/github-api.ts';
import { createPulls } from '../forge-http/numbered-pulls.ts';
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
    // GitLab answers a second reaction as it answers one to a deleted comment, which is ignored.
    acknowledge: (number, id, signal) =>
      client.send('POST', `/merge_requests/${number}/notes/${id}/award_emoji`, { name: 'eyes' }, parseNothing, signal),
    // Approvals are absent: GitLab stores when somebody approved, not what.
    defaultBranch: (signal) => readDefaultBranch(client, signal),
    changedPaths: (number, commit, signal) => readChangedPaths(client, number, commit, signal),
    labels: createLabels(client),
  });
