import { type Answer, found, notFound, ok, Problem, page } from '../http/answer.ts';
import { type Call, type Route, route } from '../http/route.ts';
import type { Account } from '../state/account.ts';
import { fullName, type Repository } from '../state/repository.ts';
import { maySee, roleOf } from '../state/viewer.ts';
import { profileView } from '../views/account-view.ts';
import { listedRepositoryView } from '../views/repository-view.ts';

type Order = { readonly sort?: string; readonly direction?: 'asc' | 'desc' };

export const accountRoutes: readonly Route[] = [
  route('users/get-authenticated', { kind: 'somebody' }, ({ github, viewer }) => {
    if (viewer.kind !== 'user') throw new Problem(403, 'Resource not accessible by integration');
    return ok(profileView(github, viewer.user), viewer.user.createdAt);
  }),

  route('users/get-by-username', { kind: 'anybody' }, ({ github, path }) => {
    const account = found(github.account(path.username));
    return ok(profileView(github, account), account.createdAt);
  }),

  route('repos/list-for-org', { kind: 'anybody' }, (call) =>
    listRepositories(call, findOwner(call, call.path.org, 'Organization'), call.query),
  ),

  route('repos/list-for-user', { kind: 'anybody' }, (call) =>
    listRepositories(call, findOwner(call, call.path.username, 'User'), call.query),
  ),

  route('repos/list-for-authenticated-user', { kind: 'somebody' }, ({ github, viewer, query }) => {
    if (viewer.kind !== 'user') throw new Problem(403, 'Resource not accessible by integration');
    const mine = [...github.repositories.values()].filter((repository) => {
      const isOpenToAll = !repository.private && !repository.collaborators.has(viewer.user.id);
      return roleOf(viewer.user, repository) !== undefined && !(isOpenToAll && repository.owner !== viewer.user);
    });
    return page(inOrder(mine, query), (repository) => listedRepositoryView(github, repository, viewer));
  }),
];

const findOwner = ({ github }: Call<never>, login: string, type: Account['type']): Account => {
  const account = github.account(login);
  if (account?.type !== type) throw notFound();
  return account;
};

const listRepositories = ({ github, viewer }: Call<never>, owner: Account, query: Order & { type?: string }): Answer => {
  const visible = github
    .repositoriesOf(owner)
    .filter((repository) => maySee(viewer, repository) && isOfType(repository, query.type ?? 'all'));
  return page(inOrder(visible, query), (repository) => listedRepositoryView(github, repository, viewer));
};

const isOfType = (repository: Repository, type: string): boolean => {
  if (type === 'public' || type === 'private') return repository.private === (type === 'private');
  if (type === 'forks' || type === 'sources') return (repository.parent !== undefined) === (type === 'forks');
  return true;
};

/** Newest first by default; by name from the beginning of the alphabet. */
const inOrder = (repositories: readonly Repository[], { sort = 'created', direction }: Order): readonly Repository[] => {
  const key = (repository: Repository): number | string => {
    if (sort === 'full_name') return fullName(repository).toLowerCase();
    if (sort === 'updated') return repository.updatedAt;
    return sort === 'pushed' ? repository.pushedAt : repository.createdAt;
  };
  const rising = repositories.toSorted((a, b) => (key(a) < key(b) ? -1 : key(a) > key(b) ? 1 : a.id - b.id));
  return (direction ?? (sort === 'full_name' ? 'asc' : 'desc')) === 'asc' ? rising : rising.toReversed();
};
