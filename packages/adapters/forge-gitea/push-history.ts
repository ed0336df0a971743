import { z } from 'zod';
import type { TimelineShape } from './shapes.ts';

/** The body of a push: its commits, oldest first; or the heads before and after, if it was forced. */
const pushBody = z.object({ is_force_push: z.boolean(), commit_ids: z.array(z.string()) });
type Push = z.output<typeof pushBody>;

/** By the id of each comment, the head of the pull request when it was written, where that can be told. */
export const computeHeadsAtComments = (events: readonly TimelineShape[]): ReadonlyMap<number, string> => {
  const heads = new Map<number, string>();
  let head: string | undefined;
  for (const event of events) {
    if (event.type === 'comment' && head !== undefined) heads.set(event.id, head);
    if (event.type !== 'pull_push') continue;
    const push = parsePush(event);
    // Gitea deletes and changes what it noted of earlier pushes when one is forced: of the time before, nothing is certain any more.
    if (push?.is_force_push ?? true) heads.clear();
    head = push?.commit_ids.at(-1);
  }
  return heads;
};

/** The commits that a pull request was at, newest first, as far as they were noted. */
export const computeHeads = (events: readonly TimelineShape[]): readonly string[] => {
  const pushes = events.filter(({ type }) => type === 'pull_push').map(parsePush);
  return [...new Set(pushes.flatMap(headsOf).toReversed())];
};

const headsOf = (push: Push | undefined): readonly string[] =>
  push === undefined || push.is_force_push ? (push?.commit_ids ?? []) : push.commit_ids.slice(-1);

/** A push that cannot be understood may have been anything. */
const parsePush = ({ body }: TimelineShape): Push | undefined => {
  try {
    return pushBody.parse(JSON.parse(body));
  } catch {
    return undefined; // Taken for a forced one to an unknown commit.
  }
};
