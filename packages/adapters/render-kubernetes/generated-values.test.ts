import type { JsonMap } from '@eph/contract';
import { describe, expect, it } from 'vitest';
import { markGenerated } from './generated-values.ts';
import { type Manifest, ManifestFaults } from './manifest.ts';

const manifest = (more: JsonMap, name = 'a'): Manifest => ({
  object: { apiVersion: 'v1', kind: 'Secret', metadata: { name }, ...more },
  file: 'chart/templates/a.yaml',
  line: null,
  place: () => undefined,
});

const mark = (first: JsonMap, second: JsonMap) => markGenerated([manifest(first)], [manifest(second)])[0];

describe('what differs between two renderings', () => {
  it('is nothing where they are the same', () => {
    expect(mark({ data: { a: 'b', list: [1, { c: null }] } }, { data: { a: 'b', list: [1, { c: null }] } })).not.toHaveProperty(
      'generated',
    );
  });

  it('is marked, and keeps no value where it was', () => {
    expect(mark({ data: { 'a/b~c': 'one', same: 'x' } }, { data: { 'a/b~c': 'two', same: 'x' } })).toMatchObject({
      object: { data: { 'a/b~c': null, same: 'x' } },
      generated: { '/data/a~1b~0c': 'one' },
    });
  });

  it('is as small as it can be, also in lists', () => {
    expect(mark({ list: [{ v: 1 }, { v: 2 }] }, { list: [{ v: 1 }, { v: 3 }] })?.generated).toEqual({ '/list/1/v': 2 });
    expect(mark({ list: [1] }, { list: [1, 2] })?.generated).toEqual({ '/list': [1] });
    expect(mark({ map: { a: 1 } }, { map: { b: 1 } })?.generated).toEqual({ '/map': { a: 1 } });
  });

  it('is the same whichever rendering comes first', () => {
    const [a, b] = [{ data: { p: '1', q: { r: [1, 2] } } }, { data: { p: '2', q: { r: [1, 3] } } }];
    expect(mark(a, b)?.object).toEqual(mark(b, a)?.object);
  });

  it('cannot be the name of an object', () => {
    expect(() => markGenerated([manifest({}, 'a-x1')], [manifest({}, 'a-y2')])).toThrow(ManifestFaults);
  });
});
