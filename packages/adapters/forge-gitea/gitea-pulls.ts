import { type CommitSha, completeReading, failure, incompleteReading, type Reading } from '@eph/contract';
import type { Pulls } from '@eph/engine/source/pulls';
import {
  acknowledge,
  type ChangedFileShape,
  changedFiles,
  pathsOf,
  readDefaultBranch,
  readStatuses,
  toCheck,
} from '../forge-http/github-api.ts';
import { createPulls } from '../forge-http/numbered-pulls.ts';
import { readApprovals } from './approvals.ts';
import { readCommands } from './commands.ts';
import type { GiteaClient } from './gitea-client.ts';
import { createLabels } from './labels.ts';
import { readPull } from './repository.ts';

export const createGiteaPulls = (client: GiteaClient): Pulls => {
  const { shown } = client;

  const readChangedPaths = async (number: number, commit: CommitSha, signal: AbortSignal): Promise<Reading<string>> => {
    const files = await client.list(`/pulls/${number}/files`, changedFiles, signal);
    if (!files.complete) return incompleteReading([], files.refusal.fault);
    const isOfCommit =
      files.items.length > 0
        ? files.items.every((file) => comparedCommit(file) === commit)
        : await isUnchangedAt(number, commit, signal);
    if (isOfCommit) return completeReading(pathsOf(files.items));
    const why = `Pull request ${number} of ${shown} has a newer commit, or its list of files is incomplete.`;
    return incompleteReading([], failure('forge.incomplete', why));
  };

  const isUnchangedAt = async (number: number, commit: CommitSha, signal: AbortSignal): Promise<boolean> => {
    const pull = await readPull(client, number, signal);
    return pull.ok && pull.value.head.sha === commit && (pull.value.changed_files ?? 0) === 0;
  };

  return createPulls({
    shown,
    async checks(commit, signal) {
      const statuses = await readStatuses(client, commit, signal);
      return statuses.complete ? completeReading(statuses.items.map(toCheck)) : incompleteReading([], statuses.refusal.fault);
    },
    commands: (number, signal) => readCommands(client, number, signal),
    acknowledge: (_number, id, signal) => acknowledge(client, id, signal),
    approvals: (number, commit, signal) => readApprovals(client, number, commit, signal),
    changedPaths: readChangedPaths,
    defaultBranch: (signal) => readDefaultBranch(client, signal),
    labels: createLabels(client),
  });
};

/** The list does not name its commit, but the URLs of the files do. */
const comparedCommit = ({ contents_url: address }: ChangedFileShape): string | null =>
  URL.canParse(address) ? new URL(address).searchParams.get('ref') : null;
