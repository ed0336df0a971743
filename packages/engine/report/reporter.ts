import type { CommitSha, EnvironmentId, ProjectId, ReportView, SourceRef } from '@eph/contract';

/**
 * Tells people, where they already look, how an environment is.
 *
 * Contract
 * - `ensure` makes what people see equal this report, editing in place what was written before for the same environment.
 *   Repeating it changes nothing. It may throw `report.failed`; the loop tries again and no environment suffers.
 * - Reports about different environments never disturb each other, even on one commit.
 * - What a person removed stays removed, and what others wrote is never touched, not even when it carries a marker of ours.
 * - `anticipate` says that the first report about an environment follows within seconds: what `ensure` has to look up can be looked up
 *   while the environment starts. It changes nothing and never throws; leaving it out only takes longer.
 */
export interface Reporter {
  ensure(report: Report, signal: AbortSignal): Promise<void>;
  anticipate?(report: Report, signal: AbortSignal): void;
}

export interface Report {
  readonly project: ProjectId;
  readonly environment: EnvironmentId;
  readonly source: SourceRef;
  readonly commit: CommitSha;
  /** Plain text, a few lines, without times that change by themselves. */
  readonly text: string;
  /** The same and more, for forges that can show it. */
  readonly view: ReportView;
  /** The environment is gone and nothing follows: what was only there for its life can go too. */
  readonly last: boolean;
}
