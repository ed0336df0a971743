import type { JsonMap, JsonValue, Layer, LayerName } from '@eph/contract';
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { mergeLayers } from './layers.fake.ts';
import { isMap, type Origins, originOf } from './layers.ts';

const layer = (name: LayerName, values: JsonMap): Layer => ({
  source: { layer: name, file: null, commit: null, place: () => undefined },
  values,
});

/** Platform layers, in which null removes. */
const merge = (...all: readonly JsonMap[]): JsonMap => mergeLayers(all.map((values) => layer('cluster', values))).values;

/** What each of the four layers says, bottom up; undefined for a layer that is not set. */
const merge4 = (
  builtIn: JsonMap | undefined,
  cluster: JsonMap | undefined,
  developer: JsonMap | undefined,
  override: JsonMap | undefined,
) =>
  mergeLayers([
    layer('default', builtIn ?? {}),
    layer('cluster', cluster ?? {}),
    layer('developer', developer ?? {}),
    layer('override', override ?? {}),
  ]);

describe('four layers', () => {
  it.each<readonly [string, Parameters<typeof merge4>, JsonMap, Origins]>([
    [
      'the developer wins over defaults',
      [{ replicas: 1 }, { replicas: 3 }, { replicas: 5 }, undefined],
      { replicas: 5 },
      { replicas: 2 },
    ],
    [
      'the operator wins over the developer',
      [{ replicas: 1 }, { replicas: 3 }, { replicas: 5 }, { replicas: 10 }],
      { replicas: 10 },
      { replicas: 3 },
    ],
    [
      'without the developer the cluster decides',
      [{ replicas: 1 }, { replicas: 3 }, undefined, undefined],
      { replicas: 3 },
      { replicas: 1 },
    ],
    [
      'without anybody the built-in default holds',
      [{ replicas: 1 }, undefined, undefined, undefined],
      { replicas: 1 },
      { replicas: 0 },
    ],
    [
      'what the developer leaves null falls through',
      [{ replicas: 1 }, { replicas: 3 }, { replicas: null }, undefined],
      { replicas: 3 },
      { replicas: 1 },
    ],
    [
      'paths merge at every level',
      [
        { requests: { cpu: '50m', memory: '64Mi' } },
        { requests: { cpu: '100m' } },
        { limits: { cpu: '500m' } },
        { requests: { memory: '256Mi' } },
      ],
      { requests: { cpu: '100m', memory: '256Mi' }, limits: { cpu: '500m' } },
      { requests: { cpu: 1, memory: 3 }, limits: 2 },
    ],
    [
      'maps are combined',
      [
        undefined,
        undefined,
        { resources: { requests: { cpu: '100m', memory: '128Mi' }, limits: { cpu: '500m' } } },
        { resources: { requests: { memory: '256Mi' }, limits: { memory: '1Gi' } } },
      ],
      { resources: { requests: { cpu: '100m', memory: '256Mi' }, limits: { cpu: '500m', memory: '1Gi' } } },
      { resources: { requests: { cpu: 2, memory: 3 }, limits: { cpu: 2, memory: 3 } } },
    ],
    [
      'lists are replaced',
      [
        undefined,
        undefined,
        {
          env: [
            { name: 'LOG_LEVEL', value: 'info' },
            { name: 'PORT', value: '8080' },
          ],
        },
        { env: [{ name: 'LOG_LEVEL', value: 'debug' }] },
      ],
      { env: [{ name: 'LOG_LEVEL', value: 'debug' }] },
      { env: 3 },
    ],
    ['scalars are replaced', [undefined, undefined, { replicas: 3 }, { replicas: 5 }], { replicas: 5 }, { replicas: 3 }],
    ['a type can change', [undefined, { a: 1, b: { x: 1 } }, { a: { x: 1 } }, { b: 1 }], { a: { x: 1 }, b: 1 }, { a: 2, b: 3 }],
    [
      'the operator removes a key by null',
      [{ a: 1 }, { b: { c: 1, d: 1 } }, { e: 1 }, { a: null, b: { c: null }, e: null }],
      { b: { d: 1 } },
      { b: { d: 1 } },
    ],
    [
      'what the cluster removes the developer can set again',
      [{ a: 1, b: 1 }, { a: null, b: null }, { b: 2 }, undefined],
      { b: 2 },
      { b: 2 },
    ],
  ])('%s', (_, layers, values, origins) => {
    const merged = merge4(...layers);
    expect(merged.values).toEqual(values);
    expect(originsOf(merged)).toEqual(flatten(values, origins));
  });
});

describe('layers, from the bottom up', () => {
  it.each<readonly [string, readonly JsonMap[], JsonMap]>([
    ['of which there are none', [], {}],
    ['the last value wins', [{ a: 1 }, { a: 2 }, { a: 3 }], { a: 3 }],
    ['an absent value falls through', [{ a: 1, b: 1 }, {}], { a: 1, b: 1 }],
    ['null removes', [{ a: 1, b: 1 }, { a: null }], { b: 1 }],
    ['what was removed can come back', [{ a: 1 }, { a: null }, { a: 2 }], { a: 2 }],
    ['null removes deep inside', [{ a: { b: 1, c: 1 } }, { a: { b: null } }], { a: { c: 1 } }],
    ['null in the lowest layer is nothing', [{ a: null, b: { c: null } }], { b: {} }],
    ['null under a replaced scalar is nothing', [{ a: 1 }, { a: { b: null, c: 1 } }], { a: { c: 1 } }],
    ['null stays in a list', [{ a: [1] }, { a: [null] }], { a: [null] }],
    [
      'false, zero and the empty string are values',
      [
        { a: 1, b: 1, c: 1 },
        { a: false, b: 0, c: '' },
      ],
      { a: false, b: 0, c: '' },
    ],
  ])('%s', (_, layers, expected) => {
    expect(merge(...layers)).toEqual(expected);
  });

  it('share what only one of them speaks of', () => {
    const [below, above] = [{ a: { b: { c: 1 } }, d: { e: [1] } }, { f: { g: 1 } }];
    const merged = merge(below, above);
    expect(merged['a']).toBe(below.a);
    expect(merged['d']).toBe(below.d);
    expect(merged['f']).toBe(above.f);
  });

  it('give a map that one of them gave whole a single origin', () => {
    const { origins } = merge4({ a: { b: 1, c: 1 } }, { a: { b: 2, c: 2 } }, { d: { e: { f: 1 } } }, undefined);
    expect(origins).toEqual({ a: 1, d: 2 });
  });
});

const value = fc.jsonValue({ maxDepth: 3 }) as fc.Arbitrary<JsonValue>;
const key = fc.oneof(
  { weight: 4, arbitrary: fc.constantFrom('a', 'b', 'c') },
  fc.constantFrom('__proto__', 'constructor', 'prototype', 'toString'),
  fc.string({ maxLength: 3 }),
);
/** Few keys, so that layers meet. */
const map = fc.letrec<{ map: JsonMap; node: JsonValue }>((tie) => ({
  map: fc.dictionary(key, tie('node'), { maxKeys: 5, noNullPrototype: true }),
  node: fc.oneof({ depthSize: 'small', withCrossShrink: true }, value, fc.constant(null), tie('map')),
})).map;
const withoutNull = map.filter((one) => !JSON.stringify(one).includes('null'));
const layers = fc.array(
  fc.tuple(fc.constantFrom('default', 'cluster', 'developer', 'override'), map).map(([name, values]) => layer(name, values)),
  { maxLength: 6 },
);

describe('merging is such that', () => {
  it('an empty layer above or below changes nothing', () => {
    fc.assert(
      fc.property(map, (one) => {
        const alone = merge(one);
        expect(merge({}, one)).toEqual(alone);
        expect(merge(one, {})).toEqual(alone);
      }),
    );
  });

  it('a layer laid twice is as good as once', () => {
    fc.assert(
      fc.property(map, (one) => {
        expect(merge(one, one)).toEqual(merge(one));
      }),
    );
  });

  it('without removals any grouping gives the same', () => {
    fc.assert(
      fc.property(withoutNull, withoutNull, withoutNull, (a, b, c) => {
        expect(merge(merge(a, b), c)).toEqual(merge(a, merge(b, c)));
      }),
    );
  });

  it('the last layer wins with every scalar and list, and removes with every null', () => {
    fc.assert(
      fc.property(layers, map, (below, above) => {
        const merged = mergeLayers([...below, layer('override', above)]).values;
        const plain = Object.entries(above).filter(([, one]) => !isMap(one));
        expect(plain.filter(([name, one]) => (Object.hasOwn(merged, name) ? merged[name] : null) !== one)).toEqual([]);
      }),
    );
  });

  it('a null of the developer is as good as nothing said', () => {
    fc.assert(
      fc.property(map, map, (below, above) => {
        const [cluster, spoken] = [layer('cluster', below), stripNulls(above)];
        const withNulls = mergeLayers([cluster, layer('developer', above)]);
        expect(withNulls.values).toEqual(mergeLayers([cluster, layer('developer', spoken)]).values);
      }),
    );
  });

  it('the order of keys does not matter', () => {
    const reversed = (one: JsonValue): JsonValue =>
      isMap(one)
        ? Object.fromEntries(
            Object.entries(one)
              .toReversed()
              .map(([name, inner]) => [name, reversed(inner)]),
          )
        : one;
    fc.assert(
      fc.property(layers, (all) => {
        const again = all.map(({ source, values }) => ({ source, values: reversed(values) as JsonMap }));
        expect(mergeLayers(again).values).toEqual(mergeLayers(all).values);
        expect(originsOf(mergeLayers(again))).toEqual(originsOf(mergeLayers(all)));
      }),
    );
  });

  it('no null is left outside of lists', () => {
    const nulls = (one: JsonValue): boolean => one === null || (isMap(one) && Object.values(one).some(nulls));
    fc.assert(fc.property(layers, (all) => !nulls(mergeLayers(all).values)));
  });

  it('the layers stay as they were', () => {
    fc.assert(
      fc.property(layers, (all) => {
        const before = structuredClone(all.map((one) => one.values));
        mergeLayers(all);
        expect(all.map((one) => one.values)).toEqual(before);
      }),
    );
  });

  it('values and origins are those of the slow way, for every value', { timeout: 60_000 }, () => {
    fc.assert(
      fc.property(layers, (all) => {
        const merged = mergeLayers(all);
        const slow = mergeSlowly(all);
        expect(merged.values).toEqual(slow.value);
        expect(originsOf(merged)).toEqual(slow.origins);
      }),
      { numRuns: 2000 },
    );
  });
});

describe('hostile names', () => {
  const hostile = JSON.parse(
    '{ "__proto__": { "polluted": true }, "constructor": { "prototype": { "polluted": true } }, "prototype": { "polluted": true } }',
  ) as JsonMap;

  it('cannot reach a prototype', () => {
    const merged = merge({ a: {}, constructor: { prototype: { x: 1 } } }, hostile, { a: hostile }, hostile);
    expect(Object.getPrototypeOf(merged)).toBe(Object.prototype);
    expect(Object.getPrototypeOf(merged['a'])).toBe(Object.prototype);
    expect(Object.keys(merged).toSorted()).toEqual(['__proto__', 'a', 'constructor', 'prototype']);
    expect({}).not.toHaveProperty('polluted');
    expect(merged).not.toHaveProperty('polluted');
    expect(Object.prototype).not.toHaveProperty('polluted');
  });

  it('have an origin like any other', () => {
    const { origins } = mergeLayers([layer('default', { a: 1 }), layer('cluster', hostile)]);
    expect(originOf(origins, '__proto__')).toBe(1);
    expect(originOf(origins, 'constructor')).toBe(1);
    expect(() => originOf(origins, 'toString')).toThrow('has no origin');
  });

  it('are removed like any other', () => {
    expect(merge(hostile, JSON.parse('{ "__proto__": null, "constructor": null, "prototype": null }') as JsonMap)).toEqual({});
  });
});

type FlatOrigins = readonly (readonly [path: string, origin: number])[];

/** Every value, lists and empty maps included, with its origin. */
const originsOf = ({ values, origins }: ReturnType<typeof mergeLayers>): FlatOrigins => flatten(values, origins);

const flatten = (one: JsonValue, origins: Origins, path: readonly string[] = []): FlatOrigins => {
  const isLeaf = !isMap(one) || Object.keys(one).length === 0;
  if (isLeaf && path.length === 0) return [];
  if (isLeaf) {
    if (typeof origins !== 'number') throw new Error(`${path.join('.')} has no single origin`);
    return [[JSON.stringify(path), origins]];
  }
  return Object.entries(one)
    .flatMap(([name, inner]) => flatten(inner, originOf(origins, name), [...path, name]))
    .toSorted(([a], [b]) => (a < b ? -1 : 1));
};

const stripNulls = (one: JsonMap): JsonMap =>
  Object.fromEntries(
    Object.entries(one)
      .filter(([, inner]) => inner !== null)
      .map(([name, inner]) => [name, isMap(inner) ? stripNulls(inner) : inner]),
  );

/** The rules once more, a value at a time, each carrying its origin along. */
const mergeSlowly = (all: readonly Layer[]): { value: JsonValue; origins: FlatOrigins } => {
  type Node = { readonly origin: number; readonly value?: JsonValue; readonly keys?: ReadonlyMap<string, Node> };
  const lay = (below: Node | undefined, above: JsonValue, origin: number, removes: boolean): Node | undefined => {
    if (above === null) return removes ? undefined : below;
    if (!isMap(above)) return { origin, value: above };
    const keys = new Map(below?.keys);
    for (const [name, inner] of Object.entries(above)) {
      const laid = lay(keys.get(name), inner, origin, removes);
      keys.delete(name);
      if (laid !== undefined) keys.set(name, laid);
    }
    return { origin, keys };
  };
  const toValue = (node: Node): JsonValue =>
    node.keys === undefined
      ? (node.value ?? null)
      : Object.fromEntries([...node.keys].map(([name, inner]) => [name, toValue(inner)]));
  const toOrigins = (node: Node, path: readonly string[]): FlatOrigins => {
    if (node.keys !== undefined && node.keys.size > 0)
      return [...node.keys].flatMap(([name, inner]) => toOrigins(inner, [...path, name]));
    return path.length === 0 ? [] : [[JSON.stringify(path), node.origin]];
  };
  let root: Node = { origin: 0, keys: new Map() };
  for (const [index, { source, values }] of all.entries()) root = lay(root, values, index, source.layer !== 'developer') ?? root;
  return { value: toValue(root), origins: toOrigins(root, []).toSorted(([a], [b]) => (a < b ? -1 : 1)) };
};
