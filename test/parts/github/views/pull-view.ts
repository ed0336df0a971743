import { readChanges } from '../git/git-diff.ts';
import type { Shape } from '../openapi/shapes.ts';
import type { Account } from '../state/account.ts';
import type { GithubState } from '../state/github-state.ts';
import type { PullRequest, Repository } from '../state/repository.ts';
import { accountView, associationOf } from './account-view.ts';
import { issueHtmlUrl, issueUrl, labelView } from './issue-view.ts';
import { repositoryUrl, repositoryView } from './repository-view.ts';
import { iso, isoOrNull, nodeId } from './text.ts';

/** The ends as GitHub sends them: without a repository once the fork is gone, whatever the description says. */
interface End {
  label: string;
  ref: string;
  sha: string;
  user: Shape<'simple-user'>;
  repo: Shape<'repository'> | null;
}

type Sent<T> = Omit<T, 'head' | 'base' | 'labels'> & { head: End; base: End; labels: Shape<'label'>[] };

export const pullView = (github: GithubState, pull: PullRequest): Sent<Shape<'pull-request-simple'>> => {
  const { repository, number } = pull;
  const url = `${repositoryUrl(github, repository)}/pulls/${number}`;
  const html = issueHtmlUrl(github, pull);
  const issue = issueUrl(github, pull);
  const statuses = `${repositoryUrl(github, repository)}/statuses/${pull.headSha}`;
  const commentUrl = `${repositoryUrl(github, repository)}/pulls/comments{/number}`;
  return {
    url,
    id: pull.pullId,
    node_id: nodeId('PR', pull.pullId),
    html_url: html,
    diff_url: `${html}.diff`,
    patch_url: `${html}.patch`,
    issue_url: issue,
    commits_url: `${url}/commits`,
    review_comments_url: `${url}/comments`,
    review_comment_url: commentUrl,
    comments_url: `${issue}/comments`,
    statuses_url: statuses,
    number,
    state: pull.state,
    locked: false,
    title: pull.title,
    user: accountView(github, pull.author),
    body: pull.body,
    labels: pull.labels.map((label) => labelView(github, repository, label)),
    milestone: null,
    active_lock_reason: null,
    created_at: iso(pull.createdAt),
    updated_at: iso(pull.updatedAt),
    closed_at: isoOrNull(pull.closedAt),
    merged_at: isoOrNull(pull.merged?.at),
    merge_commit_sha: pull.merged?.commit ?? null,
    assignee: null,
    assignees: [],
    requested_reviewers: [],
    requested_teams: [],
    head: endView(github, pull.headRepository, pull.headOwner, pull.headRef, pull.headSha),
    base: endView(github, repository, repository.owner, pull.baseRef, pull.baseSha),
    _links: {
      self: { href: url },
      html: { href: html },
      issue: { href: issue },
      comments: { href: `${issue}/comments` },
      review_comments: { href: `${url}/comments` },
      review_comment: { href: commentUrl },
      commits: { href: `${url}/commits` },
      statuses: { href: statuses },
    },
    author_association: associationOf(pull.author, repository),
    auto_merge: null,
    draft: pull.draft,
  };
};

const endView = (github: GithubState, repository: Repository | undefined, owner: Account, ref: string, sha: string): End => ({
  label: `${owner.login}:${ref}`,
  ref,
  sha,
  user: accountView(github, owner),
  repo: repository === undefined ? null : repositoryView(github, repository),
});

/** Shown only for a single pull request and in webhooks: the size of the change, which Git has to compute. */
export const fullPullView = async (github: GithubState, pull: PullRequest): Promise<Sent<Shape<'pull-request'>>> => {
  const { network } = pull.repository;
  const base = network.mergeBase(pull.baseSha, pull.headSha);
  const changes = await readChanges(network, base, pull.headSha);
  return {
    ...describedPullView(github, pull),
    commits: network.between(pull.baseSha, pull.headSha).length,
    additions: changes.reduce((sum, { additions }) => sum + additions, 0),
    deletions: changes.reduce((sum, { deletions }) => sum + deletions, 0),
    changed_files: changes.length,
  };
};

/** Without asking Git, for webhooks: they are sent the moment something happens. */
export const describedPullView = (github: GithubState, pull: PullRequest): Sent<Shape<'pull-request'>> => ({
  ...pullView(github, pull),
  state: pull.state,
  user: accountView(github, pull.author),
  requested_teams: [],
  merged: pull.merged !== undefined,
  mergeable: pull.state === 'open' ? true : null,
  rebaseable: pull.state === 'open' ? true : null,
  mergeable_state: pull.state === 'open' ? (pull.draft ? 'draft' : 'clean') : 'unknown',
  merged_by: pull.merged === undefined ? null : accountView(github, pull.merged.by),
  comments: pull.comments.length,
  review_comments: 0,
  maintainer_can_modify: false,
  commits: pull.repository.network.between(pull.baseSha, pull.headSha).length,
  additions: 0,
  deletions: 0,
  changed_files: 0,
});
