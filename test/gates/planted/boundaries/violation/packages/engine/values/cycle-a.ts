import type { B } from './cycle-b.ts';

export type A = B | 'a';
