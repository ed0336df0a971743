import type { Reading } from '@eph/contract';
import type { Command } from '@eph/engine/source/pulls';
import { type Answer, invalidAnswer } from '../forge-http/answer.ts';
import { computeCommands } from '../forge-http/commands.ts';
import { confirmEmpty } from '../forge-http/empty-list.ts';
import { parserOf } from '../forge-http/forge-http.ts';
import { type CommentShape, comments, readWriters, toCommandComment } from '../forge-http/github-api.ts';
import type { Listing } from '../forge-http/read-pages.ts';
import type { GithubClient } from './github-client.ts';
import { type HeadHistory, readHeadHistory } from './head-history.ts';
import { type ActivityShape, activityShape, conversationShape, type PullShape, pullShape } from './shapes.ts';

const parsePull = parserOf(pullShape);
const parseActivities = parserOf(activityShape.array());
const parseCount = parserOf(conversationShape.transform((counts) => counts.comments));

/** All comments, oldest first. */
export const readComments = async (client: GithubClient, number: number, signal: AbortSignal): Promise<Listing<CommentShape>> => {
  const count = () => client.read(`/issues/${number}`, parseCount, signal);
  const doubt = `${client.shown} does not list the comments on pull request ${number}.`;
  return await confirmEmpty(await client.list(`/issues/${number}/comments`, comments, signal), count, doubt);
};

/** As `Pulls.commands`. */
export const readCommands = async (
  client: GithubClient,
  number: number,
  now: () => number,
  signal: AbortSignal,
): Promise<Reading<Command>> => {
  const { items, ...listing } = await readComments(client, number, signal);
  return await computeCommands({
    comments: { ...listing, items: items.map(toCommandComment) },
    readHeads: async () => {
      const history = await readHistory(client, number, now, signal);
      return history.ok ? { ok: true, value: ({ at }) => history.value?.headAt(at) ?? null } : history;
    },
    readWriters: (people) => readWriters(client, people, signal),
  });
};

/** Undefined if unknown. The head is read first: a later push is in the history. */
const readHistory = async (
  client: GithubClient,
  number: number,
  now: () => number,
  signal: AbortSignal,
): Promise<Answer<HeadHistory | undefined>> => {
  const answer = await client.read(`/pulls/${number}`, parsePull, signal);
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
  const name = head.repo.full_name.split('/').map(encodeURIComponent).join('/');
  const ref = encodeURIComponent(`refs/heads/${head.ref}`);
  const answer = await client.readFromRoot(`/repos/${name}/activity?ref=${ref}&per_page=100`, parseActivities, signal);
  const isClosed = !answer.ok && (answer.meaning === 'gone' || answer.meaning === 'refused');
  return isClosed && head.repo.id !== base.repo.id ? { ok: true, value: [] } : answer;
};

/** What is not recorded after this time never will be. */
const noteDelayMs = 10 * 60_000;
