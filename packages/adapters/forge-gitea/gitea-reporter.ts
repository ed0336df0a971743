import type { Report, Reporter } from '@eph/engine/report/reporter';
import { accessComments, createStatusWriter } from '../forge-http/github-api.ts';
import { parseNumber } from '../forge-http/numbered-pulls.ts';
import { createPullComments } from '../forge-http/pull-comments.ts';
import { createReportQueue, type ReporterOptions } from '../forge-http/report-queue.ts';
import { readComments } from './commands.ts';
import type { GiteaClient } from './gitea-client.ts';
import { isPullGone, readPull } from './repository.ts';

/**
 * One comment per pull request and environment, edited in place, and one status per commit and environment. Branches and
 * tags have only the status.
 */
export const createGiteaReporter = (options: ReporterOptions<GiteaClient>): Reporter => {
  const { client } = options;

  const comments = createPullComments(
    options,
    accessComments(client, client.readLogin, async (number, signal) => {
      // Nearly always there is no comment yet, and then one request is enough.
      const pull = await readPull(client, number, signal);
      const isEmpty = pull.ok && pull.value.comments === 0;
      return isEmpty ? { complete: true, items: [] } : await readComments(client, number, signal);
    }),
  );

  const ensureComment = async (report: Report, signal: AbortSignal): Promise<void> => {
    try {
      await comments.ensure(report, signal);
    } catch (error) {
      const number = parseNumber(report.source);
      // Ignored if the pull request was deleted.
      if (number === undefined || !(await isPullGone(client, number, signal))) throw error;
    }
  };

  const ensureStatus = createStatusWriter(options, 'skipped');

  const { ensure } = createReportQueue(async (report, signal) => {
    await ensureComment(report, signal);
    await ensureStatus(report, signal);
    if (report.last) comments.forget(report.environment);
  });
  return { ensure, answer: comments.answer };
};
