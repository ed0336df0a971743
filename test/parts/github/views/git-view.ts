import type { FileChange } from '../git/git-diff.ts';
import type { ReadCommit, ReadSignature } from '../git/git-reading.ts';
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
