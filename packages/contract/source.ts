import { digest } from './digest.ts';
import type { CommitSha, ProjectId } from './ids.ts';

export const sourceKinds = ['branch', 'tag'] as const;
export type SourceKind = (typeof sourceKinds)[number];

/** Names a source for as long as it lives: the commit moves, this does not. */
export interface SourceRef {
  readonly kind: SourceKind;
  /** As Git spells it, without `refs/heads/` or `refs/tags/`. Never safe to use as a path or a host name. */
  readonly name: string;
}

/** A branch or tag of a project, at a commit. */
export interface Source {
  readonly project: ProjectId;
  readonly ref: SourceRef;
  /** Annotated tags are peeled: always a commit. */
  readonly commit: CommitSha;
}

/** One printable string per source, unique within its project. */
export const sourceKey = (ref: SourceRef): string => `${ref.kind}:${ref.name}`;

/** The mark of a reading of sources: the same for the same refs at the same commits, in the same order. */
export const markSources = (sources: readonly Source[]): string =>
  digest(sources.map(({ ref, commit }) => `${commit} ${sourceKey(ref)}`).join('\n'));
