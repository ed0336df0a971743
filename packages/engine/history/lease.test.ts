import { describe } from 'vitest';
import { ManualClock } from '../time/clock.fake.ts';
import { describeLease } from './lease.contract.ts';
import { FakeLeaseStore } from './lease.fake.ts';

describe('the fake lease', () => {
  describeLease(() => {
    const clock = new ManualClock();
    const store = new FakeLeaseStore(clock);
    return Promise.resolve({
      join: () => {
        const lease = store.join();
        return { lease, crash: () => Promise.resolve(lease.crash()) };
      },
      fail: () => Promise.resolve(store.fail()),
      recover: () => Promise.resolve(store.recover()),
      wait: () => Promise.resolve(clock.advance(500)),
      [Symbol.asyncDispose]: () => Promise.resolve(),
    });
  });
});
