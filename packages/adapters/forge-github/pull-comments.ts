import { type EnvironmentId, isMarkedComment } from '@eph/contract';
import { toError, unwrap } from '../forge-http/answer.ts';
import { createKeyedQueue } from '../forge-http/keyed-queue.ts';
import { readComments, readReactions } from './conversation.ts';
import type { GithubClient } from './github-client.ts';
import { type CommentShape, commentShape, loginOf } from './shapes.ts';

export interface WantedComment {
  readonly number: number;
  readonly environment: EnvironmentId;
  readonly body: string;
}

/** A comment that exists, or that a person deleted. */
export type CommentState = { readonly id: number; readonly body: string } | 'deleted';

export interface PullComments {
  /** Takes and returns the known state, so that only the first report searches for the comment. Throws `EphError`. */
  ensure(wanted: WantedComment, known: CommentState | undefined, signal: AbortSignal): Promise<CommentState>;
}

const reactionContents = ['rocket', 'eyes', 'hooray', 'heart', '+1', 'laugh', 'confused', '-1'];

const parseComment = (body: unknown): CommentShape => commentShape.parse(body);

/**
 * GitHub keeps no trace of a deleted comment. So our account adds a reaction to the pull request for every environment
 * it has commented on: more reactions than comments mean that somebody deleted a comment and wants no other.
 */
export const createPullComments = (client: GithubClient): PullComments => {
  const enqueue = createKeyedQueue();

  const readOurs = async (number: number, signal: AbortSignal): Promise<readonly CommentShape[]> => {
    const login = unwrap(await client.login(signal));
    const comments = await readComments(client, number, { signal, fresh: true });
    if (!comments.complete) throw toError(comments.refusal);
    return comments.items.filter(({ user, body }) => loginOf(user) === login && environmentOf(body) !== undefined);
  };

  const readOurReactions = async (number: number, signal: AbortSignal): Promise<readonly string[]> => {
    const login = unwrap(await client.login(signal));
    const reactions = await readReactions(client, number, { signal, fresh: true });
    if (!reactions.complete) throw toError(reactions.refusal);
    return reactions.items.filter(({ user }) => loginOf(user) === login).map(({ content }) => content);
  };

  /** One reaction per environment with a comment; one may be missing after a crash. */
  const ensureReactions = async (number: number, count: number, present: readonly string[], signal: AbortSignal) => {
    const missing = reactionContents
      .filter((content) => !present.includes(content))
      .slice(0, Math.max(count - present.length, 0));
    const route = 'POST /repos/{owner}/{repo}/issues/{issue_number}/reactions';
    for (const content of missing) {
      const answer = await client.send(route, { issue_number: number, content }, signal);
      // Refused on a locked pull request, for instance; the comment matters more.
      if (!answer.ok && answer.meaning !== 'refused') throw toError(answer);
    }
  };

  const write = async ({ number, body }: WantedComment, signal: AbortSignal): Promise<CommentState> => {
    const route = 'POST /repos/{owner}/{repo}/issues/{issue_number}/comments';
    const { id } = unwrap(await client.send(route, { issue_number: number, body }, signal, parseComment));
    return { id, body };
  };

  const edit = async (wanted: WantedComment, id: number, signal: AbortSignal): Promise<CommentState> => {
    const { number, environment, body } = wanted;
    const route = 'PATCH /repos/{owner}/{repo}/issues/comments/{comment_id}';
    const answer = await client.send(route, { comment_id: id, body }, signal);
    if (answer.ok) return { id, body };
    // In a repository that cannot be seen everything looks deleted; the list of comments shows the difference.
    const isDeleted =
      answer.meaning === 'gone' &&
      !(await readOurs(number, signal)).some((comment) => isMarkedComment(comment.body, environment));
    if (isDeleted) return 'deleted';
    throw toError(answer);
  };

  const editIfOther = async (
    wanted: WantedComment,
    { id, body }: { readonly id: number; readonly body: string },
    signal: AbortSignal,
  ): Promise<CommentState> => (body === wanted.body ? { id, body } : await edit(wanted, id, signal));

  const findOrWrite = async (wanted: WantedComment, signal: AbortSignal): Promise<CommentState> => {
    const { number, environment } = wanted;
    const [ours, reactions] = [await readOurs(number, signal), await readOurReactions(number, signal)];
    const environments = new Set(ours.map((comment) => environmentOf(comment.body)));
    const present = ours.find((comment) => isMarkedComment(comment.body, environment));
    if (present === undefined && reactions.length > environments.size) return 'deleted';
    const state = present === undefined ? await write(wanted, signal) : await editIfOther(wanted, present, signal);
    await ensureReactions(number, environments.add(environment).size, reactions, signal);
    return state;
  };

  return {
    async ensure(wanted, known, signal) {
      if (known === 'deleted') return known;
      if (known !== undefined) return await editIfOther(wanted, known, signal);
      // Environments of one pull request share its reactions.
      return await enqueue(wanted.number, () => findOrWrite(wanted, signal));
    },
  };
};

const environmentOf = (body: string): string | undefined => /^\s*<!-- eph:environment=([0-9a-f]{16}) -->/.exec(body)?.[1];
