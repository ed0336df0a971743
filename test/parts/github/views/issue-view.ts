import type { Shape } from '../openapi/shapes.ts';
import type { GithubState } from '../state/github-state.ts';
import { type Label, type Reaction, reactionContents } from '../state/issue.ts';
import type { Comment, Issue, Repository } from '../state/repository.ts';
import { accountView, associationOf, repositoryHtmlUrl } from './account-view.ts';
import { viaApp } from './app-view.ts';
import { repositoryUrl } from './repository-view.ts';
import { iso, isoOrNull, nodeId } from './text.ts';

export const issueUrl = (github: GithubState, issue: Issue): string =>
  `${repositoryUrl(github, issue.repository)}/issues/${issue.number}`;

/** The web page; it redirects to the pull request of the same number. */
export const issueHtmlUrl = (github: GithubState, issue: Issue): string =>
  `${repositoryHtmlUrl(github, issue.repository)}/${issue.kind === 'pull' ? 'pull' : 'issues'}/${issue.number}`;

export const labelView = (github: GithubState, repository: Repository, label: Label): Shape<'label'> => ({
  id: label.id,
  node_id: nodeId('LA', label.id),
  url: `${repositoryUrl(github, repository)}/labels/${encodeURIComponent(label.name)}`,
  name: label.name,
  color: label.color,
  default: false,
  description: label.description,
});

export const reactionView = (github: GithubState, reaction: Reaction): Shape<'reaction'> => ({
  id: reaction.id,
  node_id: nodeId('REA', reaction.id),
  user: accountView(github, reaction.user),
  content: reaction.content,
  created_at: iso(reaction.createdAt),
});

const reactionSummary = (url: string, reactions: readonly Reaction[]): Shape<'reaction-rollup'> => {
  const count = (content: string): number => reactions.filter((reaction) => reaction.content === content).length;
  return {
    url: `${url}/reactions`,
    total_count: reactions.length,
    ...(Object.fromEntries(reactionContents.map((content) => [content, count(content)])) as Omit<
      Shape<'reaction-rollup'>,
      'url' | 'total_count'
    >),
  };
};

/** A pull request seen as an issue, or an issue. */
export const issueView = (github: GithubState, issue: Issue): Shape<'issue'> & { labels: Shape<'label'>[] } => {
  const { repository } = issue;
  const url = issueUrl(github, issue);
  return {
    id: issue.id,
    node_id: nodeId(issue.kind === 'pull' ? 'PR' : 'I', issue.id),
    url,
    repository_url: repositoryUrl(github, repository),
    labels_url: `${url}/labels{/name}`,
    comments_url: `${url}/comments`,
    events_url: `${url}/events`,
    timeline_url: `${url}/timeline`,
    html_url: issueHtmlUrl(github, issue),
    number: issue.number,
    state: issue.state,
    state_reason: null,
    title: issue.title,
    body: issue.body,
    user: accountView(github, issue.author),
    labels: issue.labels.map((label) => labelView(github, repository, label)),
    assignee: null,
    assignees: [],
    milestone: null,
    locked: false,
    active_lock_reason: null,
    comments: issue.comments.length,
    created_at: iso(issue.createdAt),
    updated_at: iso(issue.updatedAt),
    closed_at: isoOrNull(issue.closedAt),
    author_association: associationOf(issue.author, repository),
    reactions: reactionSummary(url, []),
    performed_via_github_app: viaApp(github, issue.author),
    ...(issue.kind === 'pull' ? { draft: issue.draft, pull_request: pullReference(github, issue) } : {}),
  };
};

/** One issue also says who closed it. */
export const singleIssueView = (github: GithubState, issue: Issue): Shape<'issue'> => ({
  ...issueView(github, issue),
  closed_by: issue.closedBy === undefined ? null : accountView(github, issue.closedBy),
});

const pullReference = (github: GithubState, pull: Extract<Issue, { kind: 'pull' }>) => {
  const html = issueHtmlUrl(github, pull);
  return {
    url: `${repositoryUrl(github, pull.repository)}/pulls/${pull.number}`,
    html_url: html,
    diff_url: `${html}.diff`,
    patch_url: `${html}.patch`,
    merged_at: isoOrNull(pull.merged?.at),
  };
};

export const commentView = (github: GithubState, comment: Comment): Shape<'issue-comment'> => {
  const { issue, id, author } = comment;
  const url = `${repositoryUrl(github, issue.repository)}/issues/comments/${id}`;
  return {
    id,
    node_id: nodeId('IC', id),
    url,
    html_url: `${issueHtmlUrl(github, issue)}#issuecomment-${id}`,
    body: comment.body,
    user: accountView(github, author),
    created_at: iso(comment.createdAt),
    updated_at: iso(comment.updatedAt),
    issue_url: issueUrl(github, issue),
    author_association: associationOf(author, issue.repository),
    performed_via_github_app: viaApp(github, author),
    reactions: reactionSummary(url, comment.reactions),
  };
};
