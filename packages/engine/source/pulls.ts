import type { Approval, Check, Command, CommitSha, Reading, Source, SourceRef } from '@eph/contract';

export type { Approval, Check, Command } from '@eph/contract';

/**
 * Facts about pull requests, and the changes Eph makes to them. Plain Git has no pull requests.
 *
 * Contract
 * - Every method may be called at any time, concurrently, and again after any failure. Readings never throw: what could
 *   not be read makes them incomplete, and nothing missing from an incomplete reading is taken as absent.
 * - Writing is idempotent: adding a label that is there and removing one that is not do nothing. Both throw `EphError`.
 * - Names of people, labels and branches are untrusted; they are never run or used as a path or host.
 * - `mayWrite` is the forge's own answer about the person and this repository at this moment, never an attribute of the
 *   pull request.
 */
export interface Pulls {
  /** Checks and statuses of a commit, newest of each name. */
  checks(commit: CommitSha, signal: AbortSignal): Promise<Reading<Check>>;

  /** Comments whose first line begins with `/`, oldest first, each with the commit that was the head at that time. */
  commands(ref: SourceRef, signal: AbortSignal): Promise<Reading<Command>>;

  /** Shows the author of a command that it was seen, by one reaction. */
  acknowledge(ref: SourceRef, command: Command, signal: AbortSignal): Promise<void>;

  /**
   * The people with write access who approved exactly this commit of a pull request. Absent where an approval has a time
   * but no commit: somebody may have pushed between the review and the approval.
   */
  readonly approvals?: (ref: SourceRef, commit: CommitSha, signal: AbortSignal) => Promise<Reading<Approval>>;

  /** The default branch of the repository. Throws if the forge does not answer. */
  defaultBranch(signal: AbortSignal): Promise<string>;

  /** Paths that a pull request changes, at its commit. */
  changedPaths(source: Source, signal: AbortSignal): Promise<Reading<string>>;

  /**
   * When a label that is on a pull request was last added; undefined if it is not on it. Throws if the forge does not
   * answer, because an unknown time must not change an expiry.
   */
  labelledAt(ref: SourceRef, label: string, signal: AbortSignal): Promise<string | undefined>;

  addLabel(ref: SourceRef, label: string, signal: AbortSignal): Promise<void>;
  removeLabel(ref: SourceRef, label: string, signal: AbortSignal): Promise<void>;
}
