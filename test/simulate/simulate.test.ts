import { describe, expect, it } from 'vitest';
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
    await expectNoViolation(seed, await simulate({ seed, steps: 20_000 }));
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

  /** Which invariant shows a fault first depends on the seed; without the plant the same steps violate none. */
  const planted: readonly PlantName[] = [
    'stale-source',
    'leaky-removal',
    'two-daemons',
    'moved-left-behind',
    'partial-removal',
    'hold-lost',
    'made-twice',
  ];
  it.each(planted)('finds the planted fault %s within 10,000 steps', async (plant) => {
    const { finding } = await simulate({ seed: 7, steps: 10_000, plant });
    expect(finding?.violation.invariant).toEqual(expect.any(String));
  });

  it('shortens a history that ends with the same violation', { timeout: timeoutMs }, async () => {
    const { finding, steps } = await simulate({ seed: 7, steps: 50_000, plant: 'stale-source' });
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
