import { type EnvironmentId, EphError, isEphError, type ReportView } from '@eph/contract';
import type { Report, Reporter } from '@eph/engine/report/reporter';
import { createTurns } from '../forge-http/turns.ts';
import { ensureStatus, type WantedStatus } from './commit-statuses.ts';
import type { GiteaClient } from './gitea-client.ts';
import { type CommentState, createPullComments } from './pull-comments.ts';
import { parseNumber } from './pull-source.ts';
import { isPullGone } from './repository.ts';

export interface GiteaReporterOptions {
  /** Of the forge that reads the same repository. */
  readonly client: GiteaClient;
  /** The comment about an environment, its marker included. */
  readonly renderComment: (report: Report) => string;
  readonly computeStatus: (view: ReportView) => {
    readonly state: 'success' | 'pending' | 'failure' | 'inactive';
    readonly description: string;
  };
  /** Whether to comment at all; statuses are always written. */
  readonly comments?: boolean;
}

/** What people see of an environment, as far as this process knows. */
interface Shown {
  readonly comment?: CommentState;
  readonly status?: string;
}

/**
 * One comment per pull request and environment, edited in place, and one status per commit and environment. Branches and tags have only
 * the status.
 */
export const createGiteaReporter = (options: GiteaReporterOptions): Reporter => {
  const { client, renderComment, computeStatus, comments: isCommenting = true } = options;
  const comments = createPullComments(client);
  const shown = new Map<EnvironmentId, Shown>();
  const wanted = new Map<EnvironmentId, Report>();
  const inTurn = createTurns();

  const ensureComment = async (report: Report, context: string, signal: AbortSignal): Promise<void> => {
    const number = parseNumber(report.source);
    if (number === undefined || !isCommenting) return;
    const { environment, commit } = report;
    const before = shown.get(environment);
    const asked = { number, environment, commit, context, body: renderComment(report) };
    try {
      shown.set(environment, { ...before, comment: await comments.ensure(asked, before?.comment, signal) });
    } catch (error) {
      // On a pull request that was deleted nobody is left to read.
      if (!(await isPullGone(client, number, signal))) throw error;
    }
  };

  const ensureShownStatus = async (report: Report, context: string, signal: AbortSignal): Promise<void> => {
    const { environment, commit, view } = report;
    const status = toStatus(view, context);
    const mark = JSON.stringify([commit, status]);
    if (shown.get(environment)?.status === mark) return;
    await ensureStatus(client, commit, status, signal);
    shown.set(environment, { ...shown.get(environment), status: mark });
  };

  const toStatus = (view: ReportView, context: string): WantedStatus => {
    const { state, description } = computeStatus(view);
    return {
      context,
      state: state === 'inactive' ? 'skipped' : state,
      description,
      target_url: reachable.has(view.phase) ? view.url : '',
    };
  };

  /** The comment first: a status is the sign that there was one. */
  const write = async (report: Report, signal: AbortSignal): Promise<void> => {
    const context = `eph/${report.view.name}`;
    await ensureComment(report, context, signal);
    await ensureShownStatus(report, context, signal);
    if (report.last) shown.delete(report.environment);
  };

  /** Reports about one environment follow one another, and only the newest still counts when its turn comes. */
  const writeInTurn = async (report: Report, signal: AbortSignal): Promise<void> => {
    const { environment } = report;
    wanted.set(environment, report);
    try {
      await inTurn(environment, () => write(wanted.get(environment) ?? report, signal));
    } finally {
      if (wanted.get(environment) === report) wanted.delete(environment);
    }
  };

  return {
    async ensure(report, signal) {
      try {
        await writeInTurn(report, signal);
      } catch (error) {
        signal.throwIfAborted();
        throw reportError(error);
      }
    },
  };
};

/** While something answers there. */
const reachable: ReadonlySet<ReportView['phase']> = new Set(['Progressing', 'Ready', 'Degraded']);

const reportError = (error: unknown): unknown => {
  if (!isEphError(error) || error.code === 'report.failed') return error;
  return new EphError('report.failed', `The report could not be written: ${error.message}`, {
    cause: error,
    ...(error.retryAfterMs === undefined ? {} : { retryAfterMs: error.retryAfterMs }),
  });
};
