import { plan } from '../plan/diff.ts';

export const replan = plan;
