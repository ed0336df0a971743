import type { Report, Reporter } from '@eph/engine/report/reporter';
import { toError, unwrap } from '../forge-http/answer.ts';
import { createPullComments } from '../forge-http/pull-comments.ts';
import { parseNumber } from '../forge-http/pull-number.ts';
import { createReportQueue, createWriteOnce, type ReporterOptions, reachable } from '../forge-http/report-queue.ts';
import { readComments } from './commands.ts';
import { ensureStatus } from './commit-statuses.ts';
import type { GiteaClient } from './gitea-client.ts';
import { isPullGone } from './repository.ts';
import { parseAccount, parseCreatedComment, parseNothing } from './shapes.ts';

/**
 * One comment per pull request and environment, edited in place, and one status per commit and environment. Branches and
 * tags have only the status.
 */
export const createGiteaReporter = (options: ReporterOptions<GiteaClient>): Reporter => {
  const { client, computeStatus } = options;
  const writeOnce = createWriteOnce();
  let login: string | undefined;

  const writeComment = createPullComments(options, {
    async readOwn(number, signal) {
      login ??= unwrap(await client.readAccount(parseAccount, signal)).login;
      const comments = await readComments(client, number, signal);
      if (!comments.complete) throw toError(comments.refusal);
      return comments.items.filter(({ user }) => user.login === login);
    },
    write: async (number, body, signal) =>
      unwrap(await client.send('POST', `/issues/${number}/comments`, { body }, parseCreatedComment, signal)).id,
    edit: (_number, id, body, signal) => client.send('PATCH', `/issues/comments/${id}`, { body }, parseNothing, signal),
  });

  const ensureComment = async (report: Report, signal: AbortSignal): Promise<void> => {
    try {
      await writeComment(report, signal);
    } catch (error) {
      const number = parseNumber(report.source);
      // Ignored if the pull request was deleted.
      if (number === undefined || !(await isPullGone(client, number, signal))) throw error;
    }
  };

  const ensureShownStatus = async (report: Report, signal: AbortSignal): Promise<void> => {
    const { commit, view } = report;
    const { state, description } = computeStatus(view);
    const wanted = {
      context: `eph/${view.name}`,
      state: state === 'inactive' ? ('skipped' as const) : state,
      description,
      target_url: reachable.has(view.phase) ? view.url : '',
    };
    await writeOnce(report, 'status', [commit, wanted], () => ensureStatus(client, commit, wanted, signal));
  };

  const { ensure } = createReportQueue(async (report, signal) => {
    await ensureComment(report, signal);
    await ensureShownStatus(report, signal);
  });
  return { ensure };
};
