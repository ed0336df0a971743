const firstMs = 5;
const longestMs = 1_000_000;

/**
 * How long to wait before trying a key again after `failures` failures in a row: 5 ms, doubling up to 1000 s. The upper half is
 * random, so that keys which failed together do not come back together.
 */
export const backoffMs = (failures: number, random: () => number): number => {
  const whole = Math.min(longestMs, firstMs * 2 ** Math.min(failures - 1, 30));
  return whole / 2 + (whole / 2) * random();
};
