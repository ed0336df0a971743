import { commitSha, type Reading } from '@eph/contract';
import type { Command } from '@eph/engine/source/pulls';
import { type Answer, invalidAnswer } from '../forge-http/answer.ts';
import { computeCommands } from '../forge-http/commands.ts';
import { confirmEmpty } from '../forge-http/empty-list.ts';
import { type CommentShape, comments, readWriters, toCommandComment } from '../forge-http/github-api.ts';
import type { Listing } from '../forge-http/read-pages.ts';
import type { GiteaClient } from './gitea-client.ts';
import { readTimeline } from './pull-events.ts';
import { computeHeadsAtComments } from './push-history.ts';
import { readPull } from './repository.ts';
import type { TimelineShape } from './shapes.ts';

/** All comments, oldest first. */
export const readComments = async (client: GiteaClient, number: number, signal: AbortSignal): Promise<Listing<CommentShape>> => {
  const listing = await client.list(`/issues/${number}/comments`, comments, signal);
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

/** As `Pulls.commands`. */
export const readCommands = async (client: GiteaClient, number: number, signal: AbortSignal): Promise<Reading<Command>> => {
  const { items, ...listing } = await readComments(client, number, signal);
  return await computeCommands({
    comments: { ...listing, items: items.map(toCommandComment) },
    readHeads: async (commands) => {
      const events = await readEvents(client, number, commands, signal);
      if (!events.ok) return events;
      const heads = computeHeadsAtComments(events.value);
      const headOf = (head: string | undefined) => (head === undefined ? null : commitSha(head));
      return { ok: true, value: ({ id }) => headOf(heads.get(id)) };
    },
    readWriters: (people) => readWriters(client, people, signal),
  });
};

/** The timeline includes comments: if one is missing, a push may be missing too. */
const readEvents = async (
  client: GiteaClient,
  number: number,
  commands: readonly { readonly id: number }[],
  signal: AbortSignal,
): Promise<Answer<readonly TimelineShape[]>> => {
  const pull = await readPull(client, number, signal);
  if (!pull.ok) return pull;
  const timeline = await readTimeline(client, pull.value, signal);
  if (!timeline.complete) return timeline.refusal;
  const happened = new Set(timeline.items.map(({ id }) => id));
  if (commands.every(({ id }) => happened.has(id))) return { ok: true, value: timeline.items };
  return invalidAnswer(`${client.shown} does not list the whole timeline of pull request ${number}.`);
};
