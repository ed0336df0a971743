import { z } from 'zod';
import type { TimelineShape } from './shapes.ts';

/** The commits of a push, oldest first; or the heads before and after a forced push. */
const pushBody = z.object({ is_force_push: z.boolean(), commit_ids: z.array(z.string()) });

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

const parsePush = ({ body }: TimelineShape): z.output<typeof pushBody> | undefined => {
  try {
    return pushBody.parse(JSON.parse(body));
  } catch {
    return undefined; // Handled as a forced push to an unknown commit.
  }
};
