import { type EnvironmentId, type EventId, eventId, type ProjectId } from './ids.ts';
import { redact, redactFields } from './redact.ts';

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
  'audit.changed',
  'audit.signed_in',
  'audit.refused',
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

export interface StoredEvent extends Event {
  readonly id: EventId;
}

/** Less than the id of every event. */
export const beforeAllEvents = eventId('0'.repeat(16));

export const isAudit = ({ type }: Event): boolean => type.startsWith('audit.');

export const redactEvent = (event: Event): Event => ({
  ...event,
  message: redact(event.message),
  // It keeps the shape of plain data.
  details: redactFields(event.details) as Event['details'],
});
