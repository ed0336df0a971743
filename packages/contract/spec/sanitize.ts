import { digest } from '../digest.ts';
import { dnsLabel } from '../ids.ts';

/** What does not fit is replaced by a digest of the whole, so that no two texts are cut to one name. `a/b` and `a.b` are `a-b`. */

/** One DNS label, at most 63 characters: also what Kubernetes calls a name. */
export const toDnsLabel = (text: string): string => toLabel(text, 63);

const toLabel = (text: string, limit: number): string => {
  const folded = fold(text).toLowerCase();
  const label = trim(folded.replace(/[^a-z0-9]+/g, '-'), '-');
  return hasForeign(folded) || !dnsLabel.test(label) || label.length > limit ? withDigest(label, text, '-', limit) : label;
};

/** Labels with dots between them, at most 253 characters. What is too long is cut at the front: the end says whose name it is. */
export const toDnsName = (text: string): string => toName(text, 253);

const toName = (text: string, limit: number): string => {
  const labels = text.split('.').filter((label) => label !== '');
  const name = labels.map(toDnsLabel).join('.');
  if (name !== '' && name.length <= limit) return name;
  const end: string[] = [];
  let room = limit - 32;
  for (const label of labels.slice(1).toReversed().map(toDnsLabel)) {
    room -= label.length + 1;
    if (room < 0) break;
    end.unshift(label);
  }
  return [toLabel(labels.slice(0, labels.length - end.length).join('-'), 31), ...end].join('.');
};

/** A tag of an image, at most 128 characters. Letters it cannot show become a dash and no more: that is how build systems name tags. */
export const toImageTag = (text: string): string => shorten(text.replace(/[^\w.-]+/g, '-').replace(/^[.-]+/, ''), text, 128);

/** The same with `*` and `?` in it. */
export const toTagPattern = (text: string): string => shorten(text.replace(/[^\w.*?-]+/g, '-').replace(/^[.-]+/, ''), text, 128);

/** An image without its tag, at most 255 characters, the registry in front of it if there is one. */
export const toImageName = (text: string): string => {
  // Segments that vanish go first: the front of what is left names the registry.
  const segments = text.split('/').filter((segment) => toImageSegment(segment) !== '');
  const [first = '', ...rest] = segments;
  const hasRegistry = rest.length > 0 && (/[.:]/.test(first) || toImageSegment(first) === 'localhost');
  const registry = hasRegistry ? toRegistry(first) : '';
  const path = (hasRegistry ? rest : segments).map(toImageSegment).join('/');
  return registry + shorten(path, text, 255 - registry.length);
};

const toRegistry = (text: string): string => {
  const [host = '', port = ''] = text.split(':', 2);
  return `${toName(host, 190)}${/^\d{1,5}$/.test(port) ? `:${port}` : ''}/`;
};

const toImageSegment = (segment: string): string => {
  const joined = segment
    .toLowerCase()
    .replace(/[^a-z0-9._-]+/g, '-')
    .replace(/[._-]{2,}/g, (run) => (run === '__' || trim(run, '-') === '' ? run : '-'));
  return trim(joined, '._-');
};

/** The name of a database that needs no quotes in SQL, at most 63 characters. */
export const toDatabaseName = (text: string): string => {
  const folded = fold(text).toLowerCase();
  const name = folded.replace(/[^a-z0-9_]+/g, '_').replace(/^(?=\d)/, '_');
  return hasForeign(folded) || name === '' || name.length > 63 ? withDigest(name, text, '_', 63) : name;
};

/** A path of a URL or of a secret store, at most 1024 characters; it leads nowhere but down. */
export const toPath = (text: string): string => {
  const path = text
    .split('/')
    .map(toPathSegment)
    .filter((segment) => segment !== '')
    .join('/');
  const root = text.startsWith('/') ? '/' : '';
  return path === '' && root !== '' ? root : root + shorten(path, text, 1024 - root.length);
};

const toPathSegment = (segment: string): string => {
  const folded = fold(segment);
  const safe = folded.replace(/[^\w.~-]+/g, '-');
  if (hasForeign(folded)) return withDigest(safe, segment, '-', 255);
  return trim(safe, '.') === '' ? '' : safe;
};

/** `ü` is `u` with something on it, and the full-width slash is a slash. */
const fold = (text: string): string => text.normalize('NFKD').replace(/\p{M}+/gu, '');

const hasForeign = (text: string): boolean => /[^\p{ASCII}]/u.test(text);

const shorten = (name: string, whole: string, limit: number): string =>
  name === '' || name.length > limit ? withDigest(name, whole, '-', limit) : name;

const withDigest = (name: string, whole: string, separator: '-' | '_', limit: number): string => {
  const end = separator + digest(whole);
  const start = trimEnd(name.slice(0, limit - end.length), '._-/~');
  return (start === '' ? 'x' : start) + end;
};

/** By hand, because a regular expression tries every place of a long run for the end of the text. */
const trimEnd = (text: string, characters: string): string => {
  let end = text.length;
  while (end > 0 && characters.includes(text.charAt(end - 1))) end -= 1;
  return text.slice(0, end);
};

const trim = (text: string, characters: string): string => {
  let start = 0;
  while (start < text.length && characters.includes(text.charAt(start))) start += 1;
  return trimEnd(text.slice(start), characters);
};
