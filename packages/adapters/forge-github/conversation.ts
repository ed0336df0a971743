import { z } from 'zod';
import { senseless } from '../forge-http/answer.ts';
import type { Listing } from '../forge-http/read-pages.ts';
import type { GithubClient, ListQuestion, ReadOptions } from './github-client.ts';
import { type CommentShape, commentShape, conversationShape, type ReactionShape, reactionShape } from './shapes.ts';

type Counts = z.output<typeof conversationShape>;

const parseComments = (body: unknown): readonly CommentShape[] => z.array(commentShape).parse(body);
const parseReactions = (body: unknown): readonly ReactionShape[] => z.array(reactionShape).parse(body);
const parseCounts = (body: unknown): Counts => conversationShape.parse(body);

const commentsOf = (number: number): ListQuestion<CommentShape> => ({
  route: 'GET /repos/{owner}/{repo}/issues/{issue_number}/comments',
  parameters: { issue_number: number },
  parse: parseComments,
  keyOf: ({ id }) => id,
  what: 'comments',
});

const reactionsTo = (number: number): ListQuestion<ReactionShape> => ({
  route: 'GET /repos/{owner}/{repo}/issues/{issue_number}/reactions',
  parameters: { issue_number: number },
  parse: parseReactions,
  keyOf: ({ id }) => id,
  what: 'reactions',
});

/** All comments on a pull request, oldest first. */
export const readComments = (client: GithubClient, number: number, options: ReadOptions): Promise<Listing<CommentShape>> =>
  readCounted(client, number, commentsOf(number), ({ comments }) => comments, options);

/** All reactions to a pull request itself. */
export const readReactions = (client: GithubClient, number: number, options: ReadOptions): Promise<Listing<ReactionShape>> =>
  readCounted(client, number, reactionsTo(number), ({ reactions }) => reactions.total_count, options);

/** An empty list may be all that arrived: the pull request itself says how many there are. */
const readCounted = async <T>(
  client: GithubClient,
  number: number,
  question: ListQuestion<T>,
  countOf: (counts: Counts) => number,
  options: ReadOptions,
): Promise<Listing<T>> => {
  const listing = await client.list(question, options);
  if (!listing.complete || listing.items.length > 0) return listing;
  const route = 'GET /repos/{owner}/{repo}/issues/{issue_number}';
  const counted = { route, parameters: { issue_number: number }, parse: parseCounts };
  const answer = await client.read(counted, { signal: options.signal, fresh: true });
  if (!answer.ok) return { complete: false, items: [], refusal: answer };
  if (countOf(answer.value) === 0) return listing;
  const refusal = senseless(`${client.shown} shows none of the ${question.what} on pull request ${number}.`);
  return { complete: false, items: [], refusal };
};
