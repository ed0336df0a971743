import type { Account } from './account.ts';
import type { GithubState } from './github-state.ts';
import type { Reaction, ReactionContent } from './issue.ts';
import { touchIssue } from './issue-mutations.ts';
import type { Comment, Issue } from './repository.ts';

export const addComment = (github: GithubState, issue: Issue, body: string, author: Account): Comment => {
  const now = github.now();
  const comment = { id: github.nextId(), issue, author, body, createdAt: now, updatedAt: now, reactions: [] };
  issue.comments.push(comment);
  announce(github, comment, 'created', author, body);
  return comment;
};

export const editComment = (github: GithubState, comment: Comment, body: string, by: Account): void => {
  const previousBody = comment.body;
  comment.body = body;
  comment.updatedAt = github.now();
  announce(github, comment, 'edited', by, previousBody);
};

export const deleteComment = (github: GithubState, comment: Comment, by: Account): void => {
  comment.issue.comments = comment.issue.comments.filter((other) => other !== comment);
  announce(github, comment, 'deleted', by, comment.body);
};

const announce = (
  github: GithubState,
  comment: Comment,
  action: 'created' | 'edited' | 'deleted',
  sender: Account,
  previousBody: string,
): void => {
  const { issue } = comment;
  touchIssue(github, issue);
  github.emit({ kind: 'issue_comment', action, issue, comment, previousBody, repository: issue.repository, sender });
};

/** One of each kind per user; adding it again returns the first. */
export const ensureReaction = (
  github: GithubState,
  comment: Comment,
  content: ReactionContent,
  user: Account,
): { readonly reaction: Reaction; readonly isNew: boolean } => {
  const known = comment.reactions.find((reaction) => reaction.user === user && reaction.content === content);
  if (known !== undefined) return { reaction: known, isNew: false };
  const reaction = { id: github.nextId(), user, content, createdAt: github.now() };
  comment.reactions.push(reaction);
  github.touch(comment.issue.repository);
  return { reaction, isNew: true };
};
