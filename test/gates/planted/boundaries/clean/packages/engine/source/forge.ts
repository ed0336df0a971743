import type { ProjectId } from '@eph/contract';

export interface Forge {
  readonly project: ProjectId;
}
