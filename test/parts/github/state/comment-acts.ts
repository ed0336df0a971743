import type { Account } from './account.ts';
import type { Reaction, ReactionContent } from './issue.ts';
import { touchIssue } from './issue-acts.ts';
import type { Comment, Issue } from './repository.ts';
import type { World } from './world.ts';

export const addComment = (world: World, issue: Issue, body: string, author: Account): Comment => {
  const now = world.now();
  const comment = { id: world.nextId(), issue, author, body, createdAt: now, updatedAt: now, reactions: [] };
  issue.comments.push(comment);
  announce(world, comment, 'created', author, body);
  return comment;
};

export const editComment = (world: World, comment: Comment, body: string, by: Account): void => {
  const previousBody = comment.body;
  comment.body = body;
  comment.updatedAt = world.now();
  announce(world, comment, 'edited', by, previousBody);
};

export const deleteComment = (world: World, comment: Comment, by: Account): void => {
  comment.issue.comments = comment.issue.comments.filter((other) => other !== comment);
  announce(world, comment, 'deleted', by, comment.body);
};

const announce = (
  world: World,
  comment: Comment,
  action: 'created' | 'edited' | 'deleted',
  sender: Account,
  previousBody: string,
): void => {
  const { issue } = comment;
  touchIssue(world, issue);
  world.emit({ kind: 'issue_comment', action, issue, comment, previousBody, repository: issue.repository, sender });
};

/** One of each kind per person; asking again finds the first. */
export const ensureReaction = (
  world: World,
  subject: Issue | Comment,
  content: ReactionContent,
  user: Account,
): { readonly reaction: Reaction; readonly isNew: boolean } => {
  const known = subject.reactions.find((reaction) => reaction.user === user && reaction.content === content);
  if (known !== undefined) return { reaction: known, isNew: false };
  const reaction = { id: world.nextId(), user, content, createdAt: world.now() };
  subject.reactions.push(reaction);
  world.touch(issueOf(subject).repository);
  return { reaction, isNew: true };
};

export const removeReaction = (world: World, subject: Issue | Comment, reaction: Reaction): void => {
  subject.reactions = subject.reactions.filter((other) => other !== reaction);
  world.touch(issueOf(subject).repository);
};

const issueOf = (subject: Issue | Comment): Issue => ('issue' in subject ? subject.issue : subject);
