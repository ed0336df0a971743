import { type EnvironmentId, isSameView, type ReportView, sourceKey } from '@eph/contract';
import type { Report, Reporter } from '@eph/engine/report/reporter';
import { toError, unwrap } from '../forge-http/answer.ts';
import { parseNothing, parserOf } from '../forge-http/forge-http.ts';
import { isGone } from '../forge-http/is-gone.ts';
import { parseNumber } from '../forge-http/numbered-pulls.ts';
import { createPullComments } from '../forge-http/pull-comments.ts';
import { createReportQueue, type ReporterOptions, reachable } from '../forge-http/report-queue.ts';
import { ensureCommitStatus } from './commit-statuses.ts';
import { createGitlabEnvironments, reviewPrefix, type WantedEnvironment } from './environments.ts';
import type { GitlabClient } from './gitlab-client.ts';
import { readNotes } from './notes.ts';
import { mergeRequestShape, noteShape } from './shapes.ts';

const parseMergeRequest = parserOf(mergeRequestShape);
const parseWritten = parserOf(noteShape.pick({ id: true }));

/**
 * Writes a note on the merge request, a status on the commit, and a GitLab environment with a link. Each is read before
 * it is written, so no state has to survive a restart.
 */
export const createGitlabReporter = (options: ReporterOptions<GitlabClient>): Reporter => {
  const { client, computeStatus } = options;
  const environments = createGitlabEnvironments(client);
  const written = new Map<EnvironmentId, Report>();

  /**
   * GitLab shows a status on a merge request only in the pipeline of its branch. Commits of forks are on no branch here.
   * Undefined if the merge request was deleted.
   */
  const readRef = async ({ source }: Report, signal: AbortSignal): Promise<string | undefined> => {
    const number = parseNumber(source);
    if (number === undefined) return source.name;
    const answer = await client.read(`/merge_requests/${number}`, parseMergeRequest, signal);
    if (!answer.ok && (await isGone(client, answer, signal))) return undefined;
    const merge = unwrap(answer);
    return merge.source_project_id === merge.target_project_id ? merge.source_branch : `refs/merge-requests/${number}/head`;
  };

  const notes = createPullComments(options, {
    async readOwn(number, signal) {
      const account = unwrap(await client.readAccount(signal));
      const listing = await readNotes(client, number, signal);
      if (!listing.complete) throw toError(listing.refusal);
      return listing.items.filter(({ author }) => author.id === account);
    },
    create: async (number, body, signal) =>
      unwrap(await client.send('POST', `/merge_requests/${number}/notes`, { body }, parseWritten, signal)).id,
    edit: (number, id, body, signal) =>
      client.send('PUT', `/merge_requests/${number}/notes/${id}`, { body }, parseNothing, signal),
  });

  const ensureStatus = async ({ view, commit }: Report, ref: string, signal: AbortSignal): Promise<void> => {
    const target = reachable.has(view.phase) ? view.url : undefined;
    await ensureCommitStatus(client, { ...computeStatus(view), commit, ref, name: `eph/${view.name}`, target }, signal);
  };

  const ensureEnvironment = async (report: Report, ref: string | undefined, signal: AbortSignal): Promise<void> => {
    const { view, last } = report;
    const wanted = toWanted(report, ref);
    if (last) return await environments.ensureDeleted(wanted.name, signal);
    if (['Removing', 'Held', 'Removed'].includes(view.phase)) return await environments.ensureStopped(wanted.name, signal);
    await environments.ensure(wanted, signal);
  };

  /** If one fails, the others are still written. */
  const write = async (report: Report, signal: AbortSignal): Promise<void> => {
    const { environment } = report;
    if (isSameReport(report, written.get(environment))) return;
    written.delete(environment);
    const ref = await readRef(report, signal);
    const outcomes = await Promise.allSettled([
      ref === undefined ? undefined : notes.ensure(report, signal),
      ref === undefined ? undefined : ensureStatus(report, ref, signal),
      ensureEnvironment(report, ref, signal),
    ]);
    const failed = outcomes.find((outcome) => outcome.status === 'rejected');
    if (failed !== undefined) throw failed.reason;
    if (report.last) notes.forget(environment);
    else written.set(environment, report);
  };

  const { ensure, runExclusive } = createReportQueue(write);

  return {
    ensure,
    answer: notes.answer,

    async handleStops(requestRemoval, signal) {
      const stopped = await environments.listStopped(signal);
      const affected = [...written.values()].filter(({ view }) => stopped.has(nameOf(view)));
      const outcomes = await Promise.allSettled(
        affected.map(async (report) => {
          const isStoppedByUser = stopped.get(nameOf(report.view))?.wasAvailable === true;
          if (isStoppedByUser && (await requestRemoval(report.source))) return;
          // It can be started only once something answers, which the next report does.
          if (!isStoppedByUser && report.view.phase !== 'Ready') return;
          await runExclusive(report.environment, async () => {
            // A newer report is handled by the next call.
            if (written.get(report.environment) !== report) return;
            await environments.restart(toWanted(report, await readRef(report, signal)), signal);
          });
        }),
      );
      const failed = outcomes.find((outcome) => outcome.status === 'rejected');
      if (failed !== undefined) throw failed.reason;
    },
  };
};

const nameOf = ({ name }: ReportView): string => `${reviewPrefix}${name}`;

const toWanted = ({ view, source, commit }: Report, ref: string | undefined): WantedEnvironment => {
  const isServing = view.phase === 'Ready' && ref !== undefined;
  const serving = isServing ? { commit, ref, isTag: source.kind === 'tag' } : undefined;
  return { name: nameOf(view), url: view.url, serving };
};

const isSameReport = (a: Report, b: Report | undefined): boolean =>
  b !== undefined &&
  a.commit === b.commit &&
  a.last === b.last &&
  sourceKey(a.source) === sourceKey(b.source) &&
  isSameView(a.view, b.view);
