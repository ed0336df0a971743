import { a } from './a.ts';
import { b } from './b.ts';

export const both = [a, b];
