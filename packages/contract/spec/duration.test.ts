import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { parseDuration, printDuration } from './duration.ts';

describe('a duration', () => {
  it.each([
    ['500ms', 0.5],
    ['0s', 0],
    ['90s', 90],
    ['1h30m', 5400],
    ['1.5h', 5400],
    ['72h', 259_200],
    ['7d', 604_800],
    ['2w', 1_209_600],
    ['30m1h', 5400],
  ])('%s is %d seconds', (text, seconds) => {
    expect(parseDuration(text)).toBe(seconds);
  });

  it.each(['', '5', 's', '-1s', '1 s', ' 1s', '1s ', '1y', '1S', '1e3s', '.5s', '1.s', '1s,2m', '٣s', `${'9'.repeat(400)}s`])(
    '%j is none',
    (text) => {
      expect(parseDuration(text)).toBeUndefined();
    },
  );

  it.each([
    [0, '0s'],
    [0.5, '500ms'],
    [90, '1m30s'],
    [259_200, '3d'],
    [604_800, '7d'],
    [90_061.001, '1d1h1m1s1ms'],
  ])('of %d seconds is printed as %s', (seconds, text) => {
    expect(printDuration(seconds)).toBe(text);
  });

  it('is the same after printing and reading again, to the millisecond', () => {
    fc.assert(
      fc.property(fc.nat(4_000_000_000), (milliseconds) => {
        expect(parseDuration(printDuration(milliseconds / 1000))).toBeCloseTo(milliseconds / 1000, 6);
      }),
      { numRuns: 2000 },
    );
  });

  it('of any text is a finite number of seconds or none', () => {
    fc.assert(
      fc.property(fc.oneof(fc.string(), fc.stringMatching(/^[0-9.]{0,20}(ms|s|m|h|d|w)?$/)), (text) => {
        const seconds = parseDuration(text);
        expect(seconds === undefined || (Number.isFinite(seconds) && seconds >= 0)).toBe(true);
      }),
      { numRuns: 2000 },
    );
  });
});
