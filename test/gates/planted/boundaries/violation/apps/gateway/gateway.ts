import type { ProjectId } from '@eph/contract';
import type { Watch } from './imports-engine.ts';

export const route = (project: ProjectId, watch?: Watch): string => project + watch?.now();
