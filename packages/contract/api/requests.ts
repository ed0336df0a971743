import { z } from 'zod';
import { sourceKinds } from '../source.ts';
import { durationText } from '../spec/scalars.ts';

/** A request for an environment. ephd does not store it but writes it to Git, where everybody can see it. */
export const environmentRequestSchema = z.strictObject({
  /** Optional while ephd watches a single project. */
  project: z.string().max(63).optional(),
  source: z.strictObject({
    kind: z.enum(['pr', 'branch']),
    /** The number of a pull request, or the name of a branch. */
    name: z.string().min(1).max(1_000),
  }),
});
export type EnvironmentRequest = z.output<typeof environmentRequestSchema>;

/** A source as it is, or as it would be: what is left out stays as it is. */
export const planRequestSchema = environmentRequestSchema.extend({
  source: z.strictObject({ kind: z.enum(sourceKinds), name: z.string().min(1).max(1_000) }),
  /** The labels of the pull request. */
  labels: z.array(z.string().min(1).max(200)).max(100).optional(),
  commit: z
    .string()
    .regex(/^([0-9a-f]{40}|[0-9a-f]{64})$/, 'must be a whole commit')
    .optional(),
  /** The text of its `eph.yaml`. */
  file: z.string().max(60_000).optional(),
});
export type PlanRequest = z.output<typeof planRequestSchema>;

export const extensionSchema = z.strictObject({
  /** How long it may live after its label was set, such as `72h`. */
  for: durationText('365d'),
});

export const scaleSchema = z.strictObject({
  component: z.string().min(1).max(63),
  replicas: z.int().min(0).max(1000),
});

export const redeploySchema = z.strictObject({
  /** Only these components; without it, all that hold no data. */
  components: z.array(z.string().min(1).max(63)).min(1).max(100).optional(),
});

export const redeployAnswerSchema = z.object({
  /** Removed and made again, one after the other. */
  components: z.array(z.string()),
});

const change = z.discriminatedUnion('type', [
  z.object({ type: z.literal('label_added'), label: z.string() }),
  z.object({ type: z.literal('label_removed'), label: z.string() }),
  z.object({ type: z.literal('branch_made'), branch: z.string(), commit: z.string() }),
  z.object({ type: z.literal('branch_deleted'), branch: z.string(), commit: z.string() }),
]);
export type RequestChange = z.output<typeof change>;

/** What ephd changed in Git; the loop then creates or removes the environment. */
export const requestAnswerSchema = z.object({
  project: z.string(),
  /** The source of the environment: for a branch, this may be the pull request that it belongs to. */
  source: z.object({ kind: z.enum(sourceKinds), name: z.string() }),
  environment: z.string(),
  /** What the environment will be made of, whether or not ephd has noticed it before; null where the source is gone. */
  commit: z.string().nullable(),
  /** Empty when Git needed no change. */
  changes: z.array(change),
  /** Why the environment is wanted now, or why it is not. */
  because: z.string(),
  /** When it expires after this change; null where it does not. Only where the request is about that, and where it is known. */
  expiresAt: z.string().nullable().exactOptional(),
});
export type RequestAnswer = z.output<typeof requestAnswerSchema>;
