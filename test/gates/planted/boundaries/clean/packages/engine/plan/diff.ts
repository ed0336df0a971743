import type { ProjectId } from '@eph/contract';

export const plan = (project: ProjectId): string => project;
