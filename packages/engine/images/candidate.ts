import type { ImageRequest } from './resolver.ts';

/** An image that may be the right one. */
export interface Candidate {
  readonly repository: string;
  /** A tag or a digest. */
  readonly reference: string;
  /** It may be the build of another commit: what it says of itself decides. */
  readonly isDoubtful: boolean;
}

/** What one way of looking found: images to try in this order, or why there are none, in a clause. */
export type Proposal = { readonly candidates: readonly Candidate[] } | { readonly none: string };

/** Builds put the whole commit into a tag, or its first seven characters. */
export const namesCommit = (tag: string, { source: { commit } }: ImageRequest): boolean => tag.includes(commit.slice(0, 7));

export const describeCandidate = ({ repository, reference }: Candidate): string =>
  `${repository}${isDigest(reference) ? '@' : ':'}${reference}`;

export const isDigest = (reference: string): boolean => reference.includes(':');
