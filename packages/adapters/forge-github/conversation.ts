import { z } from 'zod';
import { confirmEmpty } from '../forge-http/empty-list.ts';
import type { Listing } from '../forge-http/read-pages.ts';
import type { GithubClient, ListQuery, ReadOptions } from './github-client.ts';
import { type CommentShape, commentShape, conversationShape } from './shapes.ts';

const parseComments = (body: unknown): readonly CommentShape[] => z.array(commentShape).parse(body);
const parseCount = (body: unknown): number => conversationShape.parse(body).comments;

const commentsOf = (number: number): ListQuery<CommentShape> => ({
  route: 'GET /repos/{owner}/{repo}/issues/{issue_number}/comments',
  parameters: { issue_number: number },
  parse: parseComments,
  keyOf: ({ id }) => id,
  what: 'comments',
});

export const readComments = async (
  client: GithubClient,
  number: number,
  options: ReadOptions,
): Promise<Listing<CommentShape>> => {
  const route = 'GET /repos/{owner}/{repo}/issues/{issue_number}';
  const query = { route, parameters: { issue_number: number }, parse: parseCount };
  const count = () => client.read(query, { signal: options.signal, fresh: true });
  const doubt = `${client.shown} does not list the comments on pull request ${number}.`;
  return await confirmEmpty(await client.list(commentsOf(number), options), count, doubt);
};
