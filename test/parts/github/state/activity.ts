import type { Account } from './account.ts';

/** GitHub's activity types, without those of merge queues. */
export type ActivityType = 'push' | 'force_push' | 'branch_creation' | 'branch_deletion' | 'pr_merge';

/** An activity of a branch, as GitHub records it. */
export interface Activity {
  readonly id: number;
  readonly type: ActivityType;
  readonly ref: string;
  readonly before: string | undefined;
  readonly after: string | undefined;
  readonly actor: Account;
  readonly at: number;
  /** GitHub may list an activity with a delay. */
  readonly listedAt: number;
}
