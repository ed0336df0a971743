import type { Forge } from '../source/forge.ts';

export type Reader = Forge;
