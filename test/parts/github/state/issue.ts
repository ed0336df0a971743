import type { Account } from './account.ts';

export interface Label {
  readonly id: number;
  readonly name: string;
  readonly color: string;
  readonly description: string | null;
}

export const reactionContents = ['+1', '-1', 'laugh', 'confused', 'heart', 'hooray', 'rocket', 'eyes'] as const;
export type ReactionContent = (typeof reactionContents)[number];

export interface Reaction {
  readonly id: number;
  readonly user: Account;
  readonly content: ReactionContent;
  readonly createdAt: number;
}

interface EventBase {
  readonly id: number;
  readonly actor: Account;
  readonly at: number;
}

/** What happened to an issue, in the words of GitHub's timeline. */
export type IssueEvent =
  | (EventBase & { readonly event: 'labeled' | 'unlabeled'; readonly label: Label })
  | (EventBase & { readonly event: 'renamed'; readonly from: string; readonly to: string })
  | (EventBase & { readonly event: 'merged' | 'head_ref_force_pushed'; readonly commit: string })
  | (EventBase & {
      readonly event: 'closed' | 'reopened' | 'convert_to_draft' | 'ready_for_review' | 'base_ref_changed' | 'head_ref_deleted';
    });

export type ReviewState = 'APPROVED' | 'CHANGES_REQUESTED' | 'COMMENTED' | 'DISMISSED';

export interface Review {
  readonly id: number;
  readonly author: Account;
  readonly state: ReviewState;
  readonly body: string;
  readonly commit: string;
  readonly at: number;
}
