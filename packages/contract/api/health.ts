import { z } from 'zod';
import { faultSchema } from './fault.ts';

export const healthSchema = z.object({ status: z.literal('ok') });

export const readinessSchema = z.object({ status: z.literal('ready') });

export const isolationSchema = z.discriminatedUnion('state', [
  z.object({ state: z.literal('trusted'), because: z.string() }),
  z.object({
    state: z.literal('sandboxed'),
    network: z.enum(['own', 'shared']),
    lacks: z.object({ network: z.string().exactOptional(), limits: z.string().exactOptional() }),
  }),
]);

export const serverSchema = z.object({
  version: z.string(),
  leadership: z.discriminatedUnion('state', [
    z.object({ state: z.literal('leading') }),
    z.object({ state: z.literal('standby'), holder: z.string() }),
    z.object({ state: z.literal('degraded'), leading: z.boolean(), message: z.string() }),
    z.object({ state: z.literal('undecided') }),
  ]),
  /** What it waits for before it is ready; null once it is. */
  waitsFor: z.string().nullable(),
  history: z.object({
    reachable: z.boolean(),
    buffered: z.number(),
    lost: z.number(),
    lostAudit: z.number(),
    message: z.string(),
  }),
  /** By the name of the provider. */
  isolation: z.record(z.string(), isolationSchema),
  /** By the name of the provider that does not answer. */
  away: z.record(z.string(), faultSchema),
  /** Requests that forges still allow, where they have said so. The account is empty where a forge has only one. */
  budgets: z.array(z.object({ forge: z.string(), account: z.string(), remaining: z.number() })),
  /** By the project that could not be read. */
  faults: z.record(z.string(), z.array(faultSchema)),
});
export type ServerView = z.output<typeof serverSchema>;

/** The projects that are read again. */
export const wokenSchema = z.object({ woken: z.array(z.string()) });
