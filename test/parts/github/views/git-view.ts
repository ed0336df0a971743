import type { FileChange } from '../git/git-diff.ts';
import type { ReadCommit, ReadSignature, ReadTag, ReadTreeEntry } from '../git/git-reading.ts';
import type { Shape } from '../openapi/shapes.ts';
import type { GithubState } from '../state/github-state.ts';
import type { Repository } from '../state/repository.ts';
import { accountView, repositoryHtmlUrl } from './account-view.ts';
import { repositoryUrl } from './repository-view.ts';
import { encodePath, iso, nodeId } from './text.ts';

const unsigned = { verified: false, reason: 'unsigned', signature: null, payload: null, verified_at: null };

const signatureView = ({ name, email, atMs }: ReadSignature) => ({ name, email, date: iso(atMs) });

/** As `git/commits` shows it: the Git commit, without GitHub users. */
export const gitCommitView = (github: GithubState, repository: Repository, commit: ReadCommit): Shape<'git-commit'> => {
  const url = repositoryUrl(github, repository);
  const html = repositoryHtmlUrl(github, repository);
  return {
    sha: commit.sha,
    node_id: nodeId('C', commit.sha),
    url: `${url}/git/commits/${commit.sha}`,
    html_url: `${html}/commit/${commit.sha}`,
    author: signatureView(commit.author),
    committer: signatureView(commit.committer),
    tree: { sha: commit.tree, url: `${url}/git/trees/${commit.tree}` },
    message: commit.message,
    parents: commit.parents.map((sha) => ({ sha, url: `${url}/git/commits/${sha}`, html_url: `${html}/commit/${sha}` })),
    verification: unsigned,
  };
};

export const commitView = (github: GithubState, repository: Repository, commit: ReadCommit): Shape<'commit'> => {
  const url = repositoryUrl(github, repository);
  const html = repositoryHtmlUrl(github, repository);
  const author = github.account(commit.author.name);
  const shown = author === undefined ? null : accountView(github, author);
  return {
    sha: commit.sha,
    node_id: nodeId('C', commit.sha),
    commit: {
      author: signatureView(commit.author),
      committer: signatureView(commit.committer),
      message: commit.message,
      tree: { sha: commit.tree, url: `${url}/git/trees/${commit.tree}` },
      url: `${url}/git/commits/${commit.sha}`,
      comment_count: 0,
      verification: unsigned,
    },
    url: `${url}/commits/${commit.sha}`,
    html_url: `${html}/commit/${commit.sha}`,
    comments_url: `${url}/commits/${commit.sha}/comments`,
    author: shown,
    committer: shown,
    parents: commit.parents.map((sha) => ({ sha, url: `${url}/commits/${sha}`, html_url: `${html}/commit/${sha}` })),
  };
};

export const changeView = (
  github: GithubState,
  repository: Repository,
  commit: string,
  change: FileChange,
): Shape<'diff-entry'> => {
  const html = repositoryHtmlUrl(github, repository);
  const path = encodePath(change.path);
  return {
    sha: change.sha,
    filename: change.path,
    status: change.status,
    additions: change.additions,
    deletions: change.deletions,
    changes: change.additions + change.deletions,
    blob_url: `${html}/blob/${commit}/${path}`,
    raw_url: `${html}/raw/${commit}/${path}`,
    contents_url: `${repositoryUrl(github, repository)}/contents/${path}?ref=${commit}`,
    ...(change.patch === undefined ? {} : { patch: change.patch }),
    ...(change.previousPath === undefined ? {} : { previous_filename: change.previousPath }),
  };
};

export const refView = (github: GithubState, repository: Repository, ref: string, sha: string): Shape<'git-ref'> => {
  const url = repositoryUrl(github, repository);
  const type = repository.network.tagged(sha) === undefined ? 'commit' : 'tag';
  return {
    ref,
    node_id: nodeId('REF', ref),
    url: `${url}/git/${encodePath(ref)}`,
    object: { sha, type, url: `${url}/git/${type}s/${sha}` },
  };
};

export const tagObjectView = (github: GithubState, repository: Repository, tag: ReadTag): Shape<'git-tag'> => {
  const url = repositoryUrl(github, repository);
  return {
    node_id: nodeId('TA', tag.sha),
    tag: tag.name,
    sha: tag.sha,
    url: `${url}/git/tags/${tag.sha}`,
    message: tag.message,
    tagger: signatureView(tag.tagger),
    object: { sha: tag.object, type: 'commit', url: `${url}/git/commits/${tag.object}` },
    verification: unsigned,
  };
};

export const treeEntryView = (github: GithubState, repository: Repository, entry: ReadTreeEntry) => ({
  path: entry.path,
  mode: entry.mode,
  type: entry.type,
  sha: entry.sha,
  ...(entry.size === undefined ? {} : { size: entry.size }),
  url: `${repositoryUrl(github, repository)}/git/${entry.type}s/${entry.sha}`,
});

/** What files, folders, links and submodules have in common under `contents`. */
export const contentView = (github: GithubState, repository: Repository, ref: string, entry: ReadTreeEntry, size: number) => {
  const url = repositoryUrl(github, repository);
  const html = repositoryHtmlUrl(github, repository);
  const path = encodePath(entry.path);
  const self = `${url}/contents/${path}?ref=${encodeURIComponent(ref)}`;
  const git = `${url}/git/${entry.type === 'tree' ? 'trees' : 'blobs'}/${entry.sha}`;
  const page = `${html}/${entry.type === 'tree' ? 'tree' : 'blob'}/${encodePath(ref)}/${path}`;
  return {
    name: entry.path.split('/').at(-1) ?? '',
    path: entry.path,
    sha: entry.sha,
    size,
    url: self,
    html_url: page,
    git_url: git,
    download_url: entry.type === 'blob' ? `${html}/raw/${encodePath(ref)}/${path}` : null,
    _links: { self, git, html: page },
  };
};
