import { readChanges } from '../git/git-diff.ts';
import { ok, Problem, page } from '../http/answer.ts';
import { type Route, repositoryRoute } from '../http/route.ts';
import { type PullRequest, pullRequests, type Repository } from '../state/repository.ts';
import { changeView } from '../views/git-view.ts';
import { fullPullView, pullView } from '../views/pull-view.ts';
import { reviewView } from '../views/timeline-view.ts';

const mostFiles = 3000;

export const pullRoutes: readonly Route[] = [
  repositoryRoute('pulls/list', ['pull_requests:read'], 'read', ({ github, repository, query }) => {
    const { state = 'open', head, base } = query;
    const matching = pullRequests(repository).filter(
      (pull) =>
        (state === 'all' || pull.state === state) &&
        (head === undefined || `${pull.headOwner.login}:${pull.headRef}` === head) &&
        (base === undefined || pull.baseRef === base),
    );
    return page(inOrder(matching, query.sort, query.direction), (pull) => pullView(github, pull));
  }),

  repositoryRoute('pulls/get', ['pull_requests:read'], 'read', async ({ github, repository, path }) => {
    const pull = findPull(repository, path.pull_number);
    return ok(await fullPullView(github, pull), pull.updatedAt);
  }),

  repositoryRoute('pulls/list-files', ['pull_requests:read'], 'read', async ({ github, repository, path }) => {
    const { baseSha, headSha } = findPull(repository, path.pull_number);
    const from = repository.network.mergeBase(baseSha, headSha);
    const changes = await readChanges(repository.network, from, headSha);
    return page(changes.slice(0, mostFiles), (change) => changeView(github, repository, headSha, change));
  }),

  repositoryRoute('pulls/list-reviews', ['pull_requests:read'], 'read', ({ github, repository, path }) => {
    const pull = findPull(repository, path.pull_number);
    return page(pull.reviews, (review) => reviewView(github, pull, review));
  }),
];

const findPull = (repository: Repository, number: number): PullRequest => {
  const issue = repository.issues.get(number);
  if (issue?.kind !== 'pull') throw new Problem(404, 'Not Found');
  return issue;
};

const inOrder = (
  pulls: readonly PullRequest[],
  sort: string | undefined,
  direction: 'asc' | 'desc' = sort === undefined || sort === 'created' ? 'desc' : 'asc',
): readonly PullRequest[] => {
  const key = (pull: PullRequest): number => {
    if (sort === 'updated') return pull.updatedAt;
    return sort === 'popularity' ? pull.comments.length : pull.createdAt;
  };
  const rising = pulls.toSorted((a, b) => key(a) - key(b) || a.number - b.number);
  return direction === 'asc' ? rising : rising.toReversed();
};
