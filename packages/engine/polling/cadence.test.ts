import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { passIntervalMs } from './cadence.ts';

const never = Number.NEGATIVE_INFINITY;
const minutes = 60_000;
const middle = (): number => 0.5;

describe('the next pass', () => {
  it.each([
    ['on a Monday comes after 30 s', '2026-01-05T09:00:00Z', never, 30_000],
    ['at the end of a Friday comes after 30 s', '2026-01-09T23:59:59Z', never, 30_000],
    ['on a Saturday comes after two minutes', '2026-01-10T00:00:00Z', never, 120_000],
    ['on a Sunday comes after two minutes', '2026-01-11T23:59:59Z', never, 120_000],
    ['soon after activity comes after 10 s', '2026-01-05T09:00:00Z', 0, 10_000],
    ['almost two minutes after activity comes after 10 s', '2026-01-05T09:00:00Z', -2 * minutes + 1, 10_000],
    ['two minutes after activity comes after 30 s again', '2026-01-05T09:00:00Z', -2 * minutes, 30_000],
    ['on a busy Sunday comes after 10 s', '2026-01-11T12:00:00Z', -1 * minutes, 10_000],
    ['is not put off by a clock that was set back', '2026-01-05T09:00:00Z', 60 * minutes, 10_000],
  ])('%s', (_, at, activity, expected) => {
    const now = Date.parse(at);
    expect(passIntervalMs(now, now + activity, middle)).toBe(expected);
  });

  it('comes up to a tenth earlier or later, and never stops coming', () => {
    const moment = fc.integer({ min: Date.parse('2026-01-01'), max: Date.parse('2027-01-01') });
    const chance = fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true });
    fc.assert(
      fc.property(moment, fc.integer({ min: 0, max: 300_000 }), chance, (now, ago, random) => {
        const whole = passIntervalMs(now, now - ago, middle);
        const interval = passIntervalMs(now, now - ago, () => random);
        expect(interval).toBeGreaterThanOrEqual(whole * 0.9);
        expect(interval).toBeLessThan(whole * 1.1 + 1e-6);
        expect(interval).toBeLessThanOrEqual(132_000);
      }),
    );
  });
});
