import { completeReading, incompleteReading, type Reading } from '@eph/contract';
import type { Command } from '@eph/engine/source/pulls';
import { z } from 'zod';
import { type Answer, invalidAnswer } from '../forge-http/answer.ts';
import { readComments } from './conversation.ts';
import type { GithubClient } from './github-client.ts';
import { type HeadHistory, readHeadHistory } from './head-history.ts';
import { readWriters } from './permissions.ts';
import { type ActivityShape, activityShape, type CommentShape, loginOf, type PullShape, pullShape } from './shapes.ts';

const parsePull = (body: unknown): PullShape => pullShape.parse(body);
const parseActivities = (body: unknown): readonly ActivityShape[] => z.array(activityShape).parse(body);

/** As `Pulls.commands`. Without commands it costs one request. */
export const readCommands = async (
  client: GithubClient,
  number: number,
  now: () => number,
  signal: AbortSignal,
): Promise<Reading<Command>> => {
  const comments = await readComments(client, number, { signal });
  if (!comments.complete) return incompleteReading([], comments.refusal.fault);
  const commandComments = comments.items.filter((comment) => firstLine(comment).startsWith('/'));
  if (commandComments.length === 0) return completeReading([]);
  const authors = commandComments.flatMap(({ user }) => (user === null ? [] : [user.login]));
  const [history, writers] = await Promise.all([readHistory(client, number, now, signal), readWriters(client, authors, signal)]);
  if (!history.ok) return incompleteReading([], history.fault);
  if (!writers.ok) return incompleteReading([], writers.fault);
  return completeReading(commandComments.map((comment) => toCommand(comment, writers.value, history.value)));
};

const firstLine = ({ body }: CommentShape): string => (body.split(/\r?\n/, 1)[0] ?? '').trim();

const toCommand = (comment: CommentShape, writers: ReadonlySet<string>, history: HeadHistory | undefined): Command => ({
  id: String(comment.id),
  text: firstLine(comment),
  author: loginOf(comment.user),
  mayWrite: comment.user !== null && writers.has(comment.user.login),
  at: comment.created_at,
  commit: history?.headAt(comment.created_at) ?? null,
});

/** Undefined if unknown. The head is read first: a later push is in the history. */
const readHistory = async (
  client: GithubClient,
  number: number,
  now: () => number,
  signal: AbortSignal,
): Promise<Answer<HeadHistory | undefined>> => {
  const route = 'GET /repos/{owner}/{repo}/pulls/{pull_number}';
  const answer = await client.read({ route, parameters: { pull_number: number }, parse: parsePull }, { signal, fresh: true });
  if (!answer.ok) return answer;
  const pull = answer.value;
  const activities = await readActivities(client, pull, signal);
  if (!activities.ok) return activities;
  const history = readHeadHistory(activities.value, pull.head.ref);
  if (history.head === pull.head.sha) return { ok: true, value: history };
  // A branch of the repository itself always has a history; a fork may not show its own.
  const isOwn = pull.head.repo?.id === pull.base.repo.id;
  const isPending = activities.value.length === 0 ? isOwn : now() - Date.parse(pull.updated_at) < noteDelayMs;
  return isPending
    ? invalidAnswer(`${client.shown} has not recorded the last push to pull request ${number} yet.`)
    : { ok: true, value: undefined };
};

/** The last hundred pushes; none if the repository is gone or is a fork that Eph cannot see. */
const readActivities = async (
  client: GithubClient,
  { head, base }: PullShape,
  signal: AbortSignal,
): Promise<Answer<readonly ActivityShape[]>> => {
  if (head.repo === null) return { ok: true, value: [] };
  const [owner, repo] = head.repo.full_name.split('/');
  const answer = await client.read(
    {
      route: 'GET /repos/{owner}/{repo}/activity',
      parameters: { owner, repo, ref: `refs/heads/${head.ref}`, per_page: 100 },
      parse: parseActivities,
    },
    { signal, fresh: true },
  );
  const isClosed = !answer.ok && (answer.meaning === 'gone' || answer.meaning === 'refused');
  return isClosed && head.repo.id !== base.repo.id ? { ok: true, value: [] } : answer;
};

/** What is not recorded after this time never will be. */
const noteDelayMs = 10 * 60_000;
