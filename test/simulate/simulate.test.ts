import { describe, expect, it } from 'vitest';
import type { Invariant } from './invariants.ts';
import type { PlantName } from './plants.ts';
import { shrink } from './shrink.ts';
import { printShortest, type Simulation, shortestEpisode, simulate } from './simulate.ts';

/** Shrinking a history takes a while. It happens only if a violation was found. */
const timeoutMs = 300_000;

const expectNoViolation = async (seed: number, { finding }: Simulation): Promise<void> => {
  const history = finding === undefined ? '' : await printShortest(finding);
  expect(finding?.violation, `seed ${seed}, episode ${finding?.episode}\n${history}`).toBeUndefined();
};

describe('the engine under simulated faults', () => {
  it.each([1, 7, 42])('violates no invariant, with seed %i', { timeout: timeoutMs }, async (seed) => {
    await expectNoViolation(seed, await simulate({ seed, steps: 5_000 }));
  });

  it('violates no invariant, with a new seed', { timeout: timeoutMs }, async () => {
    const seed = Math.floor(Math.random() * 2 ** 32);
    console.log(`simulating with the new seed ${seed}`);
    await expectNoViolation(seed, await simulate({ seed, steps: 10_000 }));
  });
});

describe('the simulation', () => {
  it('is a function of its seed', async () => {
    const first = await simulate({ seed: 3, steps: 5_000 });
    expect(await simulate({ seed: 3, steps: 5_000 })).toEqual(first);
    expect((await simulate({ seed: 4, steps: 5_000 })).digest).not.toBe(first.digest);
  });

  it.each([1, 7, 42])('finds within 10,000 steps that the deletion guard is off, with seed %i', async (seed) => {
    const { finding } = await simulate({ seed, steps: 10_000, plant: 'guard-off' });
    expect(['deletions per pass are bounded', 'no removal on an incomplete reading']).toContain(finding?.violation.invariant);
  });

  const diverging: readonly Invariant[] = ['environments converge', 'environments converge while one provider is away'];
  /** What is left behind may first be noticed by what it uses. */
  const leftBehind: readonly Invariant[] = ['nothing is left behind', 'nothing in use is stopped', ...diverging];
  const planted: readonly [PlantName, readonly Invariant[]][] = [
    ['stale-source', ['nothing wanted is removed', 'a moved component is removed last']],
    ['leaky-removal', leftBehind],
    ['two-daemons', ['one run per key']],
    ['moved-left-behind', leftBehind],
    // Names that an incomplete listing hides are taken for free.
    ['partial-removal', ['no removal on an incomplete reading', 'no environment is made twice']],
    // A hold that cannot be seen is not taken away, either.
    ['hold-lost', ['what is held stays', ...diverging]],
    ['made-twice', ['no environment is made twice']],
    ['newest-image', ['a version runs the image of its commit']],
    ['failure-as-missing', ['nothing unread is changed']],
  ];
  it.each(planted)('finds the planted fault %s within 10,000 steps', async (plant, invariants) => {
    const { finding } = await simulate({ seed: 42, steps: 10_000, plant });
    expect(invariants).toContain(finding?.violation.invariant);
  });

  it('shortens a history that ends with the same violation', { timeout: timeoutMs }, async () => {
    const { finding, steps } = await simulate({ seed: 1, steps: 50_000, plant: 'stale-source' });
    if (finding === undefined) throw new Error('the planted fault was not found');
    const { history, violation } = await shortestEpisode(finding);
    expect(violation?.invariant).toBe(finding.violation.invariant);
    expect(history.length).toBeLessThan(steps / 4);
    expect(history.at(-1)).toMatch(/source .* returns$/);
  });
});

describe('shrinking', () => {
  const numbers = Array.from({ length: 100 }, (_, index) => index);
  const needs =
    (...needed: readonly number[]) =>
    (some: readonly number[]): Promise<{ failed: boolean; cost: number }> =>
      Promise.resolve({ failed: needed.every((one) => some.includes(one)), cost: 1 });

  it('leaves exactly what is needed, in order', async () => {
    expect(await shrink(numbers, needs(3, 50, 51, 99), 10_000)).toEqual([3, 50, 51, 99]);
  });

  it('stops when its budget is spent, with what it has by then', async () => {
    const some = await shrink(numbers, needs(3, 50, 99), 5);
    expect(some.length).toBeLessThan(100);
    expect(some).toEqual(expect.arrayContaining([3, 50, 99]));
  });
});
