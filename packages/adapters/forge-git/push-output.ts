import type { GitOutput } from './git-command.ts';

export const isPushConflict = ({ stdout }: GitOutput): boolean =>
  /\[rejected\]|\[remote rejected\] \((?:failed to update ref|cannot lock ref|incorrect old value|reference already exists|fetch first)/.test(
    stdout.toString('utf8'),
  );

/** Why the remote rejected the push; undefined if it did not. */
export const rejectionReason = ({ stdout }: GitOutput): string | undefined =>
  /\[remote rejected\] \((.*)\)/.exec(stdout.toString('utf8'))?.[1];
