import type { JsonValue } from '@eph/contract';
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type Layer, mergeLayers } from './layers.ts';

const value = fc.jsonValue({ maxDepth: 3 }) as fc.Arbitrary<JsonValue>;
const key = fc.oneof(fc.constantFrom('a', 'b', 'c', '__proto__', 'constructor', 'toString'), fc.string());
/** Few keys, so that layers meet. */
const map = fc.letrec<{ layer: Layer; node: JsonValue }>((tie) => ({
  layer: fc.dictionary(key, tie('node'), { maxKeys: 5, noNullPrototype: true }),
  node: fc.oneof({ depthSize: 'small', withCrossShrink: true }, value, tie('layer') as fc.Arbitrary<JsonValue>),
})).layer;
const withoutNull = map.filter((layer) => !JSON.stringify(layer).includes('null'));

describe('layers, from the bottom up', () => {
  it.each<readonly [string, readonly Layer[], Layer]>([
    ['of which there are none', [], {}],
    ['the last value wins', [{ a: 1 }, { a: 2 }, { a: 3 }], { a: 3 }],
    ['an absent value falls through', [{ a: 1, b: 1 }, { a: undefined }, {}], { a: 1, b: 1 }],
    ['null removes', [{ a: 1, b: 1 }, { a: null }], { b: 1 }],
    ['what was removed can come back', [{ a: 1 }, { a: null }, { a: 2 }], { a: 2 }],
    ['null removes deep inside', [{ a: { b: 1, c: 1 } }, { a: { b: null } }], { a: { c: 1 } }],
    ['null in the lowest layer is nothing', [{ a: null, b: { c: null } }], { b: {} }],
    ['maps merge deeply', [{ a: { b: { x: 1 } } }, { a: { b: { y: 2 } } }], { a: { b: { x: 1, y: 2 } } }],
    ['lists replace', [{ a: [1, 2, 3] }, { a: [4] }], { a: [4] }],
    [
      'a map replaces a scalar, and a scalar a map',
      [
        { a: 1, b: { x: 1 } },
        { a: { x: 1 }, b: 1 },
      ],
      { a: { x: 1 }, b: 1 },
    ],
    [
      'false, zero and the empty string are values',
      [
        { a: 1, b: 1, c: 1 },
        { a: false, b: 0, c: '' },
      ],
      { a: false, b: 0, c: '' },
    ],
  ])('%s', (_, layers, expected) => {
    expect(mergeLayers(...layers)).toEqual(expected);
  });

  it('do not change by an empty layer above or below', () => {
    fc.assert(
      fc.property(map, (layer) => {
        const alone = mergeLayers(layer);
        expect(mergeLayers({}, layer)).toEqual(alone);
        expect(mergeLayers(layer, {})).toEqual(alone);
      }),
    );
  });

  it('do not change by being laid twice', () => {
    fc.assert(
      fc.property(map, (layer) => {
        expect(mergeLayers(layer, layer)).toEqual(mergeLayers(layer));
      }),
    );
  });

  it('without removals may be merged in any grouping', () => {
    fc.assert(
      fc.property(withoutNull, withoutNull, withoutNull, (a, b, c) => {
        expect(mergeLayers(mergeLayers(a, b), c)).toEqual(mergeLayers(a, mergeLayers(b, c)));
      }),
    );
  });

  it('give every scalar of the top layer, and nothing for its nulls', () => {
    fc.assert(
      fc.property(map, map, (below, above) => {
        const merged = mergeLayers(below, above);
        const scalars = Object.entries(above).filter(([, one]) => typeof one !== 'object' || one === null);
        expect(scalars.filter(([name, one]) => (Object.hasOwn(merged, name) ? merged[name] : null) !== one)).toEqual([]);
      }),
    );
  });

  it('leave no null behind outside of lists', () => {
    const nulls = (one: JsonValue): boolean =>
      one === null || (typeof one === 'object' && !Array.isArray(one) && Object.values(one).some(nulls));
    fc.assert(fc.property(fc.array(map), (layers) => !nulls(mergeLayers(...layers))));
  });

  it('stay as they were, and share no map with the result', () => {
    fc.assert(
      fc.property(map, map, (below, above) => {
        const before = structuredClone([below, above]);
        const merged = mergeLayers(below, above);
        for (const one of Object.values(merged))
          if (typeof one === 'object' && !Array.isArray(one)) Object.assign(one ?? {}, { changed: true });
        expect([below, above]).toEqual(before);
      }),
    );
  });

  it('cannot reach a prototype', () => {
    const hostile = JSON.parse(
      '{ "__proto__": { "polluted": true }, "constructor": { "prototype": { "polluted": true } } }',
    ) as Layer;
    const merged = mergeLayers({ a: {} }, hostile, { a: hostile as JsonValue });
    expect(Object.getPrototypeOf(merged)).toBe(Object.prototype);
    expect(Object.hasOwn(merged, '__proto__')).toBe(true);
    expect({}).not.toHaveProperty('polluted');
    expect(merged).not.toHaveProperty('polluted');
  });
});
