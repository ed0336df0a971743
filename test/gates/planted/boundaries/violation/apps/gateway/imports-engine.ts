import type { Clock } from '@eph/engine/loop/clock';

export type Watch = Clock;
