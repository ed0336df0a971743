import { created, found, invalid, ok, Problem, page } from '../http/answer.ts';
import { type Route, repositoryRoute } from '../http/route.ts';
import { type CheckRun, checkStatus } from '../state/commit-report.ts';
import { addStatus } from '../state/commit-report-mutations.ts';
import { resolveCommit } from '../state/repository.ts';
import { checkRunView, combinedStatusView, statusView } from '../views/commit-report-view.ts';

const longestDescription = 140;
const mostStatuses = 1000;

export const statusRoutes: readonly Route[] = [
  repositoryRoute('repos/create-commit-status', ['statuses:write'], 'write', ({ github, repository, path, body, actor }) => {
    if (!repository.network.commits.has(path.sha)) throw new Problem(422, `No commit found for SHA: ${path.sha}`);
    const { state, context = 'default', description = null, target_url: targetUrl = null } = body;
    if (description !== null && description.length > longestDescription)
      throw invalid('Status', 'description', 'custom', `description is too long (maximum is ${longestDescription} characters)`);
    const sameContext = repository.statuses.filter((status) => status.sha === path.sha && status.context === context);
    if (sameContext.length >= mostStatuses)
      throw invalid('Status', 'base', 'custom', 'This SHA and context has reached the maximum number of statuses.');
    const status = addStatus(github, repository, { sha: path.sha, state, context, description, targetUrl, creator: actor });
    const view = statusView(github, repository, status);
    return created(view, view.url);
  }),

  repositoryRoute('repos/get-combined-status-for-ref', ['statuses:read'], 'read', ({ github, repository, path, viewer }) =>
    ok(combinedStatusView(github, repository, found(resolveCommit(repository, path.ref)), viewer)),
  ),

  repositoryRoute('checks/list-for-ref', ['checks:read'], 'read', ({ github, repository, path, query }) => {
    const sha = found(resolveCommit(repository, path.ref));
    const matching = repository.checkRuns.filter(
      (run) =>
        run.sha === sha &&
        (query.check_name === undefined || run.name === query.check_name) &&
        (query.status === undefined || checkStatus(run) === query.status) &&
        (query.app_id === undefined || run.app.id === query.app_id),
    );
    const shown = query.filter === 'all' ? matching : latestPerName(matching);
    return page(
      shown.toReversed(),
      (run) => checkRunView(github, repository, run),
      (runs, total) => ({ total_count: total, check_runs: runs }),
    );
  }),
];

const latestPerName = (runs: readonly CheckRun[]): readonly CheckRun[] => [
  ...new Map(runs.map((run) => [`${run.app.id} ${run.name}`, run])).values(),
];
