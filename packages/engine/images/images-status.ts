import { type ComponentName, type PinnedImage, reasonOf } from '@eph/contract';
import type { ImageAnswer } from './resolver.ts';

export interface ResolvedImage {
  readonly component: ComponentName;
  readonly name: string;
  readonly answer: ImageAnswer;
}

/** What is known about the images of an environment: the condition `ImagesResolved`. */
export interface ImagesFact {
  readonly status: 'True' | 'False' | 'Unknown';
  readonly reason: string;
  readonly message: string;
}

/** Undefined where no component names an image. Of several reasons the worst counts. */
export const summarizeImages = (images: readonly ResolvedImage[]): ImagesFact | undefined => {
  const facts = images.toSorted((a, b) => rankOf(a) - rankOf(b)).map(toFact);
  const [worst] = facts;
  if (worst === undefined) return undefined;
  const alike = facts.filter(({ reason }) => reason === worst.reason);
  return { ...worst, message: [...new Set(alike.map(({ message }) => message))].join('; ') };
};

/** The worst is the least. */
const rankOf = ({ answer }: ResolvedImage): number => {
  if (answer.state === 'unknown') return answer.fault.disposition === 'stall' ? 0 : 1;
  if (answer.state === 'missing') return answer.fault.code === 'artifact.not_found' ? 2 : 3;
  return answer.image.fallback === true ? 4 : 5;
};

const toFact = ({ component, name, answer }: ResolvedImage): ImagesFact => {
  if (answer.state === 'unknown') return { status: 'Unknown', reason: reasonOf(answer.fault), message: answer.fault.message };
  if (answer.state === 'missing') {
    const { code, message } = answer.fault;
    return { status: 'False', reason: code === 'artifact.not_found' ? 'ImageNotFound' : 'WaitingForImage', message };
  }
  const { image, findings } = answer;
  if (image.fallback !== true) return { status: 'True', reason: 'Resolved', message: `${name} is ${describeImage(image)}` };
  const because = findings.length === 0 ? '' : `: ${findings.join('; ')}`;
  return {
    status: 'False',
    reason: 'UsingFallbackImage',
    message: `${component} runs the fall-back ${describeImage(image)} of ${name} until the right image is there${because}`,
  };
};

/** `ghcr.io/acme/api:pr-7 (sha256:0123456789ab)`. */
const describeImage = ({ reference, tag }: PinnedImage): string => {
  const [repository = '', imageDigest = ''] = reference.split('@');
  const short = imageDigest.slice(0, 'sha256:'.length + 12);
  return tag === null ? `${repository}@${short}` : `${repository}:${tag} (${short})`;
};
