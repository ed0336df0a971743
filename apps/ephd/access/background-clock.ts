import type { Clock } from '@eph/engine/time/clock';
import { systemClock } from '@eph/engine/time/system-clock';

/** Node fires a longer delay at once. */
const longestTimeoutMs = 2 ** 31 - 1;

/** The time of the system, with timers that do not keep the process alive. */
export const backgroundClock: Clock = {
  ...systemClock,
  after(ms, callback) {
    const timer = setTimeout(callback, Math.min(Math.max(0, ms), longestTimeoutMs)).unref();
    return () => clearTimeout(timer);
  },
};
