import type { EnvironmentId, ReportView } from '@eph/contract';
import type { Report, Reporter } from '@eph/engine/report/reporter';
import { createReportQueue, type ReporterOptions, reachable } from '../forge-http/report-queue.ts';
import { ensureStatus, type WantedStatus } from './commit-statuses.ts';
import { createDeployments, type WantedDeployment } from './deployments.ts';
import type { GithubClient } from './github-client.ts';
import { type CommentState, createPullComments } from './pull-comments.ts';
import { parseNumber } from './pull-source.ts';

/** What this process knows to be written. A value is removed while it is being written, because that may fail. */
interface KnownState {
  comment?: CommentState;
  status?: string;
  deployment?: string;
}

/**
 * Per environment: one comment on its pull request, edited in place, one status on its commit, and one deployment while
 * it exists. Branches and tags have no comment.
 */
export const createGithubReporter = (options: ReporterOptions<GithubClient>): Reporter => {
  const { client, renderComment, computeStatus, comments: isCommenting } = options;
  const comments = createPullComments(client);
  const deployments = createDeployments(client);
  const known = new Map<EnvironmentId, KnownState>();

  const ensureComment = async (report: Report, written: KnownState, signal: AbortSignal): Promise<void> => {
    const number = parseNumber(report.source);
    if (number === undefined || !isCommenting) return;
    const wanted = { number, environment: report.environment, body: renderComment(report) };
    const { comment } = written;
    delete written.comment;
    written.comment = await comments.ensure(wanted, comment, signal);
  };

  const ensureShownStatus = async ({ commit, view }: Report, written: KnownState, signal: AbortSignal): Promise<void> => {
    const { state, description } = computeStatus(view);
    const status: WantedStatus = {
      context: `eph/${view.name}`,
      // GitHub has no inactive state, and only a reachable environment is a success.
      state: state === 'inactive' ? 'pending' : state,
      description,
      target_url: reachable.has(view.phase) ? view.url : null,
    };
    const wantedKey = JSON.stringify([commit, status]);
    if (written.status === wantedKey) return;
    delete written.status;
    await ensureStatus(client, commit, status, signal);
    written.status = wantedKey;
  };

  const ensureDeployment = async (report: Report, written: KnownState, signal: AbortSignal): Promise<void> => {
    const wanted = toDeployment(report, computeStatus(report.view).description);
    const wantedKey = JSON.stringify(wanted);
    if (written.deployment === wantedKey) return;
    delete written.deployment;
    if ('state' in wanted) await deployments.ensure(wanted, signal);
    else await deployments.remove(wanted, signal);
    written.deployment = wantedKey;
  };

  /** If one fails, the others are still written. */
  const write = async (report: Report, signal: AbortSignal): Promise<void> => {
    const { environment } = report;
    const written = known.get(environment) ?? {};
    known.set(environment, written);
    const outcomes = await Promise.allSettled(
      [ensureComment, ensureShownStatus, ensureDeployment].map((ensure) => ensure(report, written, signal)),
    );
    for (const outcome of outcomes) if (outcome.status === 'rejected') throw outcome.reason;
    if (!report.last) return;
    known.delete(environment);
    deployments.forget(environment);
  };

  const { ensure } = createReportQueue(write);
  return { ensure };
};

const deploymentStates: { readonly [phase in ReportView['phase']]: WantedDeployment['state'] | undefined } = {
  Pending: 'queued',
  Progressing: 'in_progress',
  Ready: 'success',
  Degraded: 'failure',
  Failed: 'failure',
  // The deployment is deleted with the environment.
  Removing: undefined,
  Held: undefined,
  Removed: undefined,
};

const toDeployment = (
  { project, environment, commit, view, last }: Report,
  description: string,
): WantedDeployment | Pick<WantedDeployment, 'environment' | 'group'> => {
  const group = `eph-${project}`;
  const state = deploymentStates[view.phase];
  if (state === undefined || last) return { environment, group };
  return { environment, group, commit, state, description, url: reachable.has(view.phase) ? view.url : '' };
};
