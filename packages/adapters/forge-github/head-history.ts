import { type CommitSha, commitSha } from '@eph/contract';
import type { ActivityShape } from './shapes.ts';

/** The head of a branch over time, from GitHub's records of pushes. */
export interface HeadHistory {
  headAt(moment: string): CommitSha | undefined;
  /** The head after the last recorded push. */
  readonly head: CommitSha | undefined;
}

/**
 * Commit dates are chosen by their authors, and GitHub's timeline is sorted by them. Only GitHub's records of pushes are
 * reliable.
 */
export const readHeadHistory = (activities: readonly ActivityShape[], branch: string): HeadHistory => {
  const pushes = activities
    .filter(({ ref }) => ref === `refs/heads/${branch}`)
    .toSorted((a, b) => Date.parse(a.timestamp) - Date.parse(b.timestamp) || a.id - b.id);
  return {
    head: headOf(pushes.at(-1)),
    // Times have whole seconds: a push in the same second may have come after.
    headAt: (moment) => headOf(pushes.findLast(({ timestamp }) => Date.parse(timestamp) < Date.parse(moment))),
  };
};

/** A deleted branch has a head of zeros. */
const headOf = (push: ActivityShape | undefined): CommitSha | undefined =>
  push === undefined || /^0+$/.test(push.after) ? undefined : commitSha(push.after);
