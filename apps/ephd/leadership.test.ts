import { FakeLeaseStore } from '@eph/engine/history/lease.fake';
import { ManualClock } from '@eph/engine/time/clock.fake';
import { describe, expect, it } from 'vitest';
import { Leadership } from './leadership.ts';

const turns = async (): Promise<void> => {
  for (let turn = 0; turn < 50; turn += 1) await Promise.resolve();
};

describe('leadership', () => {
  it('starts one loop at a time and waits for the end of the one before', async () => {
    const history: string[] = [];
    const end = Promise.withResolvers<void>();
    const leadership = new Leadership(
      () => void history.push('lead'),
      async () => {
        history.push('resting');
        await end.promise;
        history.push('rested');
      },
    );
    leadership.take();
    await turns();
    const closed = leadership.close();
    leadership.take();
    await turns();
    expect(history).toEqual(['lead', 'resting']);
    end.resolve();
    await closed;
    await turns();
    expect(history).toEqual(['lead', 'resting', 'rested', 'lead']);
  });

  it('follows the lease', async () => {
    const clock = new ManualClock();
    const store = new FakeLeaseStore(clock);
    const history: string[] = [];
    const stop = new AbortController();
    const member = (name: string): Leadership =>
      new Leadership(
        () => void history.push(`${name} leads`),
        () => Promise.resolve(void history.push(`${name} rests`)),
      );
    const first = member('a');
    const second = member('b');
    const firstHolds = first.hold(store.join(), 'a', stop.signal);
    await turns();
    const secondStop = new AbortController();
    const secondHolds = second.hold(store.join(), 'b', secondStop.signal);
    await turns();
    expect(history).toEqual(['a leads']);
    expect(second.state).toEqual({ state: 'standby', holder: 'a' });
    stop.abort();
    await firstHolds;
    for (let second = 0; second < 30; second += 1) {
      clock.advance(1000);
      await turns();
    }
    expect(history).toContain('b leads');
    secondStop.abort();
    await secondHolds;
  });
});
