import { z } from 'zod';
import { confirmEmpty } from '../forge-http/empty-list.ts';
import type { Listing } from '../forge-http/read-pages.ts';
import type { GithubClient, ListQuery, ReadOptions } from './github-client.ts';
import { type CommentShape, commentShape, conversationShape, type ReactionShape, reactionShape } from './shapes.ts';

type Counts = z.output<typeof conversationShape>;

const parseComments = (body: unknown): readonly CommentShape[] => z.array(commentShape).parse(body);
const parseReactions = (body: unknown): readonly ReactionShape[] => z.array(reactionShape).parse(body);

const commentsOf = (number: number): ListQuery<CommentShape> => ({
  route: 'GET /repos/{owner}/{repo}/issues/{issue_number}/comments',
  parameters: { issue_number: number },
  parse: parseComments,
  keyOf: ({ id }) => id,
  what: 'comments',
});

const reactionsTo = (number: number): ListQuery<ReactionShape> => ({
  route: 'GET /repos/{owner}/{repo}/issues/{issue_number}/reactions',
  parameters: { issue_number: number },
  parse: parseReactions,
  keyOf: ({ id }) => id,
  what: 'reactions',
});

export const readComments = (client: GithubClient, number: number, options: ReadOptions): Promise<Listing<CommentShape>> =>
  readCounted(client, number, commentsOf(number), ({ comments }) => comments, options);

export const readReactions = (client: GithubClient, number: number, options: ReadOptions): Promise<Listing<ReactionShape>> =>
  readCounted(client, number, reactionsTo(number), ({ reactions }) => reactions.total_count, options);

const readCounted = async <T>(
  client: GithubClient,
  number: number,
  query: ListQuery<T>,
  countOf: (counts: Counts) => number,
  options: ReadOptions,
): Promise<Listing<T>> => {
  const route = 'GET /repos/{owner}/{repo}/issues/{issue_number}';
  const parse = (body: unknown): number => countOf(conversationShape.parse(body));
  const count = () =>
    client.read({ route, parameters: { issue_number: number }, parse }, { signal: options.signal, fresh: true });
  const doubt = `${client.shown} does not list the ${query.what} on pull request ${number}.`;
  return await confirmEmpty(await client.list(query, options), count, doubt);
};
