import type { ReportView } from '@eph/contract';
import type { Report, Reporter } from '@eph/engine/report/reporter';
import { accessComments, createStatusWriter } from '../forge-http/github-api.ts';
import { createPullComments } from '../forge-http/pull-comments.ts';
import { createReportQueue, createWriteOnce, type ReporterOptions, reachable } from '../forge-http/report-queue.ts';
import { readComments } from './commands.ts';
import { createDeployments, type WantedDeployment } from './deployments.ts';
import type { GithubClient } from './github-client.ts';

/**
 * Per environment: one comment on its pull request, edited in place, one status on its commit, and one deployment while
 * it exists. Branches and tags have no comment.
 */
export const createGithubReporter = (options: ReporterOptions<GithubClient>): Reporter => {
  const { client, computeStatus } = options;
  const deployments = createDeployments(client);
  const writeOnce = createWriteOnce();

  const comments = createPullComments(
    options,
    accessComments(client, client.login, (number, signal) => readComments(client, number, signal)),
  );

  // GitHub has no inactive state, and only a reachable environment is a success.
  const ensureStatus = createStatusWriter(options, 'pending');

  const ensureDeployment = async (report: Report, signal: AbortSignal): Promise<void> => {
    const wanted = toDeployment(report, computeStatus(report.view).description);
    await writeOnce(report, 'deployment', wanted, () =>
      'state' in wanted ? deployments.ensure(wanted, signal) : deployments.remove(wanted, signal),
    );
  };

  /** If one fails, the others are still written. */
  const { ensure } = createReportQueue(async (report, signal) => {
    const outcomes = await Promise.allSettled(
      [comments.ensure, ensureStatus, ensureDeployment].map((write) => write(report, signal)),
    );
    for (const outcome of outcomes) if (outcome.status === 'rejected') throw outcome.reason;
    if (!report.last) return;
    comments.forget(report.environment);
    deployments.forget(report.environment);
  });
  return { ensure, answer: comments.answer };
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
