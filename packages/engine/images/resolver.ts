import type { Failure, Source } from '@eph/contract';

/**
 * Which artifact a component runs.
 *
 * Contract
 * - The answer is immutable: the same string always means the same bytes, because it becomes part of the revision.
 * - An artifact that does not exist yet is `missing`, which makes the component wait; it is never replaced by a guess.
 * - Safe to repeat; cheap when asked again about the same source.
 */
export interface Resolver {
  resolve(source: Source, signal: AbortSignal): Promise<ArtifactAnswer>;
}

export type ArtifactAnswer =
  | { readonly state: 'found'; readonly artifact: string }
  | { readonly state: 'missing'; readonly fault: Failure };
