import { answerMarker, type EnvironmentId, isMarkedComment } from '@eph/contract';
import type { CommandAnswer, Report } from '@eph/engine/report/reporter';
import { type Answer, toError } from './answer.ts';
import { createKeyedQueue } from './keyed-queue.ts';
import { parseNumber } from './numbered-pulls.ts';
import type { ReporterOptions } from './report-queue.ts';

export interface WrittenComment {
  readonly id: number;
  readonly body: string;
}

/** `body` is unknown after an edit that failed. */
type KnownComment = Pick<WrittenComment, 'id'> & { readonly body: string | undefined };

export interface CommentAccess {
  /** All comments of Eph's account on a pull request. Throws `EphError`. */
  readonly readOwn: (number: number, signal: AbortSignal) => Promise<readonly WrittenComment[]>;
  /** Returns the id. Throws `EphError`. */
  readonly create: (number: number, body: string, signal: AbortSignal) => Promise<number>;
  readonly edit: (number: number, id: number, body: string, signal: AbortSignal) => Promise<Answer<unknown>>;
}

/** One comment per environment on its pull request, edited in place. */
export interface PullComments {
  /** Throws `EphError`. A comment that a person deleted stays deleted until ephd starts again: forges keep no trace of it. */
  readonly ensure: (report: Report, signal: AbortSignal) => Promise<void>;
  /** As `Reporter.answer`. */
  readonly answer: (answer: CommandAnswer, signal: AbortSignal) => Promise<void>;
  /** The last report is written as a whole. Before that it may be repeated, and must not bring a deleted comment back. */
  readonly forget: (environment: EnvironmentId) => void;
}

export const createPullComments = (
  { renderComment, comments: isCommenting }: Pick<ReporterOptions<unknown>, 'renderComment' | 'comments'>,
  { readOwn, create, edit }: CommentAccess,
): PullComments => {
  const enqueue = createKeyedQueue();
  const known = new Map<EnvironmentId, KnownComment | 'deleted'>();
  const answered = new Set<string>();

  const find = async (number: number, environment: EnvironmentId, signal: AbortSignal): Promise<WrittenComment | undefined> =>
    (await readOwn(number, signal)).find(({ body }) => isMarkedComment(body, environment));

  const write = async (
    number: number,
    { environment }: Report,
    body: string,
    signal: AbortSignal,
  ): Promise<KnownComment | 'deleted'> => {
    const before = known.get(environment);
    if (before === 'deleted') return before;
    const found = before ?? (await find(number, environment, signal));
    if (found === undefined) return { id: await create(number, body, signal), body };
    if (found.body === body) return found;
    // If editing fails, it may say this all the same. It is not searched for again: a person may delete it before that.
    known.set(environment, { ...found, body: undefined });
    const answer = await edit(number, found.id, body, signal);
    if (answer.ok) return { ...found, body };
    // In a repository that cannot be seen everything looks deleted; the list of comments shows the difference.
    if (answer.meaning === 'gone' && (await find(number, environment, signal)) === undefined) return 'deleted';
    throw toError(answer);
  };

  return {
    async ensure(report, signal) {
      const { source, environment } = report;
      const number = parseNumber(source);
      if (number === undefined || !isCommenting) return;
      // One after the other: a comment that is written between a list and its count makes the list look incomplete.
      await enqueue(number, async () => known.set(environment, await write(number, report, renderComment(report), signal)));
    },
    async answer({ source, command, text }, signal) {
      const number = parseNumber(source);
      const marker = answerMarker(command);
      if (number === undefined || !isCommenting || answered.has(marker)) return;
      await enqueue(number, async () => {
        const own = await readOwn(number, signal);
        if (!own.some(({ body }) => body.trimStart().startsWith(marker))) await create(number, `${marker}\n${text}`, signal);
        answered.add(marker);
      });
    },
    forget: (environment) => void known.delete(environment),
  };
};
