import { type CommitSha, commitSha } from '@eph/contract';
import type { ActivityShape } from './shapes.ts';

/** Where a branch was at a moment, by what GitHub noted of the pushes to it. */
export interface HeadHistory {
  /** Undefined where that cannot be told. */
  headAt(moment: string): CommitSha | undefined;
  /** Where it is according to the last note; undefined without any. */
  readonly head: CommitSha | undefined;
}

/**
 * The commits of a pull request do not tell when they were pushed: their dates were chosen by whoever made them, and GitHub's timeline
 * shows them by these dates. Only what GitHub noted at each push counts.
 */
export const readHeadHistory = (activities: readonly ActivityShape[], branch: string): HeadHistory => {
  const pushes = activities
    .filter(({ ref }) => ref === `refs/heads/${branch}`)
    .toSorted((a, b) => Date.parse(a.timestamp) - Date.parse(b.timestamp) || a.id - b.id);
  return {
    head: headOf(pushes.at(-1)),
    // Times have seconds: a push within the same one may have come after it.
    headAt: (moment) => headOf(pushes.findLast(({ timestamp }) => Date.parse(timestamp) < Date.parse(moment))),
  };
};

/** A branch that was deleted has a head of zeros. */
const headOf = (push: ActivityShape | undefined): CommitSha | undefined =>
  push === undefined || /^0+$/.test(push.after) ? undefined : commitSha(push.after);
