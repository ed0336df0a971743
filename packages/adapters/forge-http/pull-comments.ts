import { type EnvironmentId, isMarkedComment } from '@eph/contract';
import type { Report } from '@eph/engine/report/reporter';
import { type Answer, toError } from './answer.ts';
import { createKeyedQueue } from './keyed-queue.ts';
import { parseNumber } from './numbered-pulls.ts';
import type { ReporterOptions } from './report-queue.ts';

export interface WrittenComment {
  readonly id: number;
  readonly body: string;
}

export interface CommentAccess {
  /** All comments of Eph's account on a pull request. Throws `EphError`. */
  readonly readOwn: (number: number, signal: AbortSignal) => Promise<readonly WrittenComment[]>;
  /** Returns the id. Throws `EphError`. */
  readonly write: (number: number, body: string, signal: AbortSignal) => Promise<number>;
  readonly edit: (number: number, id: number, body: string, signal: AbortSignal) => Promise<Answer<unknown>>;
}

/**
 * Ensures one comment per environment on its pull request, edited in place. Throws `EphError`. One that a person deleted
 * stays deleted until ephd starts again: forges keep no trace of it.
 */
export const createPullComments = (
  { renderComment, comments: isCommenting }: Pick<ReporterOptions<unknown>, 'renderComment' | 'comments'>,
  { readOwn, write, edit }: CommentAccess,
): ((report: Report, signal: AbortSignal) => Promise<void>) => {
  const enqueue = createKeyedQueue();
  const known = new Map<EnvironmentId, WrittenComment | 'deleted'>();

  const find = async (number: number, environment: EnvironmentId, signal: AbortSignal): Promise<WrittenComment | undefined> =>
    (await readOwn(number, signal)).find(({ body }) => isMarkedComment(body, environment));

  const ensure = async (
    number: number,
    { environment }: Report,
    body: string,
    signal: AbortSignal,
  ): Promise<WrittenComment | 'deleted'> => {
    const before = known.get(environment);
    if (before === 'deleted') return before;
    // If writing fails, the comment may be there all the same: the next call searches for it.
    known.delete(environment);
    const found = before ?? (await find(number, environment, signal));
    if (found === undefined) return { id: await write(number, body, signal), body };
    if (found.body === body) return found;
    const answer = await edit(number, found.id, body, signal);
    if (answer.ok) return { ...found, body };
    // In a repository that cannot be seen everything looks deleted; the list of comments shows the difference.
    if (answer.meaning === 'gone' && (await find(number, environment, signal)) === undefined) return 'deleted';
    throw toError(answer);
  };

  return async (report, signal) => {
    const number = parseNumber(report.source);
    if (number === undefined || !isCommenting) return;
    // One after the other: a comment that is written between a list and its count makes the list look incomplete.
    await enqueue(number, async () => known.set(report.environment, await ensure(number, report, renderComment(report), signal)));
    if (report.last) known.delete(report.environment);
  };
};
