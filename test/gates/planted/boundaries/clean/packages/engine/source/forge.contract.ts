import type { Forge } from './forge.ts';

export const forgeContract = (create: () => Forge): Forge => create();
