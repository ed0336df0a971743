import { completeReading } from '@eph/contract';
import { describe, expect, it } from 'vitest';
import type { EnvironmentReading } from '../provider/observe.ts';
import { EngineHarness } from './engine-harness.fake.ts';

const spec = `version: "1.0"
name: shop
process:
  services:
    web: { command: run web, entry: true }
extras:
  cache: {}
`;

/** An environment that is ready, with a component on each of two providers. */
const start = async () => {
  const harness = new EngineHarness();
  harness.configured = [
    { name: 'process', type: 'process' },
    { name: 'toys', type: 'toy' },
  ];
  harness.start();
  harness.push('preview/a', spec);
  await harness.live(60);
  const { id } = harness.only();
  const { signal } = new AbortController();
  const toys = [...harness.providers.values()].find(({ name }) => name === 'toys');
  if (toys === undefined) throw new Error('there are two providers');
  return { harness, toys, look: () => harness.engine.look(id, signal) };
};

const shown = ({ observed }: EnvironmentReading): readonly string[] =>
  (observed?.components ?? [])
    .map(({ name, current, parts }) => `${name}: ${current?.health}, ${parts === undefined ? 'seen last' : 'seen now'}`)
    .toSorted();

const cacheSeenLast = ['cache: ready, seen last', 'web: ready, seen now'];

describe('a look at an environment', () => {
  it('shows what its providers show', async () => {
    const { look } = await start();
    const reading = await look();
    expect(shown(reading)).toEqual(['cache: ready, seen now', 'web: ready, seen now']);
    expect(reading.incomplete.size).toBe(0);
  });

  it('shows what a provider that is away has as it was seen last', async () => {
    const { harness, look } = await start();
    harness.away.add('toys');
    const reading = await look();
    expect(shown(reading)).toEqual(cacheSeenLast);
    expect([...reading.incomplete.keys()]).toEqual(['toys']);
    harness.away.add('process');
    expect(shown(await look())).toEqual(['cache: ready, seen last', 'web: ready, seen last']);
  });

  it('shows what of it could not be read as it was seen last', async () => {
    const { toys, look } = await start();
    const list = toys.list.bind(toys);
    toys.list = async (scope) => {
      const { items } = await list(scope);
      return completeReading(items.map((one) => ({ ...one, components: [], complete: false })));
    };
    expect(shown(await look())).toEqual(cacheSeenLast);
  });

  it('shows no component that is gone', async () => {
    const { harness, look } = await start();
    harness.infrastructureOf('toys').environments.clear();
    expect(shown(await look())).toEqual(['web: ready, seen now']);
    harness.infrastructure.environments.clear();
    expect(shown(await look())).toEqual([]);
  });

  it('waits a few seconds for a provider, which therefore does not count as one that hangs', async () => {
    const { harness, toys, look } = await start();
    const list = toys.list.bind(toys);
    toys.list = () => Promise.race([]);
    const looking = look();
    for (let turn = 0; turn < 20; turn += 1) await Promise.resolve();
    harness.clock.advance(4_000);
    expect(shown(await looking)).toEqual(cacheSeenLast);
    toys.list = list;
    expect((await look()).incomplete.size).toBe(0);
  });
});
