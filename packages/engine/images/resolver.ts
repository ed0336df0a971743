import type { Failure, Source } from '@eph/contract';

/**
 * Finds the artifact that a component runs.
 *
 * Contract
 * - The answer is immutable: the same string always means the same bytes, because it is part of the revision.
 * - An artifact that does not exist yet is `missing`, and the component waits. It is never guessed.
 * - Safe to repeat, and cheap for the same source.
 */
export interface Resolver {
  resolve(source: Source, signal: AbortSignal): Promise<ArtifactAnswer>;
}

export type ArtifactAnswer =
  | { readonly state: 'found'; readonly artifact: string }
  | { readonly state: 'missing'; readonly fault: Failure };
