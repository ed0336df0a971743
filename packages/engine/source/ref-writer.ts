import type { CommitSha } from '@eph/contract';

/**
 * Creates and deletes branches, for projects where a branch requests an environment. One object serves one project.
 *
 * Contract
 * - Every branch it touches begins with `prefix`. Any other name, and any name that Git does not allow, is refused with
 *   `api.bad_request` before a request is sent. No other ref is ever created, moved or deleted.
 * - A branch is never moved: it is created if there is none, and deleted only while it is at the commit that the caller
 *   saw. If somebody pushes in between, the caller gets `api.conflict`.
 * - Both methods are idempotent and may be called at any time, concurrently, and again after any failure.
 * - They throw `EphError`: `forge.refused` if the repository does not accept the write, `forge.unreachable` if it does
 *   not answer, `source.commit_missing` if it has no such commit.
 * - Nothing from the repository is ever executed: no hooks, no configuration.
 */
export interface RefWriter {
  readonly prefix: string;

  /** Returns true if the branch had to be created. */
  ensureBranch(name: string, commit: CommitSha, signal: AbortSignal): Promise<boolean>;

  /** Returns true if the branch had to be deleted. */
  removeBranch(name: string, commit: CommitSha, signal: AbortSignal): Promise<boolean>;
}
