import { found, ok } from '../http/answer.ts';
import { type Route, repositoryRoute } from '../http/route.ts';
import { permissionView } from '../views/account-view.ts';
import { fullRepositoryView } from '../views/repository-view.ts';

export const repositoryRoutes: readonly Route[] = [
  repositoryRoute('repos/get', ['metadata:read'], 'read', ({ github, repository, viewer }) =>
    ok(fullRepositoryView(github, repository, viewer), repository.updatedAt),
  ),

  repositoryRoute('repos/get-collaborator-permission-level', ['metadata:read'], 'read', ({ github, repository, path }) => {
    const user = found(github.account(path.username));
    return ok(permissionView(github, user, repository));
  }),
];
