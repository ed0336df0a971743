import { created, empty, found, invalid, notFound, ok, page } from '../http/answer.ts';
import { type Route, repositoryRoute } from '../http/route.ts';
import type { Label } from '../state/issue.ts';
import { closeIssue, editIssue, reopenIssue } from '../state/issue-acts.ts';
import { ensureLabel, setLabels } from '../state/label-acts.ts';
import { hasLabel, type Issue, type Repository } from '../state/repository.ts';
import type { World } from '../state/world.ts';
import { issueView, labelView, singleIssueView } from '../views/issue-view.ts';
import { eventView, repositoryEventView, timelineViews } from '../views/timeline-view.ts';

/** Pull requests are issues here, so either permission will do. */
const reading = ['issues:read', 'pull_requests:read'];
const writing = ['issues:write', 'pull_requests:write'];
const longestLabel = 50;

type LabelWish = string | { readonly name?: string | undefined };

export const issueRoutes: readonly Route[] = [
  repositoryRoute('issues/list-for-repo', reading, 'read', ({ world, repository, query }) => {
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
    return page(direction === 'asc' ? rising : rising.toReversed(), (issue) => issueView(world, issue));
  }),

  repositoryRoute('issues/get', reading, 'read', ({ world, repository, path }) => {
    const issue = findIssue(repository, path.issue_number);
    return ok(singleIssueView(world, issue), issue.updatedAt);
  }),

  repositoryRoute('issues/update', writing, 'triage', ({ world, repository, path, body, actor }) => {
    const issue = findIssue(repository, path.issue_number);
    editIssue(world, issue, { title: typeof body?.title === 'string' ? body.title : undefined, body: body?.body }, actor);
    if (body?.labels !== undefined) setLabels(world, issue, ensureLabels(world, repository, body.labels), actor);
    if (body?.state === 'closed') closeIssue(world, issue, actor);
    if (body?.state === 'open') reopenIssue(world, issue, actor);
    return ok(singleIssueView(world, issue));
  }),

  repositoryRoute('issues/list-labels-for-repo', reading, 'read', ({ world, repository }) =>
    page([...repository.labels.values()], (label) => labelView(world, repository, label)),
  ),

  repositoryRoute('issues/get-label', reading, 'read', ({ world, repository, path }) =>
    ok(labelView(world, repository, found(repository.labels.get(path.name.toLowerCase())))),
  ),

  repositoryRoute('issues/create-label', writing, 'write', ({ world, repository, body }) => {
    if (repository.labels.has(body.name.toLowerCase())) throw invalid('Label', 'name', 'already_exists');
    checkLabelName(body.name);
    const look = { color: body.color ?? 'ededed', description: body.description ?? null };
    return created(labelView(world, repository, ensureLabel(world, repository, body.name, look)));
  }),

  repositoryRoute('issues/list-labels-on-issue', reading, 'read', ({ world, repository, path }) =>
    page(findIssue(repository, path.issue_number).labels, (label) => labelView(world, repository, label)),
  ),

  repositoryRoute('issues/add-labels', writing, 'triage', ({ world, repository, path, body, actor }) => {
    const issue = findIssue(repository, path.issue_number);
    const added = ensureLabels(world, repository, labelsOf(body));
    setLabels(world, issue, [...issue.labels, ...added], actor);
    return ok(issue.labels.map((label) => labelView(world, repository, label)));
  }),

  repositoryRoute('issues/set-labels', writing, 'triage', ({ world, repository, path, body, actor }) => {
    const issue = findIssue(repository, path.issue_number);
    setLabels(world, issue, ensureLabels(world, repository, labelsOf(body)), actor);
    return ok(issue.labels.map((label) => labelView(world, repository, label)));
  }),

  repositoryRoute('issues/remove-label', writing, 'triage', ({ world, repository, path, actor }) => {
    const issue = findIssue(repository, path.issue_number);
    if (!hasLabel(issue, path.name)) throw notFound();
    const left = issue.labels.filter(({ name }) => name.toLowerCase() !== path.name.toLowerCase());
    setLabels(world, issue, left, actor);
    return ok(issue.labels.map((label) => labelView(world, repository, label)));
  }),

  repositoryRoute('issues/remove-all-labels', writing, 'triage', ({ world, repository, path, actor }) => {
    setLabels(world, findIssue(repository, path.issue_number), [], actor);
    return empty(204);
  }),

  repositoryRoute('issues/list-events', reading, 'read', ({ world, repository, path }) => {
    const issue = findIssue(repository, path.issue_number);
    return page(issue.events, (event) => eventView(world, issue, event));
  }),

  repositoryRoute('issues/list-events-for-repo', reading, 'read', ({ world, repository }) => {
    const all = [...repository.issues.values()].flatMap((issue) => issue.events.map((event) => ({ issue, event })));
    const newestFirst = all.toSorted((a, b) => b.event.id - a.event.id);
    return page(newestFirst, ({ issue, event }) => repositoryEventView(world, issue, event));
  }),

  repositoryRoute('issues/list-events-for-timeline', reading, 'read', ({ world, repository, path }) =>
    page(timelineViews(world, findIssue(repository, path.issue_number)), (shown) => shown),
  ),
];

export const findIssue = (repository: Repository, number: number): Issue => found(repository.issues.get(number));

/** The description lets one send labels as they are, or wrapped. */
const labelsOf = (body: unknown): readonly LabelWish[] => {
  const wrapped = typeof body === 'object' && body !== null && 'labels' in body ? body.labels : body;
  return Array.isArray(wrapped) ? (wrapped as readonly LabelWish[]) : [];
};

const ensureLabels = (world: World, repository: Repository, wishes: readonly LabelWish[]): readonly Label[] => {
  const names = wishes.map((wish) => (typeof wish === 'string' ? wish : (wish.name ?? '')));
  for (const name of names) checkLabelName(name);
  return names.map((name) => ensureLabel(world, repository, name));
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
