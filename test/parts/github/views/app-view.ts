import type { Shape } from '../openapi/shapes.ts';
import type { Account } from '../state/account.ts';
import type { App, Installation, Token } from '../state/app.ts';
import type { GithubState } from '../state/github-state.ts';
import { accountView } from './account-view.ts';
import { repositoryView } from './repository-view.ts';
import { iso, isoOrNull, nodeId } from './text.ts';

export const appView = (github: GithubState, app: App): NonNullable<Shape<'integration'>> => ({
  id: app.id,
  slug: app.slug,
  client_id: app.clientId,
  node_id: nodeId('A', app.id),
  owner: accountView(github, app.owner),
  name: app.slug,
  description: '',
  external_url: github.urls.web,
  html_url: `${github.urls.web}/apps/${app.slug}`,
  created_at: iso(app.createdAt),
  updated_at: iso(app.createdAt),
  permissions: { ...app.permissions },
  events: [...app.events],
});

/** Which App acted, on things that a bot made. */
export const viaApp = (github: GithubState, account: Account): NonNullable<Shape<'integration'>> | null => {
  const app = github.appOf(account);
  return app === undefined ? null : appView(github, app);
};

export const installationView = (github: GithubState, installation: Installation): Shape<'installation'> => {
  const { id, app, account } = installation;
  return {
    id,
    account: accountView(github, account),
    repository_selection: installation.selected === undefined ? 'all' : 'selected',
    access_tokens_url: `${github.urls.api}/app/installations/${id}/access_tokens`,
    repositories_url: `${github.urls.api}/installation/repositories`,
    html_url: `${github.urls.web}/organizations/${account.login}/settings/installations/${id}`,
    app_id: app.id,
    client_id: app.clientId,
    app_slug: app.slug,
    target_id: account.id,
    target_type: account.type,
    permissions: { ...app.permissions },
    events: [...app.events],
    created_at: iso(installation.createdAt),
    updated_at: iso(installation.createdAt),
    single_file_name: null,
    suspended_by: null,
    suspended_at: isoOrNull(installation.suspendedAt),
  };
};

export const tokenView = (github: GithubState, token: Extract<Token, { kind: 'installation' }>): Shape<'installation-token'> => {
  const narrowed = token.repositories ?? token.installation.selected;
  const repositories = [...(token.repositories ?? [])].map((id) => github.repositories.get(id));
  return {
    token: token.text,
    expires_at: iso(token.expiresAt ?? 0),
    permissions: { ...token.permissions },
    repository_selection: narrowed === undefined ? 'all' : 'selected',
    ...(token.repositories === undefined
      ? {}
      : { repositories: repositories.filter((one) => one !== undefined).map((one) => repositoryView(github, one)) }),
  };
};
