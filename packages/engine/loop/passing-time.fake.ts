import type { ManualClock } from '../time/clock.fake.ts';
import type { Engine } from './engine.ts';

/** Lets the loop run for a while: everything that falls due is looked at. */
export const letTimePass = async (engine: Pick<Engine, 'idle'>, clock: ManualClock, seconds: number): Promise<void> => {
  const end = clock.now() + seconds * 1000;
  for (;;) {
    await engine.idle();
    const due = clock.nextDue();
    if (due === undefined || due > end) break;
    clock.advance(Math.max(0, due - clock.now()));
  }
  clock.advance(Math.max(0, end - clock.now()));
  await engine.idle();
};
