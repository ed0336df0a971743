import type { Shape } from '../openapi/shapes.ts';
import type { GithubState } from '../state/github-state.ts';
import type { IssueEvent, Review } from '../state/issue.ts';
import type { Issue, PullRequest } from '../state/repository.ts';
import { accountView, associationOf } from './account-view.ts';
import { viaApp } from './app-view.ts';
import { commentView, issueHtmlUrl } from './issue-view.ts';
import { repositoryUrl } from './repository-view.ts';
import { iso, nodeId } from './text.ts';

/** One thing that happened to an issue. */
export const eventView = (github: GithubState, issue: Issue, event: IssueEvent) => {
  const url = repositoryUrl(github, issue.repository);
  const commit = 'commit' in event ? event.commit : null;
  return {
    id: event.id,
    node_id: nodeId('EV', event.id),
    url: `${url}/issues/events/${event.id}`,
    actor: accountView(github, event.actor),
    event: event.event,
    commit_id: commit,
    commit_url: commit === null ? null : `${url}/commits/${commit}`,
    created_at: iso(event.at),
    performed_via_github_app: viaApp(github, event.actor),
    ...('label' in event ? { label: { name: event.label.name, color: event.label.color } } : {}),
    ...('from' in event ? { rename: { from: event.from, to: event.to } } : {}),
  };
};

export const reviewView = (github: GithubState, pull: PullRequest, review: Review): Shape<'pull-request-review'> => {
  const pullUrl = `${repositoryUrl(github, pull.repository)}/pulls/${pull.number}`;
  const html = `${issueHtmlUrl(github, pull)}#pullrequestreview-${review.id}`;
  return {
    id: review.id,
    node_id: nodeId('PRR', review.id),
    user: accountView(github, review.author),
    body: review.body,
    state: review.state,
    html_url: html,
    pull_request_url: pullUrl,
    author_association: associationOf(review.author, pull.repository),
    _links: { html: { href: html }, pull_request: { href: pullUrl } },
    submitted_at: iso(review.at),
    commit_id: review.commit,
  };
};

/** Everything that happened, oldest first: events, comments and reviews. */
export const timelineViews = (github: GithubState, issue: Issue): readonly unknown[] => {
  const events = issue.events.map((event) => ({ id: event.id, at: event.at, shown: eventView(github, issue, event) }));
  const comments = issue.comments.map((comment) => {
    const actor = accountView(github, comment.author);
    return { id: comment.id, at: comment.createdAt, shown: { ...commentView(github, comment), event: 'commented', actor } };
  });
  const reviews = (issue.kind === 'pull' ? issue.reviews.map((review) => ({ pull: issue, review })) : []).map(
    ({ pull, review }) => {
      const view = reviewView(github, pull, review);
      return { id: review.id, at: review.at, shown: { ...view, event: 'reviewed', state: review.state.toLowerCase() } };
    },
  );
  return [...events, ...comments, ...reviews].toSorted((a, b) => a.at - b.at || a.id - b.id).map(({ shown }) => shown);
};
