import { plan } from '@eph/engine/plan/diff';

export const guess = plan;
