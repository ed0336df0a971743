import { type ComponentName, componentName } from '@eph/contract';
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type GraphNode, orderByNeed } from './order.ts';

const node = (name: string, ...needs: string[]): GraphNode => ({
  name: componentName(name),
  needs: new Map(needs.map((one) => [componentName(one), `outputs/${one}/url`])),
});
const names = (nodes: readonly GraphNode[]): readonly string[] => nodes.map((one) => one.name);

/** Components that need only earlier ones, given in any order. */
const acyclic = fc
  .array(fc.array(fc.nat(), { maxLength: 4 }), { maxLength: 40 })
  .map((needs) =>
    needs.map((targets, index) => node(`c${index}`, ...(index === 0 ? [] : targets.map((target) => `c${target % index}`)))),
  );

describe('the order of need', () => {
  it('puts each component after what it needs, and each once', () => {
    const shuffled = acyclic.chain((nodes) => fc.shuffledSubarray(nodes, { minLength: nodes.length }));
    fc.assert(
      fc.property(shuffled, (nodes) => {
        const ordered = orderByNeed(nodes);
        expect(names(ordered).toSorted()).toEqual(names(nodes).toSorted());
        const place = new Map(ordered.map((one, index) => [one.name, index]));
        const misplaced = ordered.filter((one) =>
          [...one.needs.keys()].some((need) => (place.get(need) ?? 0) > (place.get(one.name) ?? 0)),
        );
        expect(misplaced).toEqual([]);
      }),
    );
  });

  it('is the order of the file where nobody needs anybody', () => {
    expect(names(orderByNeed([node('web'), node('api'), node('mail')]))).toEqual(['web', 'api', 'mail']);
  });

  it('is the same for the same file', () => {
    fc.assert(
      fc.property(acyclic, (nodes) => {
        expect(orderByNeed(nodes)).toEqual(orderByNeed(nodes));
      }),
    );
  });

  it('bears a chain of a hundred thousand components, from either end', () => {
    const chain = Array.from({ length: 100_000 }, (_, index) => (index === 0 ? node('c0') : node(`c${index}`, `c${index - 1}`)));
    expect(orderByNeed(chain)[0]?.name).toBe('c0');
    expect(orderByNeed(chain.toReversed()).at(-1)?.name).toBe('c99999');
  });
});

describe('a need that can never be met', () => {
  it.each<readonly [string, readonly GraphNode[], string, string]>([
    ['of itself', [node('api', 'api')], 'reference.cycle', 'components need each other in a circle: api → api'],
    [
      'of each other',
      [node('web', 'api'), node('api', 'web')],
      'reference.cycle',
      'components need each other in a circle: web → api → web',
    ],
    [
      'in a circle behind others names only the circle',
      [node('entry', 'a'), node('a', 'b'), node('b', 'c'), node('c', 'a')],
      'reference.cycle',
      'components need each other in a circle: a → b → c → a',
    ],
    [
      'of nothing there is, with the name that was probably meant',
      [node('web', 'apl'), node('api')],
      'reference.unknown',
      'component web: outputs/apl/url names no component; did you mean "api"?',
    ],
    [
      'of nothing there is, with all names there are',
      [node('web', 'database'), node('api')],
      'reference.unknown',
      'component web: outputs/database/url names no component; there is: web, api',
    ],
  ])('%s', (_, nodes, code, message) => {
    expect(() => orderByNeed(nodes)).toThrow(expect.objectContaining({ code, message }));
  });

  it('is found wherever one edge closes a circle', () => {
    const circle = fc.integer({ min: 1, max: 30 }).chain((length) => fc.tuple(fc.constant(length), fc.nat(length - 1)));
    fc.assert(
      fc.property(circle, ([length, start]) => {
        const nodes = Array.from({ length }, (_, index) => node(`c${index}`, `c${(index + 1) % length}`));
        const rotated = [...nodes.slice(start), ...nodes.slice(0, start)];
        const path = [...rotated, rotated[0]].map((one) => one?.name).join(' → ');
        expect(() => orderByNeed(rotated)).toThrow(`circle: ${path}`);
      }),
    );
  });

  it('reads no name from a prototype', () => {
    const odd: GraphNode = {
      name: componentName('web'),
      needs: new Map([['constructor' as ComponentName, 'outputs/constructor/url']]),
    };
    expect(() => orderByNeed([odd])).toThrow('names no component');
  });
});
