import { type CommitSha, commitSha, type EnvironmentId, isMarkedComment } from '@eph/contract';
import { type Answer, toError, unwrap } from '../forge-http/answer.ts';
import { readComments } from './commands.ts';
import type { GiteaClient } from './gitea-client.ts';
import { readTimeline } from './pull-events.ts';
import { computeHeads } from './push-history.ts';
import { readPull } from './repository.ts';
import { type CommentShape, type PullShape, parseAccount, parseCreatedComment, parseNothing } from './shapes.ts';
import { readStatuses } from './statuses.ts';

export interface WantedComment {
  readonly number: number;
  readonly environment: EnvironmentId;
  readonly body: string;
  readonly commit: CommitSha;
  readonly context: string;
}

/** A comment that exists, or that a person deleted. */
export type CommentState = { readonly id: number; readonly body: string } | 'deleted';

export interface PullComments {
  /** Needed for the first report only. A prefetch sends all requests at once. */
  find(target: Omit<WantedComment, 'body'>, signal: AbortSignal, isPrefetch?: boolean): Promise<CommentState | 'unwritten'>;
  ensure(wanted: WantedComment, known: CommentState | 'unwritten', signal: AbortSignal): Promise<CommentState>;
}

type CommentTarget = Parameters<PullComments['find']>[0];

const maxHeads = 30;

export const createPullComments = (client: GiteaClient): PullComments => {
  let login: string | undefined;

  const readLogin = async (signal: AbortSignal): Promise<string> => {
    login ??= unwrap(await client.readAccount(parseAccount, signal)).login;
    return login;
  };

  const findComment = async (
    { number, environment }: CommentTarget,
    signal: AbortSignal,
    readPullRequest = () => readPull(client, number, signal),
  ): Promise<CommentShape | undefined> => {
    const ownLogin = await readLogin(signal);
    const comments = await readComments(client, number, signal, readPullRequest);
    if (!comments.complete) throw toError(comments.refusal);
    return comments.items.find(({ user, body }) => user.login === ownLogin && isMarkedComment(body, environment));
  };

  const write = async ({ number, body }: WantedComment, signal: AbortSignal): Promise<CommentState> => {
    const { id } = unwrap(await client.send('POST', `/issues/${number}/comments`, { body }, parseCreatedComment, signal));
    return { id, body };
  };

  const edit = async (wanted: WantedComment, id: number, signal: AbortSignal): Promise<CommentState> => {
    const { body } = wanted;
    const answer = await client.send('PATCH', `/issues/comments/${id}`, { body }, parseNothing, signal);
    if (answer.ok) return { id, body };
    // In a repository that cannot be seen everything looks deleted; the list of comments shows the difference.
    if (answer.meaning === 'gone' && (await findComment(wanted, signal)) === undefined) return 'deleted';
    throw toError(answer);
  };

  const hasStatus = async (commit: CommitSha, context: string, signal: AbortSignal): Promise<boolean> => {
    const statuses = await readStatuses(client, commit, signal);
    if (!statuses.complete && statuses.refusal.meaning !== 'gone') throw toError(statuses.refusal);
    return statuses.items.some((status) => status.context === context);
  };

  const readHeads = async (pull: Answer<PullShape>, signal: AbortSignal): Promise<readonly string[]> => {
    const timeline = await readTimeline(client, unwrap(pull), signal);
    if (!timeline.complete) throw toError(timeline.refusal);
    return computeHeads(timeline.items);
  };

  const lookupsFor = (target: CommentTarget, signal: AbortSignal) => {
    const { number, commit, context } = target;
    const readPullRequest = once(() => readPull(client, number, signal));
    return {
      comment: once(() => findComment(target, signal, readPullRequest)),
      isShown: once(() => hasStatus(commit, context, signal)),
      heads: once(async () => await readHeads(await readPullRequest(), signal)),
    };
  };

  return {
    /**
     * Gitea keeps no trace of a deleted comment. But every comment is followed by a status, which nobody can delete: a
     * status without a comment means that the comment was deleted.
     */
    async find(target, signal, isPrefetch = false) {
      const { comment, isShown, heads } = lookupsFor(target, signal);
      if (isPrefetch) await Promise.allSettled([comment(), isShown(), heads()]);
      const found = await comment();
      if (found !== undefined) return { id: found.id, body: found.body };
      if (await isShown()) return 'deleted';
      const earlier = (await heads()).filter((head) => head !== target.commit).slice(0, maxHeads);
      for (const head of earlier) if (await hasStatus(commitSha(head), target.context, signal)) return 'deleted';
      return 'unwritten';
    },

    async ensure(wanted, known, signal) {
      if (known === 'deleted') return known;
      if (known === 'unwritten') return await write(wanted, signal);
      return known.body === wanted.body ? known : await edit(wanted, known.id, signal);
    },
  };
};

const once = <T>(ask: () => Promise<T>): (() => Promise<T>) => {
  let asked: Promise<T> | undefined;
  return () => {
    asked ??= ask();
    return asked;
  };
};
