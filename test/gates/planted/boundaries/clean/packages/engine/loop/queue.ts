import type { Clock } from '../time/clock.ts';

export const queue = (clock: Clock): number => clock.now();
