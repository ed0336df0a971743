import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { parseChallenges } from './challenge.ts';

const plain = (header: string) =>
  parseChallenges(header).map(({ scheme, parameters }) => [scheme, Object.fromEntries(parameters)]);

describe('challenges', () => {
  it.each<[string, unknown]>([
    ['', []],
    ['Basic', [['basic', {}]]],
    ['Basic realm="Registry Realm"', [['basic', { realm: 'Registry Realm' }]]],
    [
      'Bearer realm="https://gcr.io/v2/token",service=gcr.io',
      [['bearer', { realm: 'https://gcr.io/v2/token', service: 'gcr.io' }]],
    ],
    ['BEARER  Realm = "x" , SCOPE="a b:c,d"', [['bearer', { realm: 'x', scope: 'a b:c,d' }]]],
    [
      'Negotiate, Basic realm="a, Bearer b", Bearer realm="https://x/token",error="insufficient_scope"',
      [
        ['negotiate', {}],
        ['basic', { realm: 'a, Bearer b' }],
        ['bearer', { realm: 'https://x/token', error: 'insufficient_scope' }],
      ],
    ],
    ['Bearer realm="a\\"b\\\\c"', [['bearer', { realm: 'a"b\\c' }]]],
    ['Bearer realm="never closed', [['bearer', {}]]],
    ['realm="without a scheme"', []],
    ['Bearer realm="x" ;;; service="y"', [['bearer', { realm: 'x' }]]],
  ])('of %j', (header, expected) => {
    expect(plain(header)).toEqual(expected);
  });

  it('are read of any text, in time', () => {
    const texts = fc.string({ unit: fc.constantFrom('a', '"', '\\', '=', ',', ' ', '\t', ';', '~'), maxLength: 2_000 });
    fc.assert(fc.property(texts, (header) => parseChallenges(header).length <= header.length));
    for (const part of [' ', ',', '"', '\\', 'a ', 'a=', 'a="', 'a, ', '\t,'])
      expect(parseChallenges(part.repeat(16_000))).toBeDefined();
  });
});
