import { expect, it } from 'vitest';
import { githubSecondaryLimits, SecondaryLimits } from './secondary-limits.ts';

it('refuses requests while too many are in progress, for a minute at most', () => {
  const limits = new SecondaryLimits({ ...githubSecondaryLimits, concurrent: 3 }, () => 0);
  expect([1, 2, 3].map(() => limits.enter('a', 'GET'))).toEqual([undefined, undefined, undefined]);
  expect(limits.enter('b', 'GET')).toBe(60);
  for (let count = 0; count < 4; count += 1) limits.leave();
  expect(limits.enter('b', 'GET')).toBeUndefined();
});
