import type { ReportView } from '@eph/contract';
import type { Report, Reporter } from '@eph/engine/report/reporter';
import { toError, unwrap } from '../forge-http/answer.ts';
import { createPullComments } from '../forge-http/pull-comments.ts';
import { createReportQueue, createWriteOnce, type ReporterOptions, reachable } from '../forge-http/report-queue.ts';
import { ensureStatus, type WantedStatus } from './commit-statuses.ts';
import { readComments } from './conversation.ts';
import { createDeployments, type WantedDeployment } from './deployments.ts';
import type { GithubClient } from './github-client.ts';
import { type CommentShape, commentShape, loginOf } from './shapes.ts';

const parseComment = (body: unknown): CommentShape => commentShape.parse(body);

/**
 * Per environment: one comment on its pull request, edited in place, one status on its commit, and one deployment while
 * it exists. Branches and tags have no comment.
 */
export const createGithubReporter = (options: ReporterOptions<GithubClient>): Reporter => {
  const { client, computeStatus } = options;
  const deployments = createDeployments(client);
  const writeOnce = createWriteOnce();

  const ensureComment = createPullComments(options, {
    async readOwn(number, signal) {
      const login = unwrap(await client.login(signal));
      const comments = await readComments(client, number, { signal, fresh: true });
      if (!comments.complete) throw toError(comments.refusal);
      return comments.items.filter(({ user }) => loginOf(user) === login);
    },
    async write(number, body, signal) {
      const route = 'POST /repos/{owner}/{repo}/issues/{issue_number}/comments';
      return unwrap(await client.send(route, { issue_number: number, body }, signal, parseComment)).id;
    },
    edit: (_number, id, body, signal) =>
      client.send('PATCH /repos/{owner}/{repo}/issues/comments/{comment_id}', { comment_id: id, body }, signal),
  });

  const ensureShownStatus = async (report: Report, signal: AbortSignal): Promise<void> => {
    const { commit, view } = report;
    const { state, description } = computeStatus(view);
    const wanted: WantedStatus = {
      context: `eph/${view.name}`,
      // GitHub has no inactive state, and only a reachable environment is a success.
      state: state === 'inactive' ? 'pending' : state,
      description,
      target_url: reachable.has(view.phase) ? view.url : null,
    };
    await writeOnce(report, 'status', [commit, wanted], () => ensureStatus(client, commit, wanted, signal));
  };

  const ensureDeployment = async (report: Report, signal: AbortSignal): Promise<void> => {
    const wanted = toDeployment(report, computeStatus(report.view).description);
    await writeOnce(report, 'deployment', wanted, () =>
      'state' in wanted ? deployments.ensure(wanted, signal) : deployments.remove(wanted, signal),
    );
  };

  /** If one fails, the others are still written. */
  const { ensure } = createReportQueue(async (report, signal) => {
    const outcomes = await Promise.allSettled(
      [ensureComment, ensureShownStatus, ensureDeployment].map((write) => write(report, signal)),
    );
    for (const outcome of outcomes) if (outcome.status === 'rejected') throw outcome.reason;
    if (report.last) deployments.forget(report.environment);
  });
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
