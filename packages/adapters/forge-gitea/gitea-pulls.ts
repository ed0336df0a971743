import {
  type CommitSha,
  completeReading,
  failure,
  incompleteReading,
  type Reading,
  type Source,
  type SourceRef,
} from '@eph/contract';
import type { Check, Pulls } from '@eph/engine/source/pulls';
import { toError } from '../forge-http/answer.ts';
import { parseNumber, requireNumber } from '../forge-http/pull-number.ts';
import type { Listing } from '../forge-http/read-pages.ts';
import { readApprovals } from './approvals.ts';
import { readCommands } from './commands.ts';
import { type GiteaClient, listBy } from './gitea-client.ts';
import { createLabels } from './labels.ts';
import { readPull } from './repository.ts';
import { type ChangedFileShape, changedFileShape, listOf, parseNothing } from './shapes.ts';
import { readStatuses } from './statuses.ts';

const listedFiles = listBy('changed files', listOf(changedFileShape), ({ filename }) => filename);

const checkStates: Readonly<Record<string, Check['state']>> = {
  pending: 'pending',
  success: 'success',
  skipped: 'success',
  warning: 'failure',
  failure: 'failure',
  error: 'failure',
};

export const createGiteaPulls = (client: GiteaClient): Pulls => {
  const labels = createLabels(client);
  const { shown } = client;

  /** Readings never throw: an impossible number is reported as a fault. */
  const withNumber = async <T>(ref: SourceRef, read: (number: number) => Promise<Reading<T>>): Promise<Reading<T>> => {
    const number = parseNumber(ref);
    if (number === undefined) return incompleteReading([], failure('forge.refused', `${shown} has no such pull request.`));
    return await read(number);
  };

  const readChangedPaths = async (number: number, { commit }: Source, signal: AbortSignal): Promise<Reading<string>> => {
    const files = await client.list(`/pulls/${number}/files`, listedFiles, signal);
    if (!files.complete) return incompleteReading([], files.refusal.fault);
    const isOfCommit =
      files.items.length > 0
        ? files.items.every((file) => comparedCommit(file) === commit)
        : await isUnchangedAt(number, commit, signal);
    if (!isOfCommit)
      return incompleteReading(
        [],
        failure('forge.incomplete', `Pull request ${number} of ${shown} has a newer commit, or its list of files is incomplete.`),
      );
    return completeReading([...new Set(files.items.flatMap(pathsOf))]);
  };

  const isUnchangedAt = async (number: number, commit: CommitSha, signal: AbortSignal): Promise<boolean> => {
    const pull = await readPull(client, number, signal);
    return pull.ok && pull.value.head.sha === commit && (pull.value.changed_files ?? 0) === 0;
  };

  return {
    async checks(commit, signal) {
      const statuses = await readStatuses(client, commit, signal);
      return toReading(statuses, ({ context, status }) => ({ name: context, state: checkStates[status] ?? 'pending' }));
    },

    commands: (ref, signal) => withNumber(ref, (number) => readCommands(client, number, signal)),

    async acknowledge(_ref, { id }, signal) {
      const answer = await client.send(
        'POST',
        `/issues/comments/${encodeURIComponent(id)}/reactions`,
        { content: 'eyes' },
        parseNothing,
        signal,
      );
      // Nothing to do for a deleted comment.
      if (!answer.ok && answer.meaning !== 'gone') throw toError(answer);
    },

    approvals: (ref, commit, signal) => withNumber(ref, (number) => readApprovals(client, number, commit, signal)),
    changedPaths: (source, signal) => withNumber(source.ref, (number) => readChangedPaths(number, source, signal)),
    labelledAt: async (ref, label, signal) => await labels.labelledAt(requireNumber(ref, shown), label, signal),
    addLabel: async (ref, label, signal) => await labels.add(requireNumber(ref, shown), label, signal),
    removeLabel: async (ref, label, signal) => await labels.remove(requireNumber(ref, shown), label, signal),
  };
};

const toReading = <T, U>(listing: Listing<T>, convert: (item: T) => U): Reading<U> =>
  listing.complete ? completeReading(listing.items.map(convert)) : incompleteReading([], listing.refusal.fault);

/** The list does not name its commit, but the URLs of the files do. */
const comparedCommit = ({ contents_url: address }: ChangedFileShape): string | null =>
  URL.canParse(address) ? new URL(address).searchParams.get('ref') : null;

const pathsOf = ({ filename, previous_filename: before }: ChangedFileShape): readonly string[] =>
  before === undefined || before === '' ? [filename] : [filename, before];
