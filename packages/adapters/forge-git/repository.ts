import type { CommitSha, SourceRef } from '@eph/contract';
import type { NotesStore } from './notes-store.ts';
import type { CommitRef, RefReading } from './refs.ts';
import type { TreeSource } from './tree-export.ts';

/** The repository of a project as the forge uses it: a folder of this machine, or a mirror of what is elsewhere. */
export interface Repository extends AsyncDisposable {
  /** All branches and tags now. Throws when none could be read. */
  readRefs(signal: AbortSignal): Promise<RefReading>;
  /** One branch or tag now; `undefined` only if the repository is certainly there and has no such ref. */
  readRef(ref: SourceRef, signal: AbortSignal): Promise<CommitRef | undefined>;
  /** Gives the objects of a commit to `use`, after making them available where necessary. */
  withCommit<T>(commit: CommitSha, use: (source: TreeSource) => Promise<T>, signal: AbortSignal): Promise<T>;
  watch(wake: () => void, signal: AbortSignal): void;
  readonly notes: NotesStore;
  /** Makes or deletes one branch. False when it is not, or no longer, where the change begins. */
  changeBranch(name: string, change: BranchChange, signal: AbortSignal): Promise<boolean>;
}

/** No commit is no branch. */
export type BranchChange =
  | { readonly from: undefined; readonly to: CommitSha }
  | { readonly from: CommitSha; readonly to: undefined };
