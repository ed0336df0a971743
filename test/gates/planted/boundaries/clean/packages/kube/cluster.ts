import type { Clock } from '@eph/engine/time/clock';

export const openCluster = (clock: Clock): number => clock.now();
