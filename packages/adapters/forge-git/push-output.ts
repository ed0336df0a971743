import type { GitOutput } from './git-command.ts';

/** What `git push --porcelain` says when somebody pushed between our reading and our push, or is just doing so. */
export const isPushConflict = ({ stdout }: GitOutput): boolean =>
  /\[rejected\]|\[remote rejected\] \((?:failed to update ref|cannot lock ref|incorrect old value|reference already exists|fetch first)/.test(
    stdout.toString('utf8'),
  );

/** Why the remote did not take the push; undefined when it was not the remote that stopped it. */
export const rejectionReason = ({ stdout }: GitOutput): string | undefined =>
  /\[remote rejected\] \((.*)\)/.exec(stdout.toString('utf8'))?.[1];
