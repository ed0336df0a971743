import { type CommitSha, completeReading, incompleteReading, type Reading } from '@eph/contract';
import type { Check } from '@eph/engine/source/pulls';
import type { Listed } from '../forge-http/forge-http.ts';
import { readStatuses, toCheck } from '../forge-http/github-api.ts';
import type { GithubClient } from './github-client.ts';
import { type CheckRunShape, checkRunsShape } from './shapes.ts';

const checkRuns: Listed<CheckRunShape> = {
  what: 'check runs',
  parse: (body) => checkRunsShape.parse(body).check_runs,
  keyOf: ({ id }) => id,
};

/** As `Pulls.checks`: the newest check run of each name and App, and commit statuses. */
export const readChecks = async (client: GithubClient, commit: CommitSha, signal: AbortSignal): Promise<Reading<Check>> => {
  const [runs, statuses] = await Promise.all([
    client.list(`/commits/${commit}/check-runs?filter=latest`, checkRuns, signal),
    readStatuses(client, commit, signal),
  ]);
  if (!runs.complete) return incompleteReading([], runs.refusal.fault);
  if (!statuses.complete) return incompleteReading([], statuses.refusal.fault);
  return completeReading(mergeChecks([...runs.items.map(runToCheck), ...statuses.items.map(toCheck)]));
};

const passing = new Set(['success', 'neutral', 'skipped']);

const runToCheck = ({ name, status, conclusion, text }: CheckRunShape): Check => {
  if (status !== 'completed' || conclusion === null) return { name, state: 'pending', text };
  return { name, state: passing.has(conclusion) ? 'success' : 'failure', text };
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
