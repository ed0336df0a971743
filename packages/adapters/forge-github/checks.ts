import { type CommitSha, completeReading, incompleteReading, type Reading } from '@eph/contract';
import type { Check } from '@eph/engine/source/pulls';
import type { Listing } from '../forge-http/read-pages.ts';
import type { GithubClient } from './github-client.ts';
import { type CheckRunShape, checkRunsShape, combinedStatusShape, type StatusShape } from './shapes.ts';

const parseRuns = (body: unknown): readonly CheckRunShape[] => checkRunsShape.parse(body).check_runs;
const parseStatuses = (body: unknown): readonly StatusShape[] => combinedStatusShape.parse(body).statuses;

/** As `Pulls.checks`: check runs and commit statuses. */
export const readChecks = async (client: GithubClient, commit: CommitSha, signal: AbortSignal): Promise<Reading<Check>> => {
  const [runs, statuses] = await Promise.all([readRuns(client, commit, signal), readStatuses(client, commit, signal)]);
  if (!runs.complete) return incompleteReading([], runs.refusal.fault);
  if (!statuses.complete) return incompleteReading([], statuses.refusal.fault);
  return completeReading(mergeChecks([...runs.items.map(toCheck), ...statuses.items.map(statusToCheck)]));
};

/** The newest run of each name and App. */
const readRuns = (client: GithubClient, ref: CommitSha, signal: AbortSignal): Promise<Listing<CheckRunShape>> =>
  client.list(
    {
      route: 'GET /repos/{owner}/{repo}/commits/{ref}/check-runs',
      parameters: { ref, filter: 'latest' },
      parse: parseRuns,
      keyOf: ({ id }) => id,
      what: 'check runs',
    },
    { signal },
  );

export const readStatuses = (client: GithubClient, ref: CommitSha, signal: AbortSignal): Promise<Listing<StatusShape>> =>
  client.list(
    {
      route: 'GET /repos/{owner}/{repo}/commits/{ref}/status',
      parameters: { ref },
      parse: parseStatuses,
      keyOf: ({ context }) => context,
      what: 'statuses',
    },
    { signal, fresh: true },
  );

const passing = new Set(['success', 'neutral', 'skipped']);

const toCheck = ({ name, status, conclusion }: CheckRunShape): Check => {
  if (status !== 'completed' || conclusion === null) return { name, state: 'pending' };
  return { name, state: passing.has(conclusion) ? 'success' : 'failure' };
};

const statusToCheck = ({ context, state }: StatusShape): Check => {
  if (state === 'success' || state === 'pending') return { name: context, state };
  return { name: context, state: 'failure' };
};

const severity: readonly Check['state'][] = ['success', 'pending', 'failure'];

/** Several Apps may use one name; then the worst state counts. */
const mergeChecks = (checks: readonly Check[]): readonly Check[] => {
  const merged = new Map<string, Check>();
  for (const check of checks) {
    const other = merged.get(check.name);
    if (other === undefined || severity.indexOf(check.state) > severity.indexOf(other.state)) merged.set(check.name, check);
  }
  return [...merged.values()];
};
