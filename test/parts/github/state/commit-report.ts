import type { Account } from './account.ts';
import type { App } from './app.ts';

export type StatusState = 'error' | 'failure' | 'pending' | 'success';

export interface CommitStatus {
  readonly id: number;
  readonly sha: string;
  readonly state: StatusState;
  readonly context: string;
  readonly description: string | null;
  readonly targetUrl: string | null;
  readonly creator: Account;
  readonly at: number;
}

export type CheckStatus = 'queued' | 'in_progress' | 'completed';
export type CheckConclusion = 'success' | 'failure' | 'neutral' | 'cancelled' | 'skipped' | 'timed_out' | 'action_required';

export interface CheckRun {
  readonly id: number;
  readonly sha: string;
  readonly app: App;
  name: string;
  externalId: string | null;
  /** The page of the App where nothing else was given. */
  detailsUrl: string;
  status: CheckStatus;
  conclusion: CheckConclusion | null;
  readonly startedAt: number;
  completedAt: number | undefined;
  output: { readonly title: string | null; readonly summary: string | null; readonly text: string | null };
}

export type DeploymentState = 'error' | 'failure' | 'inactive' | 'in_progress' | 'queued' | 'pending' | 'success';

export interface DeploymentStatus {
  readonly id: number;
  readonly state: DeploymentState;
  readonly description: string;
  readonly targetUrl: string;
  readonly environmentUrl: string;
  readonly creator: Account;
  readonly at: number;
}

export interface Deployment {
  readonly id: number;
  readonly sha: string;
  readonly ref: string;
  readonly task: string;
  readonly payload: Readonly<Record<string, unknown>> | string;
  readonly environment: string;
  readonly description: string | null;
  readonly transient: boolean;
  readonly production: boolean;
  readonly creator: Account;
  readonly createdAt: number;
  updatedAt: number;
  /** Oldest first. */
  readonly statuses: DeploymentStatus[];
}

export interface DeploymentEnvironment {
  readonly id: number;
  readonly name: string;
  readonly createdAt: number;
}
