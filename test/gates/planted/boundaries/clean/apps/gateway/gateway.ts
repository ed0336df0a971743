import type { ProjectId } from '@eph/contract';

export const route = (project: ProjectId): string => project;
