import { z } from 'zod';
import type { TimelineShape } from './shapes.ts';

/** The commits of a push, oldest first; or the heads before and after a forced push. */
const pushBody = z.object({ is_force_push: z.boolean(), commit_ids: z.array(z.string()) });
type Push = z.output<typeof pushBody>;

/** The head of the pull request when each comment was written, by comment id, if known. */
export const computeHeadsAtComments = (events: readonly TimelineShape[]): ReadonlyMap<number, string> => {
  const heads = new Map<number, string>();
  let head: string | undefined;
  for (const event of events) {
    if (event.type === 'comment' && head !== undefined) heads.set(event.id, head);
    if (event.type !== 'pull_push') continue;
    const push = parsePush(event);
    // After a forced push Gitea changes its records of earlier pushes, so they are not reliable any more.
    if (push?.is_force_push ?? true) heads.clear();
    head = push?.commit_ids.at(-1);
  }
  return heads;
};

export const computeHeads = (events: readonly TimelineShape[]): readonly string[] => {
  const pushes = events.filter(({ type }) => type === 'pull_push').map(parsePush);
  return [...new Set(pushes.flatMap(headsOf).toReversed())];
};

const headsOf = (push: Push | undefined): readonly string[] =>
  push === undefined || push.is_force_push ? (push?.commit_ids ?? []) : push.commit_ids.slice(-1);

const parsePush = ({ body }: TimelineShape): Push | undefined => {
  try {
    return pushBody.parse(JSON.parse(body));
  } catch {
    return undefined; // Handled as a forced push to an unknown commit.
  }
};
