import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { describeClock } from './clock.contract.ts';
import { ManualClock } from './clock.fake.ts';
import { systemClock } from './system-clock.ts';

describe('the system clock', () => {
  describeClock(() => ({ clock: systemClock, pass: (ms) => sleep(ms) }));

  it('lets everybody who waits run before the next turn', async () => {
    const order: string[] = [];
    setImmediate(() => order.push('another'));
    await systemClock.nextTurn();
    order.push('this');
    expect(order).toEqual(['another', 'this']);
  });
});

describe('the manual clock', () => {
  describeClock(() => {
    const clock = new ManualClock();
    return {
      clock,
      pass: (ms) => {
        clock.advance(ms);
        return Promise.resolve();
      },
    };
  });
});
