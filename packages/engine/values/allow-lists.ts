/** Images and hosts may be any text: what cannot be understood is not allowed, and matching reads the text once. */

/** `redis:7` is `docker.io/library/redis`: tag and digest are left out, what Docker leaves out is put in. */
export const imageRepository = (image: string): string | undefined => {
  const [named = '', digest, ...more] = image.split('@');
  if (more.length > 0 || (digest !== undefined && !/^[a-z0-9+._-]+:[0-9a-f]{32,128}$/i.test(digest))) return undefined;
  const [, untagged] = /^(.*?)(?::\w[\w.-]{0,127})?$/.exec(tailAfterSlash(named)) ?? [];
  if (untagged === undefined) return undefined;
  const segments = (headToSlash(named) + untagged).split('/');
  const [first = '', ...rest] = segments;
  const hasRegistry = rest.length > 0 && /^localhost$|[.:]/.test(first);
  const path = hasRegistry ? rest : segments;
  if (!path.every((segment) => imageSegment.test(segment))) return undefined;
  if (!hasRegistry) return ['docker.io', ...(path.length === 1 ? ['library'] : []), ...path].join('/');
  return registryHost.test(first)
    ? [first === 'index.docker.io' ? 'docker.io' : first, ...path].join('/').toLowerCase()
    : undefined;
};

const imageSegment = /^[a-z0-9]+(?:(?:[.]|__?|-+)[a-z0-9]+)*$/;
const registryHost = /^[a-z0-9](?:[a-z0-9.-]*[a-z0-9])?(?::\d{1,5})?$/i;

const headToSlash = (text: string): string => text.slice(0, text.lastIndexOf('/') + 1);
const tailAfterSlash = (text: string): string => text.slice(text.lastIndexOf('/') + 1);

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
