import { created, found, ok, Problem, page } from '../http/answer.ts';
import { appOf, installationOf, type Route, route } from '../http/route.ts';
import type { App, AppPermissions, Installation } from '../state/app.ts';
import type { GithubState } from '../state/github-state.ts';
import type { Repository } from '../state/repository.ts';
import { permits, reaches } from '../state/viewer.ts';
import { appView, installationView, tokenView } from '../views/app-view.ts';
import { listedRepositoryView } from '../views/repository-view.ts';

/** Routes of an App that authenticates as itself, and its installation tokens. */
export const appRoutes = (tokenLifeMs: number, newToken: () => string): readonly Route[] => [
  route('apps/get-authenticated', { kind: 'app' }, (call) =>
    ok({ ...appView(call.github, appOf(call)), installations_count: installationsOf(call.github, appOf(call)).length }),
  ),

  route('apps/get-repo-installation', { kind: 'app' }, (call) => {
    const repository = found(call.github.repository(call.path.owner, call.path.repo));
    const installation = installationsOf(call.github, appOf(call)).find((one) => includes(one, repository));
    return ok(installationView(call.github, found(installation)));
  }),

  ...(['apps/get-org-installation', 'apps/get-user-installation'] as const).map((operation) =>
    route(operation, { kind: 'app' }, (call) => {
      const login = 'org' in call.path ? call.path.org : call.path.username;
      const installation = installationsOf(call.github, appOf(call)).find(
        ({ account }) => account.login.toLowerCase() === login.toLowerCase(),
      );
      return ok(installationView(call.github, found(installation)));
    }),
  ),

  route('apps/create-installation-access-token', { kind: 'app' }, (call) => {
    const installation = ownInstallation(call.github, appOf(call), call.path.installation_id);
    if (installation.suspendedAt !== undefined) throw new Problem(403, 'This installation has been suspended');
    const token = {
      kind: 'installation',
      text: newToken(),
      installation,
      permissions: narrowPermissions(installation.app.permissions, call.body?.permissions),
      repositories: narrowRepositories(call.github, installation, call.body),
      expiresAt: call.github.now() + tokenLifeMs,
      revoked: false,
    } as const;
    call.credentials.add(token);
    return created(tokenView(call.github, token));
  }),

  route('apps/list-repos-accessible-to-installation', { kind: 'installation' }, (call) => {
    const { viewer, github } = call;
    const { account, selected } = installationOf(call);
    const reached = github
      .repositoriesOf(account)
      .filter((repository) => viewer.kind === 'installation' && reaches(viewer, repository));
    const selection = selected === undefined ? 'all' : 'selected';
    return page(
      reached,
      (repository) => listedRepositoryView(github, repository, viewer),
      (repositories, total) => ({ total_count: total, repository_selection: selection, repositories }),
    );
  }),
];

const installationsOf = (github: GithubState, app: App): readonly Installation[] =>
  [...github.installations.values()].filter((installation) => installation.app === app);

const ownInstallation = (github: GithubState, app: App, id: number): Installation => {
  const installation = found(github.installations.get(id));
  return found(installation.app === app ? installation : undefined);
};

const includes = ({ account, selected }: Installation, repository: Repository): boolean =>
  repository.owner === account && (selected === undefined || selected.has(repository.id));

const narrowPermissions = (granted: AppPermissions, wanted: object | undefined): AppPermissions => {
  if (wanted === undefined) return granted;
  for (const [name, level] of Object.entries(wanted)) {
    if (permits(granted, name, level === 'write' ? 'write' : 'read')) continue;
    throw new Problem(422, 'The permissions requested are not granted to this installation.');
  }
  return { metadata: 'read', ...(wanted as AppPermissions) };
};

const narrowRepositories = (
  github: GithubState,
  installation: Installation,
  wanted: { readonly repositories?: readonly string[]; readonly repository_ids?: readonly number[] } | undefined,
): ReadonlySet<number> | undefined => {
  if (wanted?.repositories === undefined && wanted?.repository_ids === undefined) return undefined;
  const named = (wanted.repositories ?? []).map((name) => github.repository(installation.account.login, name)?.id);
  const ids = [...named, ...(wanted.repository_ids ?? [])].map((id) =>
    id === undefined ? undefined : github.repositories.get(id),
  );
  const reached = ids.filter((repository) => repository !== undefined && includes(installation, repository));
  if (reached.length < ids.length)
    throw new Problem(
      422,
      'There is at least one repository that does not exist or is not accessible to the parent installation.',
    );
  return new Set(reached.map((repository) => repository?.id ?? 0));
};
