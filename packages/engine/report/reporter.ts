import type { CommitSha, EnvironmentId, ProjectId, SourceRef } from '@eph/contract';

/**
 * Tells people, where they already look, how an environment is.
 *
 * Contract
 * - `ensure` makes what people see equal this report, editing in place what was written before for the same environment.
 *   Repeating it changes nothing. It may throw `report.failed`; the loop tries again and no environment suffers.
 * - Reports about different environments never disturb each other, even on one commit.
 */
export interface Reporter {
  ensure(report: Report, signal: AbortSignal): Promise<void>;
}

export interface Report {
  readonly project: ProjectId;
  readonly environment: EnvironmentId;
  readonly source: SourceRef;
  readonly commit: CommitSha;
  /** Plain text, a few lines, without times that change by themselves. */
  readonly text: string;
}
