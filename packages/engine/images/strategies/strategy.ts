import type { Source } from '@eph/contract';
import type { Candidate, Proposal } from '../candidate.ts';
import type { RegistryAnswers } from '../registry-answers.ts';
import type { ImageRequest } from '../resolver.ts';
import type { Stated } from '../stated-images.ts';

/** One way of looking for an image. Undefined where the file does not ask for it. Throws where nobody answered. */
export type Strategy = (request: ImageRequest, surroundings: Surroundings, signal: AbortSignal) => Promise<Proposal | undefined>;

export interface Surroundings {
  readonly registry: RegistryAnswers;
  /** The note on the commit of a source; undefined if there is none. */
  readonly readNote: (source: Source, notes: string) => Promise<string | undefined>;
  readonly now: () => number;
}

/** @param where who says it, as the subject of a clause: `the note` */
export const proposeStated = (stated: Stated, where: string, { isAllowed }: ImageRequest): Proposal => {
  if (stated.state === 'unclear') return { none: `${where} names ${stated.text}, which is not an image with a tag or a digest` };
  const { repository, tag, digest } = stated.reference;
  if (!isAllowed(repository)) return { none: `${where} names ${stated.text}, and policy does not allow images from there` };
  const candidate: Candidate = { repository, reference: digest ?? tag ?? '', kind: 'stated' };
  return { candidates: [candidate] };
};
