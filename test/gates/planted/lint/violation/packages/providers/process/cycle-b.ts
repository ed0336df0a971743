import { two } from './cycle-a.ts';

export const double = (): number => two * 2;
