import type { Clock } from './clock.ts';

export const fakeClock = (): Clock => ({ now: () => 0 });
