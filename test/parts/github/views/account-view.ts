import type { Shape } from '../openapi/shapes.ts';
import type { Account } from '../state/account.ts';
import type { GithubState } from '../state/github-state.ts';
import { fullName, type Repository } from '../state/repository.ts';
import { roleOf } from '../state/viewer.ts';
import { iso, nodeId } from './text.ts';

export const accountView = ({ urls }: GithubState, { id, login, type }: Account): Shape<'simple-user'> => {
  const url = `${urls.api}/users/${encodeURIComponent(login)}`;
  return {
    login,
    id,
    node_id: nodeId('U', id),
    avatar_url: `${urls.web}/avatars/u/${id}?v=4`,
    gravatar_id: '',
    url,
    html_url: `${urls.web}/${type === 'Bot' ? `apps/${login.replace('[bot]', '')}` : login}`,
    followers_url: `${url}/followers`,
    following_url: `${url}/following{/other_user}`,
    gists_url: `${url}/gists{/gist_id}`,
    starred_url: `${url}/starred{/owner}{/repo}`,
    subscriptions_url: `${url}/subscriptions`,
    organizations_url: `${url}/orgs`,
    repos_url: `${url}/repos`,
    events_url: `${url}/events{/privacy}`,
    received_events_url: `${url}/received_events`,
    type,
    site_admin: false,
  };
};

/** The page of a person that everybody may see. */
export const profileView = (github: GithubState, account: Account): Shape<'public-user'> => {
  const owned = github.repositoriesOf(account);
  return {
    ...accountView(github, account),
    name: account.login,
    company: null,
    blog: '',
    location: null,
    email: null,
    hireable: null,
    bio: null,
    twitter_username: null,
    public_repos: owned.filter((repository) => !repository.private).length,
    public_gists: 0,
    followers: 0,
    following: 0,
    created_at: iso(account.createdAt),
    updated_at: iso(account.createdAt),
  };
};

/** As webhooks show an organisation. */
export const organizationReference = (github: GithubState, account: Account): Shape<'organization-simple-webhooks'> => {
  const url = `${github.urls.api}/orgs/${account.login}`;
  return {
    login: account.login,
    id: account.id,
    node_id: nodeId('O', account.id),
    url,
    repos_url: `${url}/repos`,
    events_url: `${url}/events`,
    hooks_url: `${url}/hooks`,
    issues_url: `${url}/issues`,
    members_url: `${url}/members{/member}`,
    public_members_url: `${url}/public_members{/member}`,
    avatar_url: `${github.urls.web}/avatars/u/${account.id}?v=4`,
    description: null,
  };
};

/** As on GitHub, unreliable for decisions: a membership that is hidden from the viewer looks like none. */
export const associationOf = (author: Account, repository: Repository): Shape<'author-association'> => {
  if (repository.owner === author) return 'OWNER';
  if (repository.owner.members.has(author.id)) return 'MEMBER';
  return repository.collaborators.has(author.id) ? 'COLLABORATOR' : 'NONE';
};

const collaboratorView = (github: GithubState, user: Account, repository: Repository): Shape<'collaborator'> => {
  const role = roleOf(user, repository);
  return { ...accountView(github, user), permissions: permissionFlags(role), role_name: role ?? 'none' };
};

export const permissionFlags = (
  role: ReturnType<typeof roleOf>,
): { admin: boolean; maintain: boolean; push: boolean; triage: boolean; pull: boolean } => ({
  admin: role === 'admin',
  maintain: role === 'admin' || role === 'maintain',
  push: role === 'admin' || role === 'maintain' || role === 'write',
  triage: role !== undefined && role !== 'read',
  pull: role !== undefined,
});

/** Maps a role to the older scale of four permissions. */
export const permissionView = (
  github: GithubState,
  user: Account,
  repository: Repository,
): Shape<'repository-collaborator-permission'> => {
  const role = roleOf(user, repository);
  const flags = permissionFlags(role);
  const permission = flags.admin ? 'admin' : flags.push ? 'write' : flags.pull ? 'read' : 'none';
  return { permission, role_name: role ?? 'none', user: collaboratorView(github, user, repository) };
};

export const repositoryHtmlUrl = ({ urls }: GithubState, repository: Repository): string => `${urls.web}/${fullName(repository)}`;
