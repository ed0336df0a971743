import type { Clock } from './clock.ts';

/** Node fires a longer delay at once, with only a warning. */
const longestTimeoutMs = 2 ** 31 - 1;

export const systemClock: Clock = {
  now: () => Date.now(),
  after(ms, callback) {
    const timer = setTimeout(callback, Math.min(Math.max(0, ms), longestTimeoutMs));
    return () => clearTimeout(timer);
  },
  nextTurn: () => new Promise((resolve) => void setImmediate(resolve)),
};
