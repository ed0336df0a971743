import type { Approval, Check, Command, CommitSha, Reading, Source, SourceRef } from '@eph/contract';

export type { Approval, Check, Command } from '@eph/contract';

/**
 * What a forge with pull requests knows beyond refs and files, and what it can be asked to change. Plain Git has none of it.
 *
 * Contract
 * - Every method may be called at any time, concurrently, and again after any failure. Readings never throw: what could not be read
 *   makes them incomplete, and nothing that is missing from an incomplete reading is taken as absent.
 * - Writing is idempotent: a label that is there is not added again, one that is not there is not missed. They throw `EphError`.
 * - Names of people, labels and branches are what strangers chose; nothing of it is ever run or trusted as a path or host.
 * - `mayWrite` is the forge's own answer about the person and this repository at this moment, never an attribute that the pull
 *   request carries about its author.
 */
export interface Pulls {
  /** Checks and statuses of a commit, newest of each name. */
  checks(commit: CommitSha, signal: AbortSignal): Promise<Reading<Check>>;

  /** Comments on a pull request whose first line begins with `/`, oldest first, each with the commit that was its head then. */
  commands(ref: SourceRef, signal: AbortSignal): Promise<Reading<Command>>;

  /** Shows the writer of a command that it was seen: a reaction, put there once. */
  acknowledge(ref: SourceRef, command: Command, signal: AbortSignal): Promise<void>;

  /** Who with write access approved exactly this commit of a pull request. */
  approvals(ref: SourceRef, commit: CommitSha, signal: AbortSignal): Promise<Reading<Approval>>;

  /** Paths that a pull request changes, at its commit. */
  changedPaths(source: Source, signal: AbortSignal): Promise<Reading<string>>;

  /**
   * When a label that is on a pull request now was put there last; undefined when it is not there. Throws when the forge does not answer:
   * what is not known must not move a time.
   */
  labelledAt(ref: SourceRef, label: string, signal: AbortSignal): Promise<string | undefined>;

  addLabel(ref: SourceRef, label: string, signal: AbortSignal): Promise<void>;
  removeLabel(ref: SourceRef, label: string, signal: AbortSignal): Promise<void>;
}
