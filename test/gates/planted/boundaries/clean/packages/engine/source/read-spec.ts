import { createHash } from 'node:crypto';
import type { Forge } from './forge.ts';

export const readSpec = (forge: Forge): string => createHash('sha256').update(forge.project).digest('hex');
