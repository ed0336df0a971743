import { type Answer, created, empty, found, invalid, notFound, ok, Problem, page } from '../http/answer.ts';
import { type Call, type Route, repositoryRoute } from '../http/route.ts';
import type { Account } from '../state/account.ts';
import { addComment, deleteComment, editComment, ensureReaction, removeReaction } from '../state/comment-mutations.ts';
import type { GithubState } from '../state/github-state.ts';
import type { ReactionContent } from '../state/issue.ts';
import { atLeast, type Comment, type Issue, type Repository } from '../state/repository.ts';
import { roleOf } from '../state/viewer.ts';
import { commentView, reactionView } from '../views/issue-view.ts';
import { findIssue } from './issue-routes.ts';

const reading = ['issues:read', 'pull_requests:read'];
const writing = ['issues:write', 'pull_requests:write'];
const longestBody = 65_536;

export const commentRoutes: readonly Route[] = [
  repositoryRoute('issues/list-comments', reading, 'read', ({ github, repository, path, query }) => {
    const { comments } = findIssue(repository, path.issue_number);
    return page(changedSince(comments, query.since), (comment) => commentView(github, comment));
  }),

  repositoryRoute('issues/list-comments-for-repo', reading, 'read', ({ github, repository, query }) => {
    const all = [...repository.issues.values()].flatMap(({ comments }) => comments);
    const key = (comment: Comment): number => (query.sort === 'updated' ? comment.updatedAt : comment.createdAt);
    const rising = changedSince(all, query.since).toSorted((a, b) => key(a) - key(b) || a.id - b.id);
    return page(query.direction === 'desc' ? rising.toReversed() : rising, (comment) => commentView(github, comment));
  }),

  repositoryRoute('issues/create-comment', writing, 'read', ({ github, repository, path, body, actor }) => {
    const issue = findIssue(repository, path.issue_number);
    checkBody(body.body);
    const comment = commentView(github, addComment(github, issue, body.body, actor));
    return created(comment, comment.url);
  }),

  repositoryRoute('issues/get-comment', reading, 'read', ({ github, repository, path }) => {
    const comment = findComment(repository, path.comment_id);
    return ok(commentView(github, comment), comment.updatedAt);
  }),

  repositoryRoute('issues/update-comment', writing, 'read', ({ github, repository, path, body, actor }) => {
    const comment = findComment(repository, path.comment_id);
    checkMayChange(comment, repository, actor);
    checkBody(body.body);
    editComment(github, comment, body.body, actor);
    return ok(commentView(github, comment));
  }),

  repositoryRoute('issues/delete-comment', writing, 'read', ({ github, repository, path, actor }) => {
    const comment = findComment(repository, path.comment_id);
    checkMayChange(comment, repository, actor);
    deleteComment(github, comment, actor);
    return empty(204);
  }),

  repositoryRoute('reactions/list-for-issue-comment', reading, 'read', ({ github, repository, path, query }) =>
    listReactions(github, findComment(repository, path.comment_id), query.content),
  ),

  repositoryRoute('reactions/list-for-issue', reading, 'read', ({ github, repository, path, query }) =>
    listReactions(github, findIssue(repository, path.issue_number), query.content),
  ),

  repositoryRoute('reactions/create-for-issue-comment', writing, 'read', ({ github, repository, path, body, actor }) =>
    react(github, findComment(repository, path.comment_id), body.content, actor),
  ),

  repositoryRoute('reactions/create-for-issue', writing, 'read', ({ github, repository, path, body, actor }) =>
    react(github, findIssue(repository, path.issue_number), body.content, actor),
  ),

  repositoryRoute('reactions/delete-for-issue-comment', writing, 'read', (call) =>
    unreact(call, findComment(call.repository, call.path.comment_id), call.path.reaction_id),
  ),

  repositoryRoute('reactions/delete-for-issue', writing, 'read', (call) =>
    unreact(call, findIssue(call.repository, call.path.issue_number), call.path.reaction_id),
  ),
];

const findComment = (repository: Repository, id: number): Comment =>
  found([...repository.issues.values()].flatMap(({ comments }) => comments).find((comment) => comment.id === id));

const changedSince = (comments: readonly Comment[], since: string | undefined): readonly Comment[] =>
  since === undefined ? comments : comments.filter(({ updatedAt }) => updatedAt >= Date.parse(since));

const checkBody = (body: string): void => {
  if (body === '') throw invalid('IssueComment', 'body', 'missing_field');
  if (body.length > longestBody)
    throw invalid('IssueComment', 'body', 'custom', `body is too long (maximum is ${longestBody} characters)`);
};

/** Authors may change their own comments, users with write access all of them. */
const checkMayChange = (comment: Comment, repository: Repository, actor: Account): void => {
  if (comment.author === actor || actor.type === 'Bot' || atLeast(roleOf(actor, repository), 'write')) return;
  throw new Problem(403, 'Must have admin rights to Repository.');
};

const listReactions = (github: GithubState, subject: Issue | Comment, content: ReactionContent | undefined): Answer => {
  const matching = subject.reactions.filter((reaction) => content === undefined || reaction.content === content);
  return page(matching, (reaction) => reactionView(github, reaction));
};

const react = (github: GithubState, subject: Issue | Comment, content: ReactionContent, actor: Account): Answer => {
  const { reaction, isNew } = ensureReaction(github, subject, content, actor);
  return isNew ? created(reactionView(github, reaction)) : ok(reactionView(github, reaction));
};

const unreact = ({ github }: Call<never>, subject: Issue | Comment, id: number): Answer => {
  const reaction = subject.reactions.find((one) => one.id === id);
  if (reaction === undefined) throw notFound();
  removeReaction(github, subject, reaction);
  return empty(204);
};
