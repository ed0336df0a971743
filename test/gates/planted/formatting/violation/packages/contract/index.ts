import { b } from './b.ts';
import { a } from './a.ts';

export const both = [a, b];
