import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { keepMetadata } from './kept-fields.ts';
import type { KubeObject } from './object.ts';
import { ObjectCache } from './object-cache.ts';

const object = (
  name: string,
  version: number | string,
  labels: Record<string, string> = {},
  uid = `uid-${name}`,
): KubeObject => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { namespace: 'shop', name, uid, resourceVersion: String(version), labels },
});

const createCache = () =>
  new ObjectCache(keepMetadata, { environment: ({ metadata }) => [metadata.labels?.['environment'] ?? []].flat() });

const shownIn = (cache: ReturnType<typeof createCache>): Record<string, unknown> =>
  Object.fromEntries(cache.all().map(({ metadata: { name, labels } }) => [name, labels?.['color']]));

describe('what a cache hands out', () => {
  it('is the same while nothing changes, whatever versions come', () => {
    const cache = createCache();
    cache.put(object('web', 1, { environment: 'one' }));
    cache.put(object('api', 2, { environment: 'two' }));
    const [web, all, one] = [cache.get({ namespace: 'shop', name: 'web' }), cache.all(), cache.by('environment', 'one')];
    expect(cache.put(object('web', 3, { environment: 'one' }))).toBeUndefined();
    expect(cache.get({ namespace: 'shop', name: 'web' })).toBe(web);
    expect(cache.all()).toBe(all);
    expect(cache.put(object('api', 4, { environment: 'two', color: 'red' }))).toBe('shop/api');
    expect(cache.by('environment', 'one')).toBe(one);
    expect(cache.all()).not.toBe(all);
    expect(cache.by('environment', 'three')).toBe(cache.by('environment', 'four'));
  });

  it('follows an object from one value of an index to another', () => {
    const cache = createCache();
    cache.put(object('web', 1, { environment: 'one' }));
    expect(cache.by('environment', 'one')).toHaveLength(1);
    cache.put(object('web', 2, { environment: 'two' }));
    expect(cache.by('environment', 'one')).toEqual([]);
    expect([...cache.valuesOf('environment')]).toEqual(['two']);
    cache.remove(object('web', 3));
    expect([...cache.valuesOf('environment')]).toEqual([]);
  });
});

describe('the answer to a write', () => {
  it('is seen at once, and not undone by what the watch sends later', () => {
    const cache = createCache();
    cache.put(object('web', 5, { color: 'new' }));
    cache.put(object('web', 4, { color: 'old' }));
    expect(shownIn(cache)).toEqual({ web: 'new' });
  });

  it('survives a list that was taken before it', () => {
    const cache = createCache();
    cache.put(object('gone', 1));
    const listing = cache.beginListing();
    cache.put(object('web', 12));
    expect(listing.end('10')).toEqual(['shop/gone']);
    expect(shownIn(cache)).toEqual({ web: undefined });
  });

  it('of a deletion is final for this uid only', () => {
    const cache = createCache();
    cache.put(object('web', 5, {}, 'first'));
    expect(cache.removeForGood({ namespace: 'shop', name: 'web' }, 'first')).toBe('shop/web');
    cache.put(object('web', 6, {}, 'first'));
    expect(cache.size).toBe(0);
    cache.put(object('web', 7, {}, 'second'));
    expect(cache.removeForGood({ namespace: 'shop', name: 'web' }, 'first')).toBeUndefined();
    expect(cache.size).toBe(1);
  });
});

describe('a list', () => {
  it('that is given up removes nothing', () => {
    const cache = createCache();
    cache.put(object('web', 1));
    cache.beginListing().put(object('api', 2));
    const second = cache.beginListing();
    second.put(object('web', 1));
    expect(second.end('9')).toEqual(['shop/api']);
  });
});

describe('an object whose labels are selected again', () => {
  it('comes back', () => {
    const cache = createCache();
    cache.put(object('web', 1));
    cache.remove(object('web', 2));
    cache.put(object('web', 1));
    expect(cache.size).toBe(0);
    expect(cache.put(object('web', 3))).toBe('shop/web');
  });
});

describe('versions that are no numbers', () => {
  it('are taken as they come', () => {
    const cache = createCache();
    cache.put(object('web', 'b', { color: 'one' }));
    cache.put(object('web', 'a', { color: 'two' }));
    expect(shownIn(cache)).toEqual({ web: 'two' });
    cache.remove(object('web', 'c'));
    cache.put(object('web', 'd', { color: 'three' }));
    expect(shownIn(cache)).toEqual({ web: 'three' });
  });
});

interface Change {
  readonly version: number;
  readonly name: string;
  readonly color: string;
  readonly isDeletion: boolean;
  readonly uid: string;
}

/** What happens to a few objects, one version after the other, as the API server counts them. */
const histories = fc
  .array(fc.record({ name: fc.constantFrom('a', 'b', 'c'), color: fc.constantFrom('red', 'blue'), isDeletion: fc.boolean() }), {
    maxLength: 25,
  })
  .map((steps) => {
    const lives = new Map<string, string>();
    let born = 0;
    return steps.flatMap(({ name, color, isDeletion }, index): Change[] => {
      const alive = lives.get(name);
      if (isDeletion && alive === undefined) return [];
      const uid = alive ?? `uid-${(born += 1)}`;
      if (isDeletion) lives.delete(name);
      else lives.set(name, uid);
      return [{ version: index + 1, name, color, isDeletion, uid }];
    });
  });

const worldOf = (history: readonly Change[]): Record<string, string> => {
  const world = new Map<string, string>();
  for (const { name, color, isDeletion } of history) {
    if (isDeletion) world.delete(name);
    else world.set(name, color);
  }
  return Object.fromEntries(world);
};

const asObject = ({ name, version, color, uid }: Change): KubeObject => object(name, version, { color, environment: color }, uid);

const take = (cache: ReturnType<typeof createCache>, change: Change): void => {
  if (change.isDeletion) cache.remove(asObject(change));
  else cache.put(asObject(change));
};

const expectWorld = (cache: ReturnType<typeof createCache>, world: Record<string, string>): void => {
  expect(shownIn(cache)).toEqual(world);
  for (const color of ['red', 'blue']) {
    const names = cache.by('environment', color).map(({ metadata }) => metadata.name);
    expect(names.toSorted()).toEqual(
      Object.keys(world)
        .filter((name) => world[name] === color)
        .toSorted(),
    );
  }
};

describe('any history', () => {
  it('leads to the same world, in whichever order and how often its changes come', () => {
    const shuffled = histories.chain((history) =>
      fc.tuple(fc.constant(history), fc.shuffledSubarray([...history, ...history], { minLength: history.length * 2 })),
    );
    fc.assert(
      fc.property(shuffled, ([history, events]) => {
        const cache = createCache();
        for (const event of events) take(cache, event);
        expectWorld(cache, worldOf(history));
      }),
    );
  });

  it('leads to the same world with a list at any version, while changes and answers to writes come', () => {
    const cases = histories.chain((history) =>
      fc.record({
        history: fc.constant(history),
        before: fc.shuffledSubarray(history),
        listedAt: fc.nat({ max: history.length }),
        during: fc.shuffledSubarray(history),
        late: fc.shuffledSubarray(history),
      }),
    );
    fc.assert(
      fc.property(cases, ({ history, before, listedAt, during, late }) => {
        const cache = createCache();
        for (const event of before) take(cache, event);
        const shown = history.slice(0, listedAt);
        const listedVersion = shown.at(-1)?.version ?? 0;
        const listing = cache.beginListing();
        const latest = new Map(shown.map((change) => [change.name, change]));
        for (const change of latest.values()) if (!change.isDeletion) listing.put(asObject(change));
        for (const event of during) take(cache, event);
        listing.end(String(listedVersion));
        // The watch goes on from there.
        for (const event of history.slice(listedAt)) take(cache, event);
        for (const event of late) take(cache, event);
        expectWorld(cache, worldOf(history));
      }),
    );
  });
});
