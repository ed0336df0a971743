import { expect, it } from 'vitest';
import type { Clock } from './clock.ts';

export interface ClockHarness {
  readonly clock: Clock;
  /** Lets at least this much time go by on the clock. */
  pass(ms: number): Promise<void>;
}

export const describeClock = (create: () => ClockHarness): void => {
  it('moves forward by what passes', async () => {
    const { clock, pass } = create();
    const before = clock.now();
    await pass(20);
    expect(clock.now()).toBeGreaterThanOrEqual(before + 19);
  });

  it('calls back once, not earlier than asked', async () => {
    const { clock, pass } = create();
    const calls: number[] = [];
    const start = clock.now();
    clock.after(20, () => calls.push(clock.now() - start));
    expect(calls).toEqual([]);
    await pass(60);
    expect(calls).toHaveLength(1);
    expect(calls[0]).toBeGreaterThanOrEqual(19);
  });

  it('never calls back what was cancelled, and cancelling twice is harmless', async () => {
    const { clock, pass } = create();
    let called = false;
    const cancel = clock.after(10, () => {
      called = true;
    });
    cancel();
    cancel();
    await pass(40);
    expect(called).toBe(false);
  });

  it('goes on after a turn of others, without time having to pass', async () => {
    const { clock } = create();
    const turns = Promise.all([clock.nextTurn(), clock.nextTurn()]);
    await expect(turns).resolves.toHaveLength(2);
  });

  it('calls back in order of time', async () => {
    const { clock, pass } = create();
    const order: string[] = [];
    clock.after(40, () => order.push('later'));
    clock.after(5, () => order.push('sooner'));
    await pass(80);
    expect(order).toEqual(['sooner', 'later']);
  });
};
