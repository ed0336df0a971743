import type { Remark } from './document.ts';
import { isMap } from './rules.ts';

/** `true`: acted on. A list: acted on with these values. A map: look further. What is not named here is not available yet. */
export type Available = true | readonly (string | boolean)[] | { readonly [key: string]: Available };

/** What this version acts on in `eph.yaml`. All else is read, checked, and answered with a notice. `*` is every entry of a list or map. */
export const available = {
  version: true,
  name: true,
  provider: ['process'],
  providers: { primary: ['process'] },
  triggers: true,
  environment: { name_template: true, name: true, ttl: true, env: true },
  process: { services: { '*': { command: true, directory: true, env: true, ready: true, depends_on: true, entry: true } } },
  database: { enabled: [false] },
  security: {
    environment_access: { default: ['public'], protection: { type: ['none'] } },
    naming: { strategy: true, include_project: [true] },
  },
  networking: { routing: { strategy: ['subdomain'] }, tls: { enabled: [false] } },
  observability: { metrics: { enabled: [false] }, tracing: { enabled: [false] } },
  // Nothing of these two; each of their keys is named.
  advanced: {},
  testing: {},
} as const satisfies Available;

/** Everything in here that is not available asks for protection: an environment that had to do without it must not be started. */
const guarded = 'security.environment_access';

const noEffect = 'is not available yet; it is read and has no effect';

const heldAgainstLimits = /^(environment\.resources|process\.services\.[^.]+\.(replicas|resources))$/;

const consequences: { readonly [path: string]: string } = {
  provider: 'is not available yet; no environment is made from this file',
  'providers.primary': 'is not available yet; no environment is made from this file',
};

/** What a sound file asks for and this version does not do, in the order of the file. */
export const findUnavailable = (raw: unknown): readonly Remark[] => remarksAt(raw, available, []);

export const isGuard = ({ path }: { readonly path: string }): boolean => path === guarded || path.startsWith(`${guarded}.`);

type Path = Remark['path'];

const remarksAt = (value: unknown, known: Available | undefined, path: Path): readonly Remark[] => {
  if (known === true || value === null || value === undefined) return [];
  if (known === undefined) return [{ path, message: describeUnknown(path) }];
  if (isChoice(known)) return known.includes(value as string) ? [] : [{ path, message: describeChoice(value, path) }];
  if (Array.isArray(value)) return value.flatMap((entry, index) => remarksAt(entry, known['*'], [...path, index]));
  if (!isMap({ value })) return [];
  const entries = Object.entries(value).map(([key, one]) => ({
    one: one as unknown,
    of: Object.hasOwn(known, key) ? known[key] : known['*'],
    at: [...path, key],
  }));
  // What chooses between ways to do something speaks for the whole map: its other keys are about the way chosen.
  const chosen = entries.flatMap(({ one, of, at }) => (isChoice(of) ? remarksAt(one, of, at) : []));
  if (chosen.length > 0 && path.length > 0) return chosen;
  return entries.flatMap(({ one, of, at }) => remarksAt(one, of, at));
};

const isChoice = (known: Available | undefined): known is readonly (string | boolean)[] => Array.isArray(known);

const describeChoice = (value: unknown, path: Path): string => {
  if (isGuarded(path)) return guardMessage(String(value));
  const pattern = path.map((step) => (typeof step === 'number' ? '*' : step)).join('.');
  return `${String(value)} ${consequences[pattern] ?? noEffect}`;
};

const describeUnknown = (path: Path): string => {
  if (isGuarded(path)) return guardMessage('it');
  return heldAgainstLimits.test(path.join('.'))
    ? 'is held against the limits of the server, and has no other effect yet'
    : noEffect;
};

const isGuarded = (path: Path): boolean => isGuard({ path: path.join('.') });

const guardMessage = (what: string): string =>
  `${what} is not available yet; no environment is started from this file rather than one that is open to all`;
