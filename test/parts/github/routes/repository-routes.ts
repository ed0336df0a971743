import { created, empty, found, invalid, notFound, ok, page } from '../http/answer.ts';
import { type Route, repositoryRoute, route } from '../http/route.ts';
import type { GithubState } from '../state/github-state.ts';
import type { Hook } from '../state/hook.ts';
import { roleOf } from '../state/viewer.ts';
import { collaboratorView, permissionView } from '../views/account-view.ts';
import { hookView, organizationHookView } from '../views/app-view.ts';
import { fullRepositoryView, repositoryUrl } from '../views/repository-view.ts';

export const repositoryRoutes: readonly Route[] = [
  repositoryRoute('repos/get', ['metadata:read'], 'read', ({ github, repository, viewer }) =>
    ok(fullRepositoryView(github, repository, viewer), repository.updatedAt),
  ),

  repositoryRoute('repos/get-collaborator-permission-level', ['metadata:read'], 'read', ({ github, repository, path }) => {
    const user = found(github.account(path.username));
    return ok(permissionView(github, user, repository));
  }),

  repositoryRoute('repos/check-collaborator', ['metadata:read'], 'read', ({ github, repository, path }) => {
    const user = found(github.account(path.username));
    const isKnown = repository.collaborators.has(user.id) || repository.owner.members.has(user.id) || repository.owner === user;
    if (!isKnown) throw notFound();
    return empty(204);
  }),

  repositoryRoute('repos/list-collaborators', ['metadata:read'], 'write', ({ github, repository }) => {
    const people = [...github.accounts].filter((account) => account.type === 'User');
    const known = people.filter(
      (user) => repository.collaborators.has(user.id) || repository.owner === user || roleOf(user, repository) === 'admin',
    );
    return page(known, (user) => collaboratorView(github, user, repository));
  }),

  repositoryRoute('repos/list-webhooks', ['repository_hooks:read'], 'admin', ({ github, repository }) =>
    page([...repository.hooks.values()], (hook) => hookView(repositoryUrl(github, repository), hook)),
  ),

  repositoryRoute('repos/create-webhook', ['repository_hooks:write'], 'admin', ({ github, repository, body, actor }) => {
    const target = { type: 'repository', id: repository.id } as const;
    const hook = newHook(github, target, body?.config, body?.events, body?.active);
    if ([...repository.hooks.values()].some(({ url }) => url === hook.url))
      throw invalid('Hook', 'url', 'custom', 'Hook already exists on this repository');
    repository.hooks.set(hook.id, hook);
    github.touch(repository);
    github.emit({ kind: 'ping', hook, repository, sender: actor });
    return created(hookView(repositoryUrl(github, repository), hook));
  }),

  repositoryRoute('repos/delete-webhook', ['repository_hooks:write'], 'admin', ({ github, repository, path }) => {
    if (!repository.hooks.delete(path.hook_id)) throw notFound();
    github.touch(repository);
    return empty(204);
  }),

  route('orgs/create-webhook', { kind: 'somebody' }, ({ github, path, body, viewer }) => {
    const organization = found(github.account(path.org));
    const isOwner = viewer.kind === 'user' && organization.members.get(viewer.user.id) === 'admin';
    if (!isOwner) throw notFound();
    const target = { type: 'organization', id: organization.id } as const;
    const hook = newHook(github, target, body.config, body.events, body.active);
    github.organizationHooks.set(hook.id, hook);
    return created(organizationHookView(`${github.urls.api}/orgs/${organization.login}`, hook));
  }),
];

const newHook = (
  github: GithubState,
  target: Hook['target'],
  config: { readonly url?: string; readonly secret?: string } | undefined,
  events: readonly string[] = ['push'],
  active = true,
): Hook => {
  if (config?.url === undefined) throw invalid('Hook', 'url', 'missing_field');
  return { id: github.nextId(), target, url: config.url, secret: config.secret, events, active, createdAt: github.now() };
};
