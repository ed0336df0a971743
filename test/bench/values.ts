import { isDeepStrictEqual } from 'node:util';
import type { JsonMap, Layer, LayerName } from '@eph/contract';
import { type Resolution, Resolutions } from '@eph/engine/values/resolution';
import { deepmerge } from 'deepmerge-ts';
import { atMost, type Figure, median } from './figure.ts';

interface Component {
  readonly name: string;
  readonly layers: readonly Layer[];
}

const kinds = 5;

/** Twenty fields, most of them nested. Few values are the same, and not all variables have the same name. */
const fieldsOf = (seed: number): JsonMap => ({
  replicas: seed,
  directory: `services/${seed}`,
  ready: { http: `/healthz/${seed}`, timeout: `${seed}s` },
  resources: {
    requests: { cpu: `${seed}m`, memory: `${seed}Mi` },
    limits: { cpu: `${seed + 1}m`, memory: `${seed + 1}Mi` },
  },
  autoscaling: { enabled: seed % 2 === 0, minReplicas: seed, maxReplicas: seed + 1 },
  env: {
    LOG_LEVEL: `level-${seed}`,
    REGION: `region-${seed}`,
    CACHE_URL: `redis://cache-${seed}`,
    QUEUE_URL: `amqp://queue-${seed}`,
    FEATURES: `feature-${seed}`,
    LOCALE: `locale-${seed}`,
    TIMEOUT: `${seed}`,
    [`VARIABLE_${seed % 7}`]: `variable-${seed}`,
  },
});

/** What an operator changes. */
const overrideOf = (seed: number): JsonMap => ({
  replicas: seed,
  ready: { timeout: `${seed}s` },
  resources: { limits: { memory: `${seed}Gi` } },
  env: { LOG_LEVEL: `override-${seed}`, OPERATOR: `operator-${seed}` },
});

const layer = (name: LayerName, values: JsonMap): Layer => ({
  source: { layer: name, file: null, commit: null, place: () => undefined },
  values,
});

/** Components of a few kinds: defaults are the same for a kind, what developer and operator say is different for each. */
const makeComponents = (count: number): readonly Component[] => {
  const shared = Array.from({ length: kinds }, (_, kind) => [
    layer('default', fieldsOf(kind)),
    layer('cluster', fieldsOf(kind + kinds)),
  ]);
  return Array.from({ length: count }, (_, index) => ({
    name: `component-${index}`,
    layers: [
      ...(shared[index % kinds] ?? []),
      layer('developer', fieldsOf(index + 100)),
      layer('override', overrideOf(index + 200)),
    ],
  }));
};

const resolveAll = (components: readonly Component[], resolutions: Resolutions): readonly Resolution[] =>
  components.map(({ name, layers }) => resolutions.resolve(name, layers));

const mergeAll = (components: readonly Component[]): readonly unknown[] =>
  components.map(({ layers }) => deepmerge(...layers.map(({ values }) => values)));

/** Every value has an origin, and it is a number: without them there would be no comparison. */
const countOrigins = (origins: Resolution['origins'], values: unknown): number => {
  const entries = typeof values === 'object' && values !== null && !Array.isArray(values) ? Object.entries(values) : undefined;
  if (entries === undefined) {
    if (typeof origins !== 'number') throw new Error('a value has no origin');
    return 1;
  }
  return entries.reduce(
    (sum, [key, value]) => sum + countOrigins(typeof origins === 'number' ? origins : (origins[key] ?? {}), value),
    0,
  );
};

const check = (components: readonly Component[]): void => {
  const [ours, theirs] = [resolveAll(components, new Resolutions()), mergeAll(components)];
  if (
    !isDeepStrictEqual(
      ours.map((one) => one.values),
      theirs,
    )
  )
    throw new Error('the values are not those of deepmerge-ts');
  const origins = ours.reduce((sum, one) => sum + countOrigins(one.origins, one.values), 0);
  if (origins < 20 * components.length) throw new Error(`only ${origins} values have an origin`);
};

const elsewhere = new Uint8Array(64 * 1024 * 1024);

/** Neither side starts with what the other left in the caches of the processor or for the collector. */
const settle = (): void => {
  globalThis.gc?.();
  for (let index = 0; index < elsewhere.length; index += 64) elsewhere[index] = (elsewhere[index] ?? 0) + 1;
};

const timed = (work: () => unknown): number => {
  settle();
  const start = performance.now();
  const result = work();
  const duration = performance.now() - start;
  if (result === undefined) throw new Error('nothing was done');
  return duration;
};

/** Medians of interleaved rounds; the first ones only warm up. */
const compare = (rounds: number, ...works: readonly (() => unknown)[]): readonly number[] => {
  const times = works.map((): number[] => []);
  for (let round = 0; round < rounds + 3; round += 1)
    for (const [index, work] of works.entries()) {
      const time = timed(work);
      if (round >= 3) times[index]?.push(time);
    }
  return times.map(median);
};

const ratio = ([over = Number.NaN, under = Number.NaN]: readonly number[]): number => over / under;

const fewComponents = (): readonly Component[] => makeComponents(10_000);

/** Values of components through four layers, with the origin of each. */
export const measureValues = (): readonly Figure[] => {
  const few = fewComponents();
  check(few);
  const merged = compare(
    15,
    () => resolveAll(few, new Resolutions()),
    () => mergeAll(few),
  );
  return [atMost('values-vs-deepmerge', ratio(merged), 1)];
};

export const measureValuesGrowth = (): readonly Figure[] => {
  const [few, many] = [fewComponents(), makeComponents(100_000)];
  const grown = compare(
    7,
    () => resolveAll(many, new Resolutions()),
    () => resolveAll(few, new Resolutions()),
  );
  return [atMost('values-growth', ratio(grown), 12)];
};

export const measureValuesUnchanged = (): readonly Figure[] => {
  const few = fewComponents();
  const known = new Resolutions();
  const found = new Map(resolveAll(few, known).map((resolution, index) => [few[index]?.name, resolution]));
  // New lists of the same layers: what is compared is what the layers say, not the list they came in.
  const again = few.map(({ name, layers }) => ({ name, layers: [...layers] }));
  const unchanged = compare(
    31,
    () => again.reduce((sum, { name, layers }) => sum + (known.resolve(name, layers).origins === undefined ? 0 : 1), 0),
    () => again.reduce((sum, { name }) => sum + (found.get(name)?.origins === undefined ? 0 : 1), 0),
  );
  return [atMost('values-unchanged', ratio(unchanged), 3)];
};
