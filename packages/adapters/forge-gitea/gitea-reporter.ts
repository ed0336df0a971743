import type { EnvironmentId, ReportView } from '@eph/contract';
import type { Report, Reporter } from '@eph/engine/report/reporter';
import { createLookAhead } from '../forge-http/look-ahead.ts';
import { createReportTurns, reachable } from '../forge-http/report-turns.ts';
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
  readonly now?: () => number;
  /** Whether to comment at all; statuses are always written. */
  readonly comments?: boolean;
}

/** What people see of an environment, as far as this process knows: nothing of what is being written, which may fail either way. */
interface Shown {
  comment?: CommentState;
  status?: string;
}

/**
 * One comment per pull request and environment, edited in place, and one status per commit and environment. Branches and tags have only
 * the status.
 */
export const createGiteaReporter = (options: GiteaReporterOptions): Reporter => {
  const { client, renderComment, computeStatus, now = Date.now, comments: isCommenting = true } = options;
  const comments = createPullComments(client);
  const shown = new Map<EnvironmentId, Shown>();
  const ahead = createLookAhead<CommentState | 'unwritten'>(now);

  const shownOf = (environment: EnvironmentId): Shown => {
    const known = shown.get(environment) ?? {};
    shown.set(environment, known);
    return known;
  };

  /** Undefined where nobody comments. */
  const aboutOf = ({ source, environment, commit, view }: Report) => {
    const number = isCommenting ? parseNumber(source) : undefined;
    return number === undefined ? undefined : { number, environment, commit, context: contextOf(view) };
  };

  const ensureComment = async (report: Report, signal: AbortSignal): Promise<void> => {
    const about = aboutOf(report);
    if (about === undefined) return;
    const { environment } = report;
    const known = shownOf(environment);
    const { comment } = known;
    delete known.comment;
    try {
      const found = comment ?? (await ahead.take(environment)) ?? (await comments.look(about, signal));
      known.comment = await comments.ensure({ ...about, body: renderComment(report) }, found, signal);
    } catch (error) {
      // On a pull request that was deleted nobody is left to read.
      if (!(await isPullGone(client, about.number, signal))) throw error;
    }
  };

  const ensureShownStatus = async (report: Report, signal: AbortSignal): Promise<void> => {
    const { environment, commit, view } = report;
    const status = toStatus(view);
    const mark = JSON.stringify([commit, status]);
    const known = shownOf(environment);
    if (known.status === mark) return;
    delete known.status;
    await ensureStatus(client, commit, status, signal);
    known.status = mark;
  };

  const toStatus = (view: ReportView): WantedStatus => {
    const { state, description } = computeStatus(view);
    return {
      context: contextOf(view),
      state: state === 'inactive' ? 'skipped' : state,
      description,
      target_url: reachable.has(view.phase) ? view.url : '',
    };
  };

  /** The comment first: a status is the sign that there was one. */
  const write = async (report: Report, signal: AbortSignal): Promise<void> => {
    await ensureComment(report, signal);
    await ensureShownStatus(report, signal);
    if (report.last) shown.delete(report.environment);
  };

  const { ensure } = createReportTurns(write);

  return {
    ensure,

    prefetch(report, signal) {
      const about = aboutOf(report);
      if (about !== undefined && shown.get(report.environment)?.comment === undefined)
        ahead.begin(report.environment, () => comments.look(about, signal, true));
    },
  };
};

const contextOf = ({ name }: ReportView): string => `eph/${name}`;
