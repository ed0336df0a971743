import type { Report, Reporter } from '@eph/engine/report/reporter';
import type { Answer } from '../forge-http/answer.ts';
import { accessComments, ensureStatus } from '../forge-http/github-api.ts';
import { parseNumber } from '../forge-http/numbered-pulls.ts';
import { createPullComments } from '../forge-http/pull-comments.ts';
import { createReportQueue, createWriteOnce, type ReporterOptions, reachable } from '../forge-http/report-queue.ts';
import { readComments } from './commands.ts';
import type { GiteaClient } from './gitea-client.ts';
import { isPullGone, readPull } from './repository.ts';
import { parseLogin } from './shapes.ts';

/**
 * One comment per pull request and environment, edited in place, and one status per commit and environment. Branches and
 * tags have only the status.
 */
export const createGiteaReporter = (options: ReporterOptions<GiteaClient>): Reporter => {
  const { client, computeStatus } = options;
  const writeOnce = createWriteOnce();
  let account: Answer<string> | undefined;

  const readLogin = async (signal: AbortSignal): Promise<Answer<string>> => {
    account = account?.ok === true ? account : await client.readAccount(parseLogin, signal);
    return account;
  };

  const writeComment = createPullComments(
    options,
    accessComments(client, readLogin, async (number, signal) => {
      // Nearly always there is no comment yet, and then one request is enough.
      const pull = await readPull(client, number, signal);
      const isEmpty = pull.ok && pull.value.comments === 0;
      return isEmpty ? { complete: true, items: [] } : await readComments(client, number, signal);
    }),
  );

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
      state: state === 'inactive' ? 'skipped' : state,
      description,
      target: reachable.has(view.phase) ? view.url : '',
    };
    await writeOnce(report, 'status', [commit, wanted], () => ensureStatus(client, commit, wanted, signal));
  };

  const { ensure } = createReportQueue(async (report, signal) => {
    await ensureComment(report, signal);
    await ensureShownStatus(report, signal);
  });
  return { ensure };
};
