import { silentLog } from '@eph/contract';
import { describe, expect, it } from 'vitest';
import { everyInterval, StallWatch } from './stall-watch.ts';

const start = () => {
  const world = { now: 0, tick: () => {}, logged: [] as object[] };
  const watch = new StallWatch({
    now: () => world.now,
    every: (_, tick) => {
      world.tick = tick;
      return { [Symbol.dispose]: () => {} };
    },
    log: { ...silentLog, warn: (fields) => void world.logged.push(fields) },
  });
  const pass = (ms: number): void => {
    world.now += ms;
    world.tick();
  };
  return { world, watch, pass };
};

describe('the longest stall', () => {
  it('is nothing while ticks are on time', () => {
    const { watch, pass } = start();
    for (let count = 0; count < 10; count += 1) pass(100);
    expect(watch.longest.milliseconds).toBe(0);
  });

  it('names what ran, also if it has ended, and nothing that ended before', () => {
    const { watch, pass } = start();
    watch.began('project:old');
    watch.ended('project:old');
    pass(100);
    watch.began('project:shop');
    watch.began('environment:1');
    watch.ended('project:shop');
    pass(500);
    expect(watch.longest).toEqual({ milliseconds: 400, during: 'project:shop, environment:1' });
    pass(300);
    expect(watch.longest.milliseconds).toBe(400);
  });

  it('names a few of many, and says so where it is none of the loop', () => {
    const { watch, pass } = start();
    pass(150);
    expect(watch.longest.during).toBe('requests');
    for (let key = 1; key <= 20; key += 1) watch.began(`environment:${key}`);
    pass(500);
    expect(watch.longest.during).toMatch(/^environment:1, .*environment:5 and 15 more$/);
  });

  it('is logged once it takes a second', () => {
    const { watch, world, pass } = start();
    pass(900);
    watch.began('pass');
    pass(1_600);
    pass(1_600);
    expect(world.logged).toEqual([{ milliseconds: 1_500, during: 'pass' }]);
  });

  it('is found in a real event loop', async () => {
    using watch = new StallWatch({ now: () => performance.now(), every: everyInterval, log: silentLog });
    watch.began('project:slow');
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 400);
    await expect.poll(() => watch.longest.milliseconds).toBeGreaterThan(250);
    expect(watch.longest.during).toBe('project:slow');
  });
});
