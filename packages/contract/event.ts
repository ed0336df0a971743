import type { EnvironmentId, ProjectId } from './ids.ts';

export const eventTypes = [
  'environment.wanted',
  'environment.removed',
  'environment.expired',
  'component.applied',
  'component.removed',
  'status.changed',
  'deletion.held',
  'deletion.released',
  'outcome.failed',
  'ephd.started',
  'ephd.leading',
] as const;
export type EventType = (typeof eventTypes)[number];

/** A line of history. Never read to decide anything. */
export interface Event {
  readonly at: string;
  readonly type: EventType;
  readonly project: ProjectId | null;
  readonly environment: EnvironmentId | null;
  readonly message: string;
  readonly details: { readonly [key: string]: string | number | boolean | null };
}
