import { parseImageReference } from '@eph/contract';

/** Images and hosts may be any text: what cannot be understood is not allowed, and matching reads the text once. */

/** Without tag and digest. */
export const imageRepository = (image: string): string | undefined => parseImageReference(image)?.repository;

/** By whole segments: `ghcr.io/org` allows `ghcr.io/org/api` and not `ghcr.io/organ/api`. */
export const isInRegistry = (image: string, registry: string): boolean => {
  const segments = imageRepository(image)?.split('/');
  const wanted = registry.split('/');
  return segments !== undefined && wanted.every((pattern, index) => matchesPart(segments[index], pattern));
};

export const hostOf = (address: string): string | undefined => {
  const url = URL.parse(address);
  return url === null || url.hostname === '' ? undefined : url.hostname;
};

/** Label by label from the end: `*.example.com` allows one label before it, `**.example.com` one or more. */
export const isUnderHost = (host: string, pattern: string): boolean => {
  const labels = host.toLowerCase().replace(/\.$/, '').split('.');
  const [front, ...rest] = pattern.toLowerCase().split('.');
  const wanted = front === '**' ? rest : [front, ...rest];
  const extra = labels.length - wanted.length;
  if (front === '**' ? extra < 1 : extra !== 0) return false;
  return wanted.every((part, index) => matchesPart(labels[extra + index], part ?? ''));
};

const matchesPart = (part: string | undefined, pattern: string): boolean => {
  if (part === undefined || part === '') return false;
  const [start = '', ...middle] = pattern.split('*');
  const end = middle.pop();
  if (end === undefined) return part === start;
  if (!part.startsWith(start) || part.length < start.length + end.length || !part.endsWith(end)) return false;
  let from = start.length;
  for (const piece of middle) {
    const at = part.indexOf(piece, from);
    if (at === -1) return false;
    from = at + piece.length;
  }
  return from <= part.length - end.length;
};
