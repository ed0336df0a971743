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
 * - `followStops` looks once whether people stopped environments where they see them, which is a wish like a label taken away. Each is
 *   handed to `takeDown`; where that says no, it is shown as it is again. What fails is tried the next time. A stop that nobody looked
 *   for before a restart is shown as it is, too: what was not seen standing may have been stopped by ourselves.
 */
export interface Reporter {
  ensure(report: Report, signal: AbortSignal): Promise<void>;
  prefetch?(report: Report, signal: AbortSignal): void;
  handleStops?(requestRemoval: RequestRemoval, signal: AbortSignal): Promise<void>;
}

/** Makes Git say that the environment of a source is not wanted any more; false where only people can. Throws when it is to be tried again. */
export type RequestRemoval = (source: SourceRef) => Promise<boolean>;

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
