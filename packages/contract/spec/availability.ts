import type { Remark } from './document.ts';
import { isMap } from './rules.ts';
import type { Available, Section } from './section.ts';

/**
 * What this version acts on in `eph.yaml`. All else is read, checked, and answered with a notice.
 *
 * @param has whether the file has a section; without it, whatever can be available
 */
export const availableIn = (
  sections: readonly Section[],
  has: (section: string) => boolean = () => true,
): { readonly [key: string]: Available } => ({
  version: true,
  name: true,
  provider: true,
  providers: true,
  ...Object.fromEntries(
    sections.flatMap(({ name, available, beside }) => {
      const known = beside !== undefined && has(beside.section) ? beside.available : available;
      return known === undefined ? [] : [[name, known]];
    }),
  ),
});

/** Everything in here that is not available asks for protection: an environment that had to do without it must not be started. */
const guarded = 'security.environment_access';

const noEffect = 'is not available yet; it is read and has no effect';

export const findUnavailable = (raw: unknown, available: Available): readonly Remark[] => remarksAt(raw, available, []);

export const isGuard = ({ path }: { readonly path: string }): boolean => path === guarded || path.startsWith(`${guarded}.`);

type Path = Remark['path'];

const remarksAt = (value: unknown, known: Available | undefined, path: Path): readonly Remark[] => {
  if (known === true || value === null || value === undefined) return [];
  if (known === 'limited') return [{ path, message: 'is compared with the limits of the server, and has no other effect yet' }];
  if (known === undefined) return [{ path, message: isGuarded(path) ? guardMessage('it') : noEffect }];
  if (isChoice(known)) return known.includes(value as string) ? [] : [{ path, message: describeChoice(value, path) }];
  if (Array.isArray(value)) return value.flatMap((entry, index) => remarksAt(entry, known['*'], [...path, index]));
  if (!isMap({ value })) return [];
  const entries = Object.entries(value).map(([key, one]) => ({
    one: one as unknown,
    of: Object.hasOwn(known, key) ? known[key] : known['*'],
    at: [...path, key],
  }));
  // The other keys of a map are about the alternative that one of them chooses.
  const chosen = entries.flatMap(({ one, of, at }) => (isChoice(of) ? remarksAt(one, of, at) : []));
  if (chosen.length > 0 && path.length > 0) return chosen;
  return entries.flatMap(({ one, of, at }) => remarksAt(one, of, at));
};

const isChoice = (known: Available | undefined): known is readonly (string | boolean)[] => Array.isArray(known);

const describeChoice = (value: unknown, path: Path): string =>
  isGuarded(path) ? guardMessage(String(value)) : `${String(value)} ${noEffect}`;

const isGuarded = (path: Path): boolean => isGuard({ path: path.join('.') });

const guardMessage = (what: string): string =>
  `${what} is not available yet; no environment is started from this file rather than one that is open to all`;
