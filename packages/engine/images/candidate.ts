import type { ImageRequest } from './resolver.ts';

/** An image that may be the right one. */
export interface Candidate {
  readonly repository: string;
  /** A tag or a digest. */
  readonly reference: string;
  /**
   * - `named`: the file names it, or its tag the commit.
   * - `stated`: somebody says that it is the right one, and may be wrong.
   * - `doubtful`: it may be the build of another commit; what it says of itself decides.
   * - `fallback`: it is another one on purpose, so limits of age and labels, which speak of the right one, do not hold.
   */
  readonly kind: 'named' | 'stated' | 'doubtful' | 'fallback';
}

/** What one way of looking found: images to try in this order, and in a clause what was passed over; or why there are none. */
export type Proposal = { readonly candidates: readonly Candidate[]; readonly passedOver?: string } | { readonly none: string };

/** Builds put the whole commit into a tag, or its first seven characters. */
export const namesCommit = (tag: string, { source: { commit } }: ImageRequest): boolean => tag.includes(commit.slice(0, 7));

/** A tag that does not name the commit may be that of the build before. */
export const kindOfTag = (tag: string, request: ImageRequest): Candidate['kind'] =>
  namesCommit(tag, request) ? 'named' : 'doubtful';

export const describeCandidate = ({ repository, reference }: Candidate): string =>
  `${repository}${isDigest(reference) ? '@' : ':'}${reference}`;

export const isDigest = (reference: string): boolean => reference.includes(':');
