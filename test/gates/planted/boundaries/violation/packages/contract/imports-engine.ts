import type { Clock } from '@eph/engine/time/clock';

export type Watch = Clock;
