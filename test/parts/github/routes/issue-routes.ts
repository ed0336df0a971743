import { found, invalid, notFound, ok, page } from '../http/answer.ts';
import { type Route, repositoryRoute } from '../http/route.ts';
import type { GithubState } from '../state/github-state.ts';
import type { Label } from '../state/issue.ts';
import { ensureLabel, setLabels } from '../state/label-mutations.ts';
import { hasLabel, type Issue, type Repository } from '../state/repository.ts';
import { issueView, labelView, singleIssueView } from '../views/issue-view.ts';
import { eventView, timelineViews } from '../views/timeline-view.ts';

/** Pull requests are issues here, so either permission will do. */
const reading = ['issues:read', 'pull_requests:read'];
const writing = ['issues:write', 'pull_requests:write'];
const longestLabel = 50;

type LabelWish = string | { readonly name?: string | undefined };

export const issueRoutes: readonly Route[] = [
  repositoryRoute('issues/list-for-repo', reading, 'read', ({ github, repository, query }) => {
    const { state = 'open', labels, since, sort, direction = 'desc' } = query;
    const wanted = labels?.split(',') ?? [];
    const matching = [...repository.issues.values()].filter(
      (issue) =>
        (state === 'all' || issue.state === state) &&
        wanted.every((name) => hasLabel(issue, name)) &&
        (since === undefined || issue.updatedAt >= Date.parse(since)),
    );
    const key = (issue: Issue): number => (sort === 'updated' ? issue.updatedAt : issue.createdAt);
    const rising = matching.toSorted((a, b) => key(a) - key(b) || a.number - b.number);
    return page(direction === 'asc' ? rising : rising.toReversed(), (issue) => issueView(github, issue));
  }),

  repositoryRoute('issues/get', reading, 'read', ({ github, repository, path }) => {
    const issue = findIssue(repository, path.issue_number);
    return ok(singleIssueView(github, issue), issue.updatedAt);
  }),

  repositoryRoute('issues/add-labels', writing, 'triage', ({ github, repository, path, body, actor }) => {
    const issue = findIssue(repository, path.issue_number);
    const added = ensureLabels(github, repository, labelsOf(body));
    setLabels(github, issue, [...issue.labels, ...added], actor);
    return ok(issue.labels.map((label) => labelView(github, repository, label)));
  }),

  repositoryRoute('issues/remove-label', writing, 'triage', ({ github, repository, path, actor }) => {
    const issue = findIssue(repository, path.issue_number);
    if (!hasLabel(issue, path.name)) throw notFound();
    const left = issue.labels.filter(({ name }) => name.toLowerCase() !== path.name.toLowerCase());
    setLabels(github, issue, left, actor);
    return ok(issue.labels.map((label) => labelView(github, repository, label)));
  }),

  repositoryRoute('issues/list-events', reading, 'read', ({ github, repository, path }) => {
    const issue = findIssue(repository, path.issue_number);
    return page(issue.events, (event) => eventView(github, issue, event));
  }),

  repositoryRoute('issues/list-events-for-timeline', reading, 'read', ({ github, repository, path }) =>
    page(timelineViews(github, findIssue(repository, path.issue_number)), (shown) => shown),
  ),
];

export const findIssue = (repository: Repository, number: number): Issue => found(repository.issues.get(number));

/** The description lets one send labels as they are, or wrapped. */
const labelsOf = (body: unknown): readonly LabelWish[] => {
  const wrapped = typeof body === 'object' && body !== null && 'labels' in body ? body.labels : body;
  return Array.isArray(wrapped) ? (wrapped as readonly LabelWish[]) : [];
};

const ensureLabels = (github: GithubState, repository: Repository, wishes: readonly LabelWish[]): readonly Label[] => {
  const names = wishes.map((wish) => (typeof wish === 'string' ? wish : (wish.name ?? '')));
  for (const name of names) checkLabelName(name);
  return names.map((name) => ensureLabel(github, repository, name));
};

const checkLabelName = (name: string): void => {
  if (name === '' || name.length > longestLabel)
    throw invalid(
      'Label',
      'name',
      'custom',
      `name is too ${name === '' ? 'short' : 'long'} (maximum is ${longestLabel} characters)`,
    );
};
