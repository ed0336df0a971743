import { invalidAnswer } from '../forge-http/answer.ts';
import { type Listed, listOf } from '../forge-http/forge-http.ts';
import { type ReviewShape, reviews } from '../forge-http/github-api.ts';
import type { Listing } from '../forge-http/read-pages.ts';
import type { GiteaClient } from './gitea-client.ts';
import { type PullShape, type TimelineShape, timelineShape } from './shapes.ts';

const timelineEvents = listOf('events', timelineShape);

const maxPages = 200;
const minPageSize = 10;

/** The timeline of a pull request without review comments, oldest first. */
export const readTimeline = async (
  client: GiteaClient,
  { number, review_comments: hidden }: PullShape,
  signal: AbortSignal,
): Promise<Listing<TimelineShape>> => {
  const timeline = await readToEmptyPage(client, `/issues/${number}/timeline`, timelineEvents, hidden, signal);
  if (!timeline.complete || timeline.items.length > 0) return timeline;
  // Each begins with a push.
  const refusal = invalidAnswer(`${client.shown} does not list the timeline of pull request ${number}.`);
  return { complete: false, items: [], refusal };
};

/** All reviews of a pull request, oldest first, without pending ones of others. */
export const readReviews = (client: GiteaClient, number: number, signal: AbortSignal): Promise<Listing<ReviewShape>> =>
  readToEmptyPage(client, `/pulls/${number}/reviews`, reviews, 0, signal);

/**
 * Some lists omit items from their pages and do not return a total. The list ends after enough empty pages that no
 * `hidden` items can be left.
 */
const readToEmptyPage = async <T>(
  client: GiteaClient,
  path: string,
  { parse }: Listed<T>,
  hidden: number,
  signal: AbortSignal,
): Promise<Listing<T>> => {
  const read = (page: number) => client.read(`${path}?limit=100&page=${page}`, parse, signal);
  // The second page is always needed as well.
  const started = [read(1), read(2)];
  const items: T[] = [];
  let longest = minPageSize;
  let empty = 0;
  for (let page = 1; page <= maxPages; page += 1) {
    const answer = await (started[page - 1] ?? read(page));
    if (!answer.ok) return { complete: false, items, refusal: answer };
    const found = answer.value;
    items.push(...found);
    longest = Math.max(longest, found.length);
    empty = found.length === 0 ? empty + 1 : 0;
    if (empty > Math.ceil(hidden / longest)) return { complete: true, items };
  }
  return { complete: false, items, refusal: invalidAnswer(`${client.shown}: the history of a pull request is too long.`) };
};
