import { printDuration, type WantedImage } from '@eph/contract';
import type { Candidate } from './candidate.ts';
import type { InspectAnswer } from './registry.ts';
import type { ImageRequest } from './resolver.ts';

export type ImageDetails = InspectAnswer & { readonly state: 'found' };

/** Whether an image has to be read before it can be chosen. */
export const needsDetails = ({ image }: ImageRequest, { kind }: Candidate): boolean =>
  kind === 'doubtful' || image.platform !== undefined || (kind !== 'fallback' && hasLimits(image));

const hasLimits = ({ maxAgeSeconds, requiredLabels }: WantedImage): boolean =>
  maxAgeSeconds !== undefined || Object.keys(requiredLabels).length > 0;

/** Why an image must not be chosen, as a clause about it; undefined when it may be. */
export const findObjection = (
  { image, source }: ImageRequest,
  { kind }: Candidate,
  details: ImageDetails,
  { now, committedAt }: { readonly now: number; readonly committedAt: number },
): string | undefined => {
  if (kind === 'fallback') return undefined;
  const { labels } = details;
  const madeAt = madeAtOf(details, now);
  for (const [key, value] of Object.entries(image.requiredLabels))
    if (!Object.hasOwn(labels, key)) return `has no label ${key}`;
    else if (labels[key] !== value) return `has another label ${key} than ${value}`;
  const { maxAgeSeconds } = image;
  if (maxAgeSeconds !== undefined) {
    if (madeAt === undefined) return 'does not say when it was made, and max_age asks for that';
    if (now - madeAt > maxAgeSeconds * 1000) return `is older than ${printDuration(maxAgeSeconds)}`;
  }
  if (kind !== 'doubtful') return undefined;
  const commits = commitLabels.flatMap((key) => (Object.hasOwn(labels, key) ? [labels[key]] : []));
  if (commits.includes(source.commit)) return undefined;
  if (commits.length > 0) return 'was built from another commit';
  if (madeAt === undefined) return 'says neither which commit it was built from nor when it was made';
  return madeAt > committedAt ? undefined : 'is older than the commit';
};

const commitLabels = ['eph.io/commit', 'org.opencontainers.image.revision'];

/** Reproducible builds write 1970, and clocks are wrong: such a time says nothing. */
const earliest = Date.UTC(2000, 0, 1);
const clockSkewMs = 10 * 60_000;

/** When an image was made, as far as it says so in a way that can be true. */
export const madeAtOf = ({ created, labels }: ImageDetails, now: number): number | undefined => {
  const builtAt = Object.hasOwn(labels, 'eph.io/built-at') ? Date.parse(labels['eph.io/built-at'] ?? '') : Number.NaN;
  return [created?.getTime() ?? Number.NaN, builtAt].find((time) => time >= earliest && time <= now + clockSkewMs);
};
