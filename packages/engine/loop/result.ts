import type { EnvironmentId, ProjectId } from '@eph/contract';

/** What may be looked at. A key means "look again", never an instruction. */
export type Key = 'pass' | 'configuration' | `project:${string}` | `environment:${string}`;

export const projectKey = (id: ProjectId): Key => `project:${id}`;
export const environmentKey = (id: EnvironmentId): Key => `environment:${id}`;

/** How a run ended, for the queue: when its key is looked at again, and which other keys it concerns. */
export interface Result<K = Key> {
  /** Look again after the back-off of the key, and not before this. Absent: nothing failed. */
  readonly retryAfterMs?: number;
  /** Look again at this time, because time alone changes something then. */
  readonly lookAt?: number | undefined;
  /** Look at these now. */
  readonly wake?: readonly K[];
  /** Runs of these keys that are under way work towards something outdated: end them and look again. */
  readonly supersede?: readonly K[];
}
