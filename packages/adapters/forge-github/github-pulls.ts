import { completeReading, failure, incompleteReading, type Reading, type Source, type SourceRef } from '@eph/contract';
import type { Pulls } from '@eph/engine/source/pulls';
import { z } from 'zod';
import { toError } from '../forge-http/answer.ts';
import { parseNumber, requireNumber } from '../forge-http/pull-number.ts';
import { readApprovals } from './approvals.ts';
import { readChecks } from './checks.ts';
import { readCommands } from './commands.ts';
import type { GithubClient } from './github-client.ts';
import { createLabels } from './labels.ts';
import { type ChangedFileShape, changedFileShape, wholePullShape } from './shapes.ts';

const parseFiles = (body: unknown): readonly ChangedFileShape[] => z.array(changedFileShape).parse(body);
const parseWholePull = (body: unknown): z.output<typeof wholePullShape> => wholePullShape.parse(body);

export const createGithubPulls = (client: GithubClient, now: () => number): Pulls => {
  const labels = createLabels(client);
  const { shown } = client;

  /** Readings never throw: an impossible number is reported as a fault. */
  const withNumber = async <T>(ref: SourceRef, read: (number: number) => Promise<Reading<T>>): Promise<Reading<T>> => {
    const number = parseNumber(ref);
    if (number === undefined) return incompleteReading([], failure('forge.refused', `${shown} has no such pull request.`));
    return await read(number);
  };

  /** The list does not name its commit. The pull request, read after it, shows the head and the number of files. */
  const readChangedPaths = async (number: number, { commit }: Source, signal: AbortSignal): Promise<Reading<string>> => {
    const parameters = { pull_number: number };
    const files = await client.list(
      {
        route: 'GET /repos/{owner}/{repo}/pulls/{pull_number}/files',
        parameters,
        parse: parseFiles,
        keyOf: ({ filename }) => filename,
        what: 'changed files',
      },
      { signal, fresh: true },
    );
    if (!files.complete) return incompleteReading([], files.refusal.fault);
    const route = 'GET /repos/{owner}/{repo}/pulls/{pull_number}';
    const pull = await client.read({ route, parameters, parse: parseWholePull }, { signal, fresh: true });
    if (!pull.ok) return incompleteReading([], pull.fault);
    const { head, changed_files: count } = pull.value;
    const doubt = (why: string) => incompleteReading<string>([], failure('forge.incomplete', why));
    if (head.sha !== commit)
      return doubt(`Pull request ${number} of ${shown} has a newer commit, so its changed files are unknown.`);
    if (files.items.length !== count) return doubt(`Pull request ${number} of ${shown} changes more files than GitHub lists.`);
    return completeReading([...new Set(files.items.flatMap(pathsOf))]);
  };

  return {
    checks: (commit, signal) => readChecks(client, commit, signal),
    commands: (ref, signal) => withNumber(ref, (number) => readCommands(client, number, now, signal)),

    async acknowledge(_ref, { id }, signal) {
      const route = 'POST /repos/{owner}/{repo}/issues/comments/{comment_id}/reactions';
      const answer = await client.send(route, { comment_id: Number(id), content: 'eyes' }, signal);
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

const pathsOf = ({ filename, previous_filename: before }: ChangedFileShape): readonly string[] =>
  before === undefined ? [filename] : [filename, before];
