import type { CommitSha, SourceRef } from '@eph/contract';
import type { NotesStore } from './notes-store.ts';
import type { CommitRef, NotesRefs, RefReading } from './refs.ts';
import type { TreeSource } from './tree-export.ts';

export interface Repository extends AsyncDisposable {
  /** All branches and tags. Throws if none could be read. */
  readRefs(signal: AbortSignal): Promise<RefReading>;
  /** One branch or tag; `undefined` only if the repository answers and has no such ref. */
  readRef(ref: SourceRef, signal: AbortSignal): Promise<CommitRef | undefined>;
  /** All refs of notes. Throws if none could be read. */
  readNotesRefs(signal: AbortSignal): Promise<NotesRefs>;
  /** Calls `use` with the objects of a commit, fetched if necessary. */
  withCommit<T>(commit: CommitSha, use: (source: TreeSource) => Promise<T>, signal: AbortSignal): Promise<T>;
  watch(wake: () => void, signal: AbortSignal): void;
  readonly notes: NotesStore;
  /** Creates or deletes a branch. False if it is not at `change.from`. */
  changeBranch(name: string, change: BranchChange, signal: AbortSignal): Promise<boolean>;
}

/** `undefined` means no branch. */
export type BranchChange =
  | { readonly from: undefined; readonly to: CommitSha }
  | { readonly from: CommitSha; readonly to: undefined };
