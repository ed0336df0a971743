import { parseQuantity } from './quantity.ts';

/** For `.refine(...rule)`. Rules are checked also when values of the map are wrong, so that all faults come at once. */
type Rule = readonly [
  holds: (value: object) => boolean,
  params: {
    readonly path: string[];
    readonly message: string;
    readonly when: typeof isMap;
    readonly params?: { readonly alternatives: readonly string[] };
  },
];

export const isMap = ({ value }: { readonly value: unknown }): boolean =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

export const read = (value: unknown, key: string): unknown =>
  isMap({ value }) && Object.hasOwn(value as object, key) ? (value as { readonly [key: string]: unknown })[key] : undefined;

export const notBoth = (first: string, second: string): Rule => [
  (value) => !Object.hasOwn(value, first) || !Object.hasOwn(value, second),
  { path: [first], message: `excludes ${second}; keep one of them`, when: isMap },
];

/** A key that means something only where another one has a certain value; `standard` is the value when there is none. */
export const onlyWith = (key: string, selector: string, wanted: string, standard = wanted): Rule => [
  (value) => !Object.hasOwn(value, key) || (read(value, selector) ?? standard) === wanted,
  { path: [key], message: `means something only with ${selector}: ${wanted}`, when: isMap },
];

export const requiredWith = (key: string, selector: string, wanted: string): Rule => [
  (value) => Object.hasOwn(value, key) || read(value, selector) !== wanted,
  { path: [key], message: `is required with ${selector}: ${wanted}`, when: isMap },
];

/** A key that means something only beside another one. */
export const requires = (key: string, other: string): Rule => [
  (value) => !Object.hasOwn(value, key) || Object.hasOwn(value, other),
  { path: [key], message: `means something only with ${other}`, when: isMap },
];

/** At least one of several keys. The first is the one that is missed. */
export const oneOf = (...keys: readonly [string, ...string[]]): Rule => [
  (value) => keys.some((key) => Object.hasOwn(value, key)),
  {
    path: [keys[0]],
    message: `is required, or ${keys.slice(1).join(', or ')}`,
    when: isMap,
    params: { alternatives: keys },
  },
];

/** Of two amounts, the first is not the greater one. Paths are dotted. */
export const notAbove = (low: string, high: string): Rule => [
  (value) => (amountAt(value, low) ?? 0) <= (amountAt(value, high) ?? Number.POSITIVE_INFINITY),
  { path: low.split('.'), message: `must not be more than ${high}`, when: isMap },
];

const amountAt = (value: unknown, path: string): number | undefined => {
  const found = path.split('.').reduce(read, value);
  return typeof found === 'number' ? found : typeof found === 'string' ? parseQuantity(found) : undefined;
};

export const distinctNames = [
  (entries: unknown) => {
    const names = Array.isArray(entries) ? entries.map((entry) => read(entry, 'name')).filter((one) => one !== undefined) : [];
    return new Set(names).size === names.length;
  },
  { message: 'two entries have the same name', when: ({ value }: { readonly value: unknown }) => Array.isArray(value) },
] as const;

export const fold = <T extends object, Short extends keyof T>(value: T, short: Short, long: keyof T): Omit<T, Short> => {
  if (!Object.hasOwn(value, short)) return value;
  const { [short]: given, ...rest } = value;
  return { ...rest, [long]: given };
};
