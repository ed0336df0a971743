import type { Account } from './account.ts';

/** In GitHub's words, without what only a merge queue does. */
export type ActivityType = 'push' | 'force_push' | 'branch_creation' | 'branch_deletion' | 'pr_merge';

/** What happened to a branch, as GitHub notes it. */
export interface Activity {
  readonly id: number;
  readonly type: ActivityType;
  readonly ref: string;
  readonly before: string | undefined;
  readonly after: string | undefined;
  readonly actor: Account;
  readonly at: number;
  /** GitHub is not always quick to list what it noted. */
  readonly listedAt: number;
}
