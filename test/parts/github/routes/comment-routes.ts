import { created, found, invalid, ok, Problem, page } from '../http/answer.ts';
import { type Route, repositoryRoute } from '../http/route.ts';
import type { Account } from '../state/account.ts';
import { addComment, editComment, ensureReaction } from '../state/comment-mutations.ts';
import { atLeast, type Comment, type Repository } from '../state/repository.ts';
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

  repositoryRoute('issues/create-comment', writing, 'read', ({ github, repository, path, body, actor }) => {
    const issue = findIssue(repository, path.issue_number);
    checkBody(body.body);
    const comment = commentView(github, addComment(github, issue, body.body, actor));
    return created(comment, comment.url);
  }),

  repositoryRoute('issues/update-comment', writing, 'read', ({ github, repository, path, body, actor }) => {
    const comment = findComment(repository, path.comment_id);
    checkMayChange(comment, repository, actor);
    checkBody(body.body);
    editComment(github, comment, body.body, actor);
    return ok(commentView(github, comment));
  }),

  repositoryRoute('reactions/create-for-issue-comment', writing, 'read', ({ github, repository, path, body, actor }) => {
    const { reaction, isNew } = ensureReaction(github, findComment(repository, path.comment_id), body.content, actor);
    return isNew ? created(reactionView(github, reaction)) : ok(reactionView(github, reaction));
  }),
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
