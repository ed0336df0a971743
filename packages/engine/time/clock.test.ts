import { setTimeout as sleep } from 'node:timers/promises';
import { describe } from 'vitest';
import { describeClock } from './clock.contract.ts';
import { ManualClock } from './clock.fake.ts';
import { systemClock } from './system-clock.ts';

describe('the system clock', () => {
  describeClock(() => ({ clock: systemClock, pass: (ms) => sleep(ms) }));
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
