import type { Clock } from './clock.ts';

export const queue = (clock: Clock): number => clock.now();
