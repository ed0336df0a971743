import { commitSha, completeReading, incompleteReading, type Reading } from '@eph/contract';
import type { Command } from '@eph/engine/source/pulls';
import { type Answer, invalidAnswer } from '../forge-http/answer.ts';
import { confirmEmpty } from '../forge-http/empty-list.ts';
import type { Listing } from '../forge-http/read-pages.ts';
import { type GiteaClient, listBy } from './gitea-client.ts';
import { readWriters } from './permissions.ts';
import { readTimeline } from './pull-events.ts';
import { computeHeadsAtComments } from './push-history.ts';
import { readPull } from './repository.ts';
import { type CommentShape, commentShape, listOf } from './shapes.ts';

const listedComments = listBy('comments', listOf(commentShape), ({ id }) => id);

/** All comments, oldest first. */
export const readComments = async (client: GiteaClient, number: number, signal: AbortSignal): Promise<Listing<CommentShape>> => {
  const listing = await client.list(`/issues/${number}/comments`, listedComments, signal);
  const doubt = `${client.shown} does not list the comments on pull request ${number}.`;
  return await confirmEmpty(listing, () => countComments(client, number, signal), doubt);
};

/** A pull request may count reviews as comments; the timeline shows the difference. */
const countComments = async (client: GiteaClient, number: number, signal: AbortSignal): Promise<Answer<number>> => {
  const pull = await readPull(client, number, signal);
  if (!pull.ok) return pull;
  if (pull.value.comments === 0) return { ok: true, value: 0 };
  const timeline = await readTimeline(client, pull.value, signal);
  if (!timeline.complete) return timeline.refusal;
  return { ok: true, value: timeline.items.filter(({ type }) => type === 'comment').length };
};

/** As `Pulls.commands`. Without commands it costs one request. */
export const readCommands = async (client: GiteaClient, number: number, signal: AbortSignal): Promise<Reading<Command>> => {
  const comments = await readComments(client, number, signal);
  if (!comments.complete) return incompleteReading([], comments.refusal.fault);
  const commandComments = comments.items.filter((comment) => firstLine(comment).startsWith('/'));
  if (commandComments.length === 0) return completeReading([]);
  const authors = commandComments.map(({ user }) => user.login);
  const [heads, writers] = await Promise.all([
    readHeadsAtComments(client, number, commandComments, signal),
    readWriters(client, authors, signal),
  ]);
  if (!heads.ok) return incompleteReading([], heads.fault);
  if (!writers.ok) return incompleteReading([], writers.fault);
  return completeReading(commandComments.map((comment) => toCommand(comment, writers.value, heads.value.get(comment.id))));
};

/** The timeline includes comments: if one is missing, a push may be missing too. */
const readHeadsAtComments = async (
  client: GiteaClient,
  number: number,
  comments: readonly CommentShape[],
  signal: AbortSignal,
): Promise<Answer<ReadonlyMap<number, string>>> => {
  const pull = await readPull(client, number, signal);
  if (!pull.ok) return pull;
  const timeline = await readTimeline(client, pull.value, signal);
  if (!timeline.complete) return timeline.refusal;
  const happened = new Set(timeline.items.map(({ id }) => id));
  if (!comments.every(({ id }) => happened.has(id)))
    return invalidAnswer(`${client.shown} does not list the whole timeline of pull request ${number}.`);
  return { ok: true, value: computeHeadsAtComments(timeline.items) };
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
