import { z } from 'zod';
import { phases } from '../condition.ts';
import { eventTypes } from '../event.ts';
import { whole } from './query-values.ts';

const time = z.iso.datetime({ offset: true });
export const eventIdText = z.string().regex(/^[0-9]{16}$/, 'must be the id of an event');

export const eventSchema = z.object({
  /** Grows in the order in which events become visible. */
  id: z.string(),
  at: z.string(),
  type: z.string(),
  project: z.string().nullable(),
  environment: z.string().nullable(),
  message: z.string(),
  details: z.record(z.string(), z.union([z.string(), z.number(), z.boolean(), z.null()])),
});
export type EventView = z.output<typeof eventSchema>;

/** Oldest first. */
export const eventListSchema = z.object({ events: z.array(eventSchema) });
export type EventListView = z.output<typeof eventListSchema>;

const text = z.string().min(1).max(200).optional().describe('Only with this in the message. Case does not count.');

const paging = {
  text,
  since: time.optional().describe('Not before this time.'),
  until: time.optional().describe('Before this time.'),
  after: eventIdText.optional().describe('The first ones after this id; the newest ones without it.'),
  before: eventIdText.optional().describe('Only before this id.'),
  limit: whole(1, 1000).default(100).describe('At most so many.'),
};

const typesShown = eventTypes.filter((type) => !type.startsWith('audit.'));
const type = z.array(z.enum(typesShown)).optional().describe('Only of this type; several may be given.');
const project = z.string().min(1).max(63).optional().describe('Only of this project.');

export const environmentEventQuerySchema = z.strictObject({ type, ...paging });

export const eventQuerySchema = z.strictObject({ project, type, ...paging });

export const auditQuerySchema = z.strictObject({
  project,
  type: z
    .array(z.enum(['audit.changed', 'audit.signed_in', 'audit.refused']))
    .optional()
    .describe(type.description ?? ''),
  ...paging,
});

export const streamQuerySchema = z.strictObject({
  project,
  environment: z.string().min(1).max(200).optional().describe('Only of this environment.'),
  after: eventIdText
    .optional()
    .describe('Go on after this event, as with the header `Last-Event-ID`; only new ones without both.'),
});

/**
 * One message of the stream. Those with an event that is stored have its id as the id of the server-sent event; a client
 * that sends it as `Last-Event-ID` goes on after it.
 */
export const streamItemSchema = z.discriminatedUnion('type', [
  /** Something happened. Without an id while history cannot be stored. */
  z.object({ type: z.literal('event'), event: eventSchema.extend({ id: z.string().nullable() }) }),
  /** What an environment is now. */
  z.object({
    type: z.literal('status'),
    environment: z.string(),
    name: z.string(),
    project: z.string(),
    phase: z.enum(phases),
    summary: z.string(),
  }),
  z.object({ type: z.literal('gone'), environment: z.string(), name: z.string(), project: z.string() }),
  /** Whether history can be read; while it cannot, what other ephd do is missing. */
  z.object({ type: z.literal('history'), reachable: z.boolean(), message: z.string() }),
]);
export type StreamItem = z.output<typeof streamItemSchema>;
