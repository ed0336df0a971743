import type { JsonMap, Layer, LayerName } from '@eph/contract';
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { mergeLayers } from './layers.fake.ts';
import { Resolutions } from './resolution.ts';

const layer = (name: LayerName, values: JsonMap): Layer => ({
  source: { layer: name, file: null, commit: null, place: () => undefined },
  values,
});

const four = (): readonly Layer[] => [
  layer('default', { replicas: 1, env: { A: 'default' } }),
  layer('cluster', { replicas: 3, env: { B: 'cluster' } }),
  layer('developer', { env: { A: 'developer' } }),
  layer('override', { replicas: 10 }),
];

describe('the resolution of a component', () => {
  it('holds the merged values, and the layer of each', () => {
    const { values, origins } = new Resolutions().resolve('web', four());
    expect(values).toEqual({ replicas: 10, env: { A: 'developer', B: 'cluster' } });
    expect(origins).toEqual({ replicas: 3, env: { A: 2, B: 1 } });
  });

  it('is the same object while its values are the same objects, wherever they are said to stand', () => {
    const resolutions = new Resolutions();
    const layers = four();
    const first = resolutions.resolve('web', layers);
    expect(resolutions.resolve('web', layers)).toBe(first);
    expect(resolutions.resolve('web', [...layers])).toBe(first);
    const readAgain = layers.map(({ source, values }) => ({ source: { ...source, commit: 'f'.repeat(40) }, values }));
    expect(resolutions.resolve('web', readAgain)).toBe(first);
  });

  it.each([0, 1, 2, 3])('is another one when layer %i changes, and no other component is concerned', (changed) => {
    const resolutions = new Resolutions();
    const layers = four();
    const [web, api] = [resolutions.resolve('web', layers), resolutions.resolve('api', layers)];
    const others = layers.map((one, index) => (index === changed ? { ...one, values: { directory: 'x' } } : one));
    const next = resolutions.resolve('web', others);
    expect(next).not.toBe(web);
    expect({ values: next.values, origins: next.origins }).toEqual(mergeLayers(others));
    expect(resolutions.resolve('api', layers)).toBe(api);
  });

  it('is another one when a layer comes or goes', () => {
    const resolutions = new Resolutions();
    const layers = four();
    resolutions.resolve('web', layers);
    expect(resolutions.resolve('web', layers.slice(0, 3)).values['replicas']).toBe(3);
    expect(resolutions.resolve('web', layers).values['replicas']).toBe(10);
  });
});

describe('components that share layers', () => {
  const values = fc.dictionary(
    fc.constantFrom('a', 'b', 'c'),
    fc.oneof(fc.nat(9), fc.constant(null), fc.dictionary(fc.constantFrom('x', 'y'), fc.oneof(fc.nat(9), fc.constant(null)))),
    { noNullPrototype: true },
  );
  const pool = fc.array(fc.tuple(fc.constantFrom('default', 'cluster', 'developer', 'override'), values), {
    minLength: 1,
    maxLength: 6,
  });
  const asks = fc.array(fc.tuple(fc.constantFrom('web', 'api'), fc.array(fc.nat(5), { maxLength: 6 })), { maxLength: 20 });

  it('get what each would get alone, in whatever order they come', () => {
    fc.assert(
      fc.property(pool, asks, (contents, order) => {
        const all = contents.map(([name, content]) => layer(name, content));
        const resolutions = new Resolutions();
        for (const [component, indexes] of order) {
          const layers = indexes.flatMap((index) => all[index % all.length] ?? []);
          const resolution = resolutions.resolve(component, layers);
          expect({ values: resolution.values, origins: resolution.origins }).toEqual(mergeLayers(layers));
        }
      }),
    );
  });
});
