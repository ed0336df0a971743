import { type CommitSha, completeReading, failure, incompleteReading, type Reading } from '@eph/contract';
import type { Pulls } from '@eph/engine/source/pulls';
import { parserOf } from '../forge-http/forge-http.ts';
import { acknowledge, changedFiles, pathsOf, readDefaultBranch } from '../forge-http/github-api.ts';
import { createPulls } from '../forge-http/numbered-pulls.ts';
import { readApprovals } from './approvals.ts';
import { readChecks } from './checks.ts';
import { readCommands } from './commands.ts';
import type { GithubClient } from './github-client.ts';
import { createLabels } from './labels.ts';
import { wholePullShape } from './shapes.ts';

const parseWholePull = parserOf(wholePullShape);

export const createGithubPulls = (client: GithubClient, now: () => number): Pulls => {
  const { shown } = client;

  /** The list does not name its commit. The pull request, read after it, shows the head and the number of files. */
  const readChangedPaths = async (number: number, commit: CommitSha, signal: AbortSignal): Promise<Reading<string>> => {
    const files = await client.list(`/pulls/${number}/files`, changedFiles, signal);
    if (!files.complete) return incompleteReading([], files.refusal.fault);
    const pull = await client.read(`/pulls/${number}`, parseWholePull, signal);
    if (!pull.ok) return incompleteReading([], pull.fault);
    const { head, changed_files: count } = pull.value;
    const doubt = (why: string) => incompleteReading<string>([], failure('forge.incomplete', why));
    if (head.sha !== commit)
      return doubt(`Pull request ${number} of ${shown} has a newer commit, so its changed files are unknown.`);
    if (files.items.length !== count) return doubt(`Pull request ${number} of ${shown} changes more files than GitHub lists.`);
    return completeReading(pathsOf(files.items));
  };

  return createPulls({
    shown,
    checks: (commit, signal) => readChecks(client, commit, signal),
    commands: (number, signal) => readCommands(client, number, now, signal),
    acknowledge: (_number, id, signal) => acknowledge(client, id, signal),
    approvals: (number, commit, signal) => readApprovals(client, number, commit, signal),
    changedPaths: readChangedPaths,
    defaultBranch: (signal) => readDefaultBranch(client, signal),
    labels: createLabels(client),
  });
};
