import { Stats } from 'node:fs';

export const sizeOf = (stats: Stats): number => stats.size;
