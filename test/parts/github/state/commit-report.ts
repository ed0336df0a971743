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

export type CheckConclusion = 'success' | 'failure' | 'neutral' | 'cancelled' | 'skipped' | 'timed_out' | 'action_required';

export interface CheckOutput {
  readonly summary: string | null;
  readonly text: string | null;
}

export interface CheckRun {
  readonly id: number;
  readonly sha: string;
  readonly app: App;
  readonly name: string;
  /** Null while it runs. */
  readonly conclusion: CheckConclusion | null;
  readonly output: CheckOutput;
  readonly at: number;
}

export const checkStatus = ({ conclusion }: CheckRun) => (conclusion === null ? 'in_progress' : 'completed');

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
