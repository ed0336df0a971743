import type { ComponentName, PinnedImage } from '@eph/contract';
import type { ImageAnswer } from './resolver.ts';

export interface ResolvedImage {
  readonly component: ComponentName;
  readonly name: string;
  readonly answer: ImageAnswer;
}

export type ImagesReason =
  | 'Resolved'
  | 'WaitingForImage'
  | 'UsingFallbackImage'
  | 'ImageNotFound'
  | 'RegistryUnreachable'
  | 'RegistryRefused';

/** What is known about the images of an environment: the condition `ImagesResolved`. */
export interface ImagesFact {
  readonly status: 'True' | 'False' | 'Unknown';
  readonly reason: ImagesReason;
  readonly message: string;
}

/** Undefined where no component names an image. Of several reasons the worst counts. */
export const summarizeImages = (images: readonly ResolvedImage[]): ImagesFact | undefined => {
  const all = images.map(toFact);
  const worst = order.find((reason) => all.some((fact) => fact.reason === reason));
  if (worst === undefined) return undefined;
  const facts = all.filter(({ reason }) => reason === worst);
  const [{ status } = { status: 'Unknown' as const }] = facts;
  return { status, reason: worst, message: [...new Set(facts.map(({ message }) => message))].join('; ') };
};

const order: readonly ImagesReason[] = [
  'RegistryRefused',
  'RegistryUnreachable',
  'ImageNotFound',
  'WaitingForImage',
  'UsingFallbackImage',
  'Resolved',
];

const toFact = ({ component, name, answer }: ResolvedImage): ImagesFact => {
  if (answer.state === 'unknown') {
    const { disposition, message } = answer.fault;
    return { status: 'Unknown', reason: disposition === 'stall' ? 'RegistryRefused' : 'RegistryUnreachable', message };
  }
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
