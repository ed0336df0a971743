import { projectId } from '@eph/contract';

export interface Difference {
  readonly project: string;
}

export const diff = (text: string): Difference => ({ project: projectId.parse(text) });
