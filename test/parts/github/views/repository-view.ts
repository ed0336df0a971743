import type { Shape } from '../openapi/shapes.ts';
import type { GithubState } from '../state/github-state.ts';
import { fullName, type Repository } from '../state/repository.ts';
import { roleOf, type Viewer } from '../state/viewer.ts';
import { accountView, permissionFlags, repositoryHtmlUrl } from './account-view.ts';
import { iso, nodeId } from './text.ts';

export const repositoryUrl = ({ urls }: GithubState, repository: Repository): string =>
  `${urls.api}/repos/${fullName(repository)}`;

const shown = new WeakMap<Repository, { readonly version: number; readonly view: Shape<'repository'> }>();

/** As other things show it: pull requests, the list of an installation, webhooks. A page of pull requests shows it hundreds of times. */
export const repositoryView = (github: GithubState, repository: Repository): Shape<'repository'> => {
  const known = shown.get(repository);
  if (known?.version === repository.version) return known.view;
  const view = renderRepository(github, repository);
  shown.set(repository, { version: repository.version, view });
  return view;
};

const renderRepository = (github: GithubState, repository: Repository): Shape<'repository'> => {
  const html = repositoryHtmlUrl(github, repository);
  const open = [...repository.issues.values()].filter(({ state }) => state === 'open').length;
  return {
    ...addresses(repositoryUrl(github, repository)),
    id: repository.id,
    node_id: nodeId('R', repository.id),
    name: repository.name,
    full_name: fullName(repository),
    private: repository.private,
    owner: accountView(github, repository.owner),
    html_url: html,
    description: null,
    fork: repository.parent !== undefined,
    created_at: iso(repository.createdAt),
    updated_at: iso(repository.updatedAt),
    pushed_at: iso(repository.pushedAt),
    git_url: `${html.replace(/^https?:/, 'git:')}.git`,
    ssh_url: `git@${new URL(html).hostname}:${fullName(repository)}.git`,
    clone_url: `${html}.git`,
    svn_url: html,
    homepage: null,
    size: 1,
    stargazers_count: 0,
    watchers_count: 0,
    language: null,
    has_issues: true,
    has_projects: true,
    // oxlint-disable-next-line typescript/no-deprecated -- GitHub still sends it, and its description demands it
    has_downloads: true,
    has_wiki: true,
    has_pages: false,
    has_discussions: false,
    forks_count: repository.forks.size,
    mirror_url: null,
    archived: repository.archived,
    disabled: false,
    open_issues_count: open,
    license: null,
    allow_forking: true,
    is_template: false,
    web_commit_signoff_required: false,
    topics: [],
    visibility: repository.private ? 'private' : 'public',
    forks: repository.forks.size,
    open_issues: open,
    watchers: 0,
    default_branch: repository.defaultBranch,
  };
};

/** With what the viewer may do, as lists show it. */
export const listedRepositoryView = (
  github: GithubState,
  repository: Repository,
  viewer: Viewer,
): Shape<'repository'> & Shape<'minimal-repository'> => {
  const { license: _, ...view } = repositoryView(github, repository);
  return { ...view, license: null, permissions: flagsFor(viewer, repository) };
};

export const fullRepositoryView = (github: GithubState, repository: Repository, viewer: Viewer): Shape<'full-repository'> => {
  const source = repository.parent?.parent ?? repository.parent;
  return {
    ...repositoryView(github, repository),
    permissions: flagsFor(viewer, repository),
    has_discussions: false,
    created_at: iso(repository.createdAt),
    updated_at: iso(repository.updatedAt),
    pushed_at: iso(repository.pushedAt),
    temp_clone_token: '',
    allow_squash_merge: true,
    allow_merge_commit: true,
    allow_rebase_merge: true,
    allow_auto_merge: false,
    delete_branch_on_merge: false,
    network_count: repository.forks.size,
    subscribers_count: 0,
    ...(repository.owner.type === 'Organization' ? { organization: accountView(github, repository.owner) } : {}),
    ...(repository.parent === undefined ? {} : { parent: repositoryView(github, repository.parent) }),
    ...(source === undefined ? {} : { source: repositoryView(github, source) }),
  };
};

const flagsFor = (viewer: Viewer, repository: Repository): ReturnType<typeof permissionFlags> =>
  permissionFlags(viewer.kind === 'user' ? roleOf(viewer.user, repository) : 'read');

const addresses = (url: string) => ({
  url,
  forks_url: `${url}/forks`,
  keys_url: `${url}/keys{/key_id}`,
  collaborators_url: `${url}/collaborators{/collaborator}`,
  teams_url: `${url}/teams`,
  hooks_url: `${url}/hooks`,
  issue_events_url: `${url}/issues/events{/number}`,
  events_url: `${url}/events`,
  assignees_url: `${url}/assignees{/user}`,
  branches_url: `${url}/branches{/branch}`,
  tags_url: `${url}/tags`,
  blobs_url: `${url}/git/blobs{/sha}`,
  git_tags_url: `${url}/git/tags{/sha}`,
  git_refs_url: `${url}/git/refs{/sha}`,
  trees_url: `${url}/git/trees{/sha}`,
  statuses_url: `${url}/statuses/{sha}`,
  languages_url: `${url}/languages`,
  stargazers_url: `${url}/stargazers`,
  contributors_url: `${url}/contributors`,
  subscribers_url: `${url}/subscribers`,
  subscription_url: `${url}/subscription`,
  commits_url: `${url}/commits{/sha}`,
  git_commits_url: `${url}/git/commits{/sha}`,
  comments_url: `${url}/comments{/number}`,
  issue_comment_url: `${url}/issues/comments{/number}`,
  contents_url: `${url}/contents/{+path}`,
  compare_url: `${url}/compare/{base}...{head}`,
  merges_url: `${url}/merges`,
  archive_url: `${url}/{archive_format}{/ref}`,
  downloads_url: `${url}/downloads`,
  issues_url: `${url}/issues{/number}`,
  pulls_url: `${url}/pulls{/number}`,
  milestones_url: `${url}/milestones{/number}`,
  notifications_url: `${url}/notifications{?since,all,participating}`,
  labels_url: `${url}/labels{/name}`,
  releases_url: `${url}/releases{/id}`,
  deployments_url: `${url}/deployments`,
});
