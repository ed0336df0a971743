import { commitSha, completeReading, incompleteReading, type Reading } from '@eph/contract';
import type { Command } from '@eph/engine/source/pulls';
import type { Answer } from '../forge-http/answer.ts';
import type { GiteaClient } from './gitea-client.ts';
import { readWriters } from './permissions.ts';
import { readTimeline } from './pull-events.ts';
import { computeHeadsAtComments } from './push-history.ts';
import { readPull } from './repository.ts';
import { type CommentShape, commentShape, listOf } from './shapes.ts';

export const listedComments = {
  parse: listOf(commentShape),
  keyOf: ({ id }: CommentShape): number => id,
  what: 'comments',
};

/** As `Pulls.commands`. A pull request without any costs one request. */
export const readCommands = async (client: GiteaClient, number: number, signal: AbortSignal): Promise<Reading<Command>> => {
  const comments = await client.list(`/issues/${number}/comments`, listedComments, signal);
  if (!comments.complete) return incompleteReading([], comments.refusal.fault);
  const commanding = comments.items.filter((comment) => firstLine(comment).startsWith('/'));
  if (commanding.length === 0) return completeReading([]);
  const authors = commanding.map(({ user }) => user.login);
  const [heads, writers] = await Promise.all([readHeadsAtComments(client, number, signal), readWriters(client, authors, signal)]);
  if (!heads.ok) return incompleteReading([], heads.fault);
  if (!writers.ok) return incompleteReading([], writers.fault);
  return completeReading(commanding.map((comment) => toCommand(comment, writers.value, heads.value.get(comment.id))));
};

const readHeadsAtComments = async (
  client: GiteaClient,
  number: number,
  signal: AbortSignal,
): Promise<Answer<ReadonlyMap<number, string>>> => {
  const pull = await readPull(client, number, signal);
  if (!pull.ok) return pull;
  const timeline = await readTimeline(client, pull.value, signal);
  return timeline.complete ? { ok: true, value: computeHeadsAtComments(timeline.items) } : timeline.refusal;
};

const firstLine = ({ body }: CommentShape): string => (body.split(/\r?\n/, 1)[0] ?? '').trim();

const toCommand = (comment: CommentShape, writers: ReadonlySet<string>, head: string | undefined): Command => ({
  id: String(comment.id),
  text: firstLine(comment),
  author: comment.user.login,
  mayWrite: writers.has(comment.user.login),
  at: comment.created_at,
  commit: head === undefined ? null : commitSha(head),
});
