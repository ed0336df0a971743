import { double } from './cycle-b.ts';

export const two = 2;
export const four = (): number => double();
