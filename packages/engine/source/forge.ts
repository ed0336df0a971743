import type { CommitSha, Failure, ProjectId, Reading, Source, SourceRef } from '@eph/contract';
import type { Pulls } from './pulls.ts';

/**
 * Where a repository lives. One object serves one project.
 *
 * Contract
 * - Every method may be called at any time, concurrently, and again after any failure.
 * - `sources` never throws: what could not be read makes the reading incomplete. A reading is complete only if the forge
 *   said so; an empty list from a repository that could not be opened is incomplete.
 * - `source` bypasses every cache. `gone` requires that the forge said there is no such ref; no answer, a refusal and an
 *   implausible answer are `unknown`.
 * - `readFile`, `exportTree` and `committedAt` read a commit, which never changes, so callers may cache. They throw
 *   `EphError`: `source.commit_missing` if the commit is not there (yet), `forge.unreachable` if the forge does not answer.
 * - `readNote` throws `EphError` unless it is known what the note is, or that there is none.
 * - Nothing from the repository is ever executed: no hooks, no filters, no configuration.
 */
export interface Forge {
  readonly project: ProjectId;

  /** Only for forges with pull requests. */
  readonly pulls?: Pulls;

  /**
   * All branches, tags and open pull requests now. With `asOf`, a time of the clock, a reading from that time or later
   * is enough: a forge that learns for many repositories at once which of them changed may return its last reading of
   * the others.
   */
  sources(signal: AbortSignal, asOf?: number): Promise<Reading<Source>>;

  /** One source now; read before anything is destroyed. */
  source(ref: SourceRef, signal: AbortSignal): Promise<SourceAnswer>;

  /**
   * The bytes of one file at a commit; `undefined` if the commit has no such file. Throws `spec.invalid` if the file is
   * larger than `limitBytes` or not a regular file.
   */
  readFile(commit: CommitSha, path: string, limitBytes: number, signal: AbortSignal): Promise<Uint8Array | undefined>;

  /**
   * Writes the tree of a commit to `folder`, which must not exist yet and exists afterwards only if the tree is
   * complete. Throws `checkout.refused` for symbolic links that leave the tree.
   */
  exportTree(commit: CommitSha, folder: string, signal: AbortSignal): Promise<void>;

  /**
   * The committer date in ISO 8601, in UTC. Whoever made the commit chose it: it may be in 1970, in the future or absurd.
   * A date that cannot be represented is 1970-01-01T00:00:00.000Z, as in Git.
   */
  committedAt(commit: CommitSha, signal: AbortSignal): Promise<string>;

  /**
   * The text of the Git note on a commit in `refs/notes/<notes>`; `undefined` if there is no such ref, or no note on this
   * commit. Whoever may push wrote it: it may contain any character. With `asOf`, a time of the clock, a look at the notes
   * from that time or later is enough; one look serves all commits and all refs. Nothing looks at notes without this call.
   *
   * Throws `spec.invalid` if `notes` is not a name (`isNotesName`), if the ref does not hold notes, or if the note is larger
   * than `noteLimitBytes`: part of a note may mean something else.
   */
  readNote(commit: CommitSha, notes: string, signal: AbortSignal, asOf?: number): Promise<string | undefined>;

  /**
   * Calls `wake` soon after something may have changed, until the signal aborts. Only a hint: it may be late, early,
   * repeated or missing.
   */
  watch(wake: () => void, signal: AbortSignal): void;
}

export type SourceAnswer =
  | { readonly state: 'present'; readonly source: Source }
  | { readonly state: 'gone' }
  | { readonly state: 'unknown'; readonly fault: Failure };
