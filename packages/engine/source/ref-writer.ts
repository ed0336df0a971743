import type { CommitSha } from '@eph/contract';

/**
 * Makes and deletes branches of a project where that is how people wish for an environment. One object serves one project.
 *
 * Contract
 * - Every branch it touches begins with `prefix`; a name that does not, or that Git would not take, is refused with
 *   `api.bad_request` before anybody is asked. No other ref is ever made, moved or deleted.
 * - A branch is never moved: it is made where there is none, and deleted only while it is at the commit that the caller saw. Whoever
 *   pushes in between wins, and the caller gets `api.conflict`.
 * - Both methods are idempotent and may be called at any time, concurrently, and again after any failure.
 * - They throw `EphError`: `forge.refused` if the repository does not let us write, `forge.unreachable` if it does not answer,
 *   `source.commit_missing` if it has no such commit.
 * - Nothing from the repository is ever executed: no hooks, no configuration.
 */
export interface RefWriter {
  readonly prefix: string;

  /** Afterwards the branch is at the commit. True if it had to be made. */
  ensureBranch(name: string, commit: CommitSha, signal: AbortSignal): Promise<boolean>;

  /** Afterwards the branch is gone. True if it had to be deleted. */
  removeBranch(name: string, commit: CommitSha, signal: AbortSignal): Promise<boolean>;
}
