import type { ResolvedComponent } from '@eph/contract';
import { describe } from 'vitest';
import { ManualClock } from '../loop/clock.fake.ts';
import { describeProvider } from './provider.contract.ts';
import { type Behaviour, createFakeInfrastructure, FakeProvider } from './provider.fake.ts';

describe('the fake provider', () => {
  describeProvider(() => {
    const infrastructure = createFakeInfrastructure();
    const clock = new ManualClock();
    const behaviourOf = ({ values }: ResolvedComponent): Behaviour => values.behaviour as Behaviour;
    const start = (): FakeProvider => new FakeProvider(infrastructure, { now: () => clock.now(), startMs: 1_000, behaviourOf });
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
  });
});
