import type { ProjectId } from '@eph/contract';

export const list = (project: ProjectId): string => project;
