import type { Account } from './account.ts';
import type { CheckRun, CommitStatus } from './commit-report.ts';
import type { Hook } from './hook.ts';
import type { Label, Review } from './issue.ts';
import type { Comment, Issue, PullRequest, Repository } from './repository.ts';

export type PullRequestChange =
  | { readonly action: 'opened' | 'closed' | 'reopened' | 'converted_to_draft' | 'ready_for_review' }
  | { readonly action: 'labeled' | 'unlabeled'; readonly label: Label }
  | { readonly action: 'synchronize'; readonly before: string; readonly after: string }
  | { readonly action: 'edited'; readonly changes: Readonly<Record<string, unknown>> };

/** An event that GitHub sends as a webhook, with the state at that moment. */
export type GithubEvent = { readonly repository: Repository; readonly sender: Account } & (
  | { readonly kind: 'pull_request'; readonly pull: PullRequest; readonly change: PullRequestChange }
  | { readonly kind: 'pull_request_review'; readonly pull: PullRequest; readonly review: Review }
  | {
      readonly kind: 'issue_comment';
      readonly action: 'created' | 'edited' | 'deleted';
      readonly issue: Issue;
      readonly comment: Comment;
      readonly previousBody: string;
    }
  | {
      readonly kind: 'push';
      readonly ref: string;
      readonly before: string | undefined;
      readonly after: string | undefined;
      readonly forced: boolean;
    }
  | { readonly kind: 'create' | 'delete'; readonly refType: 'branch' | 'tag'; readonly name: string }
  | { readonly kind: 'status'; readonly status: CommitStatus }
  | { readonly kind: 'check_run'; readonly action: 'created' | 'completed'; readonly run: CheckRun }
  | {
      readonly kind: 'repository';
      readonly action: 'created' | 'deleted' | 'privatized' | 'publicized' | 'renamed' | 'transferred';
      /** Where it was before it moved. */
      readonly before: { readonly owner: Account; readonly name: string } | undefined;
    }
  | { readonly kind: 'ping'; readonly hook: Hook }
);
