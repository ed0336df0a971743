import { created, found, invalid, notFound, ok, Problem, page } from '../http/answer.ts';
import { type Route, repositoryRoute } from '../http/route.ts';
import type { Account } from '../state/account.ts';
import type { App } from '../state/app.ts';
import type { CheckConclusion, CheckRun } from '../state/commit-report.ts';
import { addCheckRun, addStatus, updateCheckRun } from '../state/commit-report-mutations.ts';
import type { GithubState } from '../state/github-state.ts';
import { type Repository, resolveCommit } from '../state/repository.ts';
import { checkRunView, combinedStatusView, statusView } from '../views/commit-report-view.ts';

const longestDescription = 140;
const mostStatuses = 1000;

interface CheckRunWish {
  readonly name?: string;
  readonly details_url?: string;
  readonly external_id?: string;
  readonly status?: string;
  readonly conclusion?: string;
  readonly started_at?: string;
  readonly completed_at?: string;
  readonly output?: { readonly title?: string; readonly summary: string; readonly text?: string };
}

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

  repositoryRoute('repos/list-commit-statuses-for-ref', ['statuses:read'], 'read', ({ github, repository, path }) => {
    const sha = found(resolveCommit(repository, path.ref));
    const newestFirst = repository.statuses.filter((status) => status.sha === sha).toReversed();
    return page(newestFirst, (status) => statusView(github, repository, status));
  }),

  repositoryRoute('checks/create', ['checks:write'], 'write', ({ github, repository, body, actor }) => {
    if (!repository.network.commits.has(body.head_sha)) throw new Problem(422, `No commit found for SHA: ${body.head_sha}`);
    const app = appOf(github, actor);
    const run = addCheckRun(github, repository, {
      sha: body.head_sha,
      app,
      startedAt: body.started_at === undefined ? github.now() : Date.parse(body.started_at),
      name: body.name,
      externalId: '',
      detailsUrl: github.urls.web,
      status: 'queued',
      conclusion: null,
      completedAt: undefined,
      output: { title: null, summary: null, text: null },
      ...changes(body, github.now()),
    });
    return created(checkRunView(github, repository, run));
  }),

  repositoryRoute('checks/update', ['checks:write'], 'write', ({ github, repository, path, body, actor }) => {
    const run = findRun(repository, path.check_run_id);
    if (run.app !== appOf(github, actor))
      throw new Problem(403, 'Invalid app_id `check_run` - check run can only be modified by its app.');
    updateCheckRun(github, repository, run, changes(body, github.now()));
    return ok(checkRunView(github, repository, run));
  }),

  repositoryRoute('checks/get', ['checks:read'], 'read', ({ github, repository, path }) =>
    ok(checkRunView(github, repository, findRun(repository, path.check_run_id))),
  ),

  repositoryRoute('checks/list-for-ref', ['checks:read'], 'read', ({ github, repository, path, query }) => {
    const sha = found(resolveCommit(repository, path.ref));
    const matching = [...repository.checkRuns.values()].filter(
      (run) =>
        run.sha === sha &&
        (query.check_name === undefined || run.name === query.check_name) &&
        (query.status === undefined || run.status === query.status) &&
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

const appOf = (github: GithubState, actor: Account): App => {
  const app = github.appOf(actor);
  if (app === undefined) throw new Problem(403, 'You must authenticate via a GitHub App.');
  return app;
};

const findRun = (repository: Repository, id: number): CheckRun => {
  const run = repository.checkRuns.get(id);
  if (run === undefined) throw notFound();
  return run;
};

const latestPerName = (runs: readonly CheckRun[]): readonly CheckRun[] => [
  ...new Map(runs.map((run) => [`${run.app.id} ${run.name}`, run])).values(),
];

/** A conclusion completes a run, whatever its status says. */
const changes = (wish: CheckRunWish, now: number): Partial<CheckRun> => {
  const isCompleted = wish.conclusion !== undefined || wish.status === 'completed';
  const completedAt = wish.completed_at === undefined ? now : Date.parse(wish.completed_at);
  const status = isCompleted ? 'completed' : wish.status === 'in_progress' ? 'in_progress' : 'queued';
  const { output } = wish;
  return {
    ...(wish.name === undefined ? {} : { name: wish.name }),
    ...(wish.external_id === undefined ? {} : { externalId: wish.external_id }),
    ...(wish.details_url === undefined ? {} : { detailsUrl: wish.details_url }),
    ...(wish.status === undefined && !isCompleted ? {} : { status }),
    // The description also allows `stale` in requests, which GitHub never returns.
    ...(wish.conclusion === undefined ? {} : { conclusion: wish.conclusion as CheckConclusion }),
    ...(isCompleted ? { completedAt } : {}),
    ...(output === undefined
      ? {}
      : { output: { title: output.title ?? null, summary: output.summary, text: output.text ?? null } }),
  };
};
