import type { CommitSha, Failure, ProjectId, Reading, Source, SourceRef } from '@eph/contract';
import type { Pulls } from './pulls.ts';

/**
 * Where a repository lives. One forge object serves one project.
 *
 * Contract
 * - Every method may be called at any time, concurrently, and again after any failure.
 * - `sources` never throws: what could not be read makes the reading incomplete. A reading is complete only if the forge
 *   said so; an empty list from a repository that could not be opened is incomplete, never empty.
 * - `source` reads the one source afresh, past every cache. `gone` is a positive answer of the forge ("there is no such ref");
 *   silence, refusal and doubt are `unknown`.
 * - `readFile` and `exportTree` answer for a commit, which never changes, so callers may cache. They throw `EphError`:
 *   `source.commit_missing` if the commit is not there (yet), `forge.unreachable` if the forge does not answer.
 * - Nothing from the repository is ever executed: no hooks, no filters, no configuration.
 */
export interface Forge {
  readonly project: ProjectId;

  /** Where there are pull requests: what else is known of them, and what can be changed. */
  readonly pulls?: Pulls;

  /**
   * All branches, tags and open pull requests now. With `asOf`, a time of the clock, what was so at that time or later is enough: a
   * forge that learns for many repositories at once which of them changed may hand out its last reading of those that did not.
   */
  sources(signal: AbortSignal, asOf?: number): Promise<Reading<Source>>;

  /** One source now; read before anything is destroyed. */
  source(ref: SourceRef, signal: AbortSignal): Promise<SourceAnswer>;

  /**
   * The bytes of one file at a commit; `undefined` when the commit has no such file. Throws `spec.invalid` when the file
   * is larger than `limitBytes` or is not a regular file.
   */
  readFile(commit: CommitSha, path: string, limitBytes: number, signal: AbortSignal): Promise<Uint8Array | undefined>;

  /**
   * Writes the tree of a commit to `folder`, which must not exist yet; it exists afterwards only if the tree is whole.
   * Symbolic links that leave the tree are refused with `checkout.refused`.
   */
  exportTree(commit: CommitSha, folder: string, signal: AbortSignal): Promise<void>;

  /**
   * Calls `wake` soon after something may have changed, until the signal aborts. A hint: it may be late, early, repeated or
   * missing, and correctness never depends on it.
   */
  watch(wake: () => void, signal: AbortSignal): void;
}

export type SourceAnswer =
  | { readonly state: 'present'; readonly source: Source }
  | { readonly state: 'gone' }
  | { readonly state: 'unknown'; readonly fault: Failure };
