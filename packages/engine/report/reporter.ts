import type { Command, CommitSha, EnvironmentId, ProjectId, ReportView, SourceRef } from '@eph/contract';

/**
 * Shows the state of an environment on the forge.
 *
 * Contract
 * - `ensure` makes the forge show this report and edits in place what was written before for the same environment.
 *   Repeating it changes nothing. It may throw `report.failed`; the loop tries again and the environment is not
 *   affected.
 * - Reports about different environments are independent, even on one commit.
 * - What a person removed stays removed until ephd starts again. What others wrote is never changed, even if it carries one of our markers.
 * - `answer` writes one comment per command. Repeating it, also after a restart, writes no second one.
 * - `handleStops` checks once whether people stopped environments on the forge and passes each to `requestRemoval`. If
 *   that returns false, the environment is shown as running again. Failures are retried on the next call. An environment
 *   that this process never observed running is also shown as running again: Eph itself may have stopped it.
 */
export interface Reporter {
  ensure(report: Report, signal: AbortSignal): Promise<void>;
  /** Only for forges with pull requests. */
  answer?(answer: CommandAnswer, signal: AbortSignal): Promise<void>;
  handleStops?(requestRemoval: RequestRemoval, signal: AbortSignal): Promise<void>;
}

/** Asks through Git to remove the environment of a source. False if only a person can. Throws if it should be retried. */
export type RequestRemoval = (source: SourceRef) => Promise<boolean>;

/** An answer to a command, for its author. */
export interface CommandAnswer {
  readonly project: ProjectId;
  readonly source: SourceRef;
  readonly command: Command;
  /** Markdown; what is untrusted in it is escaped. */
  readonly text: string;
}

export interface Report {
  readonly project: ProjectId;
  readonly environment: EnvironmentId;
  readonly source: SourceRef;
  readonly commit: CommitSha;
  /** Plain text of a few lines, without times that change by themselves. */
  readonly text: string;
  /** The full data, for forges that can show it. */
  readonly view: ReportView;
  /** The environment is gone and no report follows: what exists only for its lifetime can be deleted. */
  readonly last: boolean;
}
