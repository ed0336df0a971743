const ordinaryMs = 30_000;
const activeMs = 10_000;
const quietWeekendMs = 120_000;
const activityWindowMs = 2 * 60_000;

/**
 * How long until the next full pass. Webhooks and watches make Eph quick; the pass is what makes it right when they are lost, so
 * it never stops, and only slows down when nobody is likely to look. The tenth either way keeps several ephd from asking a
 * forge in step.
 */
export const passIntervalMs = (now: number, lastActivity: number, random: () => number): number => {
  const day = new Date(now).getUTCDay();
  const active = now - lastActivity < activityWindowMs;
  const whole = active ? activeMs : day === 0 || day === 6 ? quietWeekendMs : ordinaryMs;
  return whole * (0.9 + 0.2 * random());
};
