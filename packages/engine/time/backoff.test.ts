import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { backoffMs } from './backoff.ts';

describe('the wait before another try', () => {
  it.each([
    [1, 5],
    [2, 10],
    [3, 20],
    [10, 2560],
    [18, 655_360],
    [19, 1_000_000],
    [20, 1_000_000],
    [1_000_000, 1_000_000],
  ])('after failure %i is at most %i ms, and at least half of that', (failures, most) => {
    expect(backoffMs(failures, () => 1)).toBe(most);
    expect(backoffMs(failures, () => 0)).toBe(most / 2);
    expect(backoffMs(failures, () => 0.5)).toBe(most * 0.75);
  });

  it('never shrinks by failing more often, however the dice fall', () => {
    const chance = fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true });
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 60 }), chance, chance, (failures, one, other) => {
        expect(backoffMs(failures + 1, () => one)).toBeGreaterThanOrEqual(backoffMs(failures, () => 0));
        expect(backoffMs(failures + 2, () => one)).toBeGreaterThanOrEqual(
          Math.min(
            500_000,
            backoffMs(failures, () => other),
          ),
        );
      }),
    );
  });
});
