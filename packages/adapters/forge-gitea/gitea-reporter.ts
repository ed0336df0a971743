import type { EnvironmentId, ReportView } from '@eph/contract';
import type { Report, Reporter } from '@eph/engine/report/reporter';
import { createPrefetch } from '../forge-http/prefetch.ts';
import { createReportQueue, type ReporterOptions, reachable } from '../forge-http/report-queue.ts';
import { ensureStatus, type WantedStatus } from './commit-statuses.ts';
import type { GiteaClient } from './gitea-client.ts';
import { type CommentState, createPullComments } from './pull-comments.ts';
import { parseNumber } from './pull-source.ts';
import { isPullGone } from './repository.ts';

/** What this process knows to be written. A value is removed while it is being written, because that may fail. */
interface KnownState {
  comment?: CommentState;
  status?: string;
}

/**
 * One comment per pull request and environment, edited in place, and one status per commit and environment. Branches and
 * tags have only the status.
 */
export const createGiteaReporter = (options: ReporterOptions<GiteaClient> & { readonly now: () => number }): Reporter => {
  const { client, renderComment, computeStatus, now, comments: isCommenting } = options;
  const comments = createPullComments(client);
  const known = new Map<EnvironmentId, KnownState>();
  const prefetched = createPrefetch<CommentState | 'unwritten'>(now);

  const stateOf = (environment: EnvironmentId): KnownState => {
    const state = known.get(environment) ?? {};
    known.set(environment, state);
    return state;
  };

  const targetOf = ({ source, environment, commit, view }: Report) => {
    const number = isCommenting ? parseNumber(source) : undefined;
    return number === undefined ? undefined : { number, environment, commit, context: contextOf(view) };
  };

  const ensureComment = async (report: Report, signal: AbortSignal): Promise<void> => {
    const target = targetOf(report);
    if (target === undefined) return;
    const { environment } = report;
    const state = stateOf(environment);
    const { comment } = state;
    delete state.comment;
    try {
      const found = comment ?? (await prefetched.take(environment)) ?? (await comments.find(target, signal));
      state.comment = await comments.ensure({ ...target, body: renderComment(report) }, found, signal);
    } catch (error) {
      // Ignored if the pull request was deleted.
      if (!(await isPullGone(client, target.number, signal))) throw error;
    }
  };

  const ensureShownStatus = async (report: Report, signal: AbortSignal): Promise<void> => {
    const { environment, commit, view } = report;
    const status = toStatus(view);
    const wantedKey = JSON.stringify([commit, status]);
    const state = stateOf(environment);
    if (state.status === wantedKey) return;
    delete state.status;
    await ensureStatus(client, commit, status, signal);
    state.status = wantedKey;
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

  /** The comment first: a status shows that there was a comment. */
  const write = async (report: Report, signal: AbortSignal): Promise<void> => {
    await ensureComment(report, signal);
    await ensureShownStatus(report, signal);
    if (report.last) known.delete(report.environment);
  };

  const { ensure } = createReportQueue(write);

  return {
    ensure,

    prefetch(report, signal) {
      const target = targetOf(report);
      if (target !== undefined && known.get(report.environment)?.comment === undefined)
        prefetched.begin(report.environment, () => comments.find(target, signal, true));
    },
  };
};

const contextOf = ({ name }: ReportView): string => `eph/${name}`;
