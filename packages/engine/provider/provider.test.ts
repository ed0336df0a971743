import {
  commitSha,
  componentName,
  environmentId,
  environmentName,
  type Identity,
  projectId,
  providerName,
  type ResolvedComponent,
  revision,
} from '@eph/contract';
import { describe, expect, it } from 'vitest';
import { ManualClock } from '../time/clock.fake.ts';
import { describeProvider, type ProviderHarness } from './provider.contract.ts';
import { type Behaviour, createFakeInfrastructure, FakeProvider, type FakeProviderOptions } from './provider.fake.ts';

const identity: Identity = {
  id: environmentId('0'.repeat(16)),
  name: environmentName('shop-calm-bay-1234'),
  project: projectId('shop'),
  source: { kind: 'branch', name: 'preview/a' },
  createdAt: '2026-01-05T09:00:00.000Z',
};

const web: ResolvedComponent = {
  name: componentName('web'),
  provider: providerName('process'),
  commit: commitSha('1'.repeat(40)),
  artifact: 'tree',
  entry: false,
  dependsOn: [],
  values: {},
  revision: revision('1'.repeat(16)),
};

const createHarness = (options: Partial<FakeProviderOptions> = {}): Promise<ProviderHarness> => {
  const infrastructure = createFakeInfrastructure();
  const clock = new ManualClock();
  const behaviourOf = ({ values }: ResolvedComponent): Behaviour => values.behaviour as Behaviour;
  const start = (): FakeProvider =>
    new FakeProvider(infrastructure, { now: () => clock.now(), startMs: 1_000, behaviourOf, ...options });
  let provider = start();
  return Promise.resolve({
    provider: () => provider,
    restart: () => {
      provider = start();
      return Promise.resolve();
    },
    values: ({ behaviour }) => ({ behaviour }),
    refusedValues: { none: 'the fake understands all values' },
    until: async (check) => {
      for (let step = 0; !(await check()); step += 1) {
        if (step > 100) throw new Error('time passes, and it is still not true');
        clock.advance(500);
      }
    },
    [Symbol.asyncDispose]: () => Promise.resolve(),
  });
};

describe('the fake provider', () => {
  describeProvider(() => createHarness());
});

describe('a fake provider that removes slowly', () => {
  describeProvider(() => createHarness({ removeMs: 2_000 }));

  it('lists a component until it is gone, and makes it again only then', async () => {
    const signal = new AbortController().signal;
    const infrastructure = createFakeInfrastructure();
    let now = 0;
    const provider = new FakeProvider(infrastructure, { now: () => now, removeMs: 2_000 });
    const names = async (): Promise<readonly string[]> =>
      (await provider.list({ all: true })).items.flatMap(({ components }) => components.map(({ name }) => name));
    await provider.ensure(identity, web, signal);
    for (const call of [
      () => provider.remove(identity, web.name, signal),
      () => provider.ensure(identity, web, signal),
      () => provider.remove(identity, web.name, signal),
    ]) {
      await expect(call()).rejects.toMatchObject({ code: 'component.removing', disposition: 'wait' });
      expect(await names()).toEqual(['web']);
      now += 600;
    }
    now += 600;
    await provider.remove(identity, web.name, signal);
    expect(await names()).toEqual([]);
  });
});
