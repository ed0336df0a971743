import { z } from 'zod';
import { sourceKinds } from '../source.ts';
import { durationText } from '../spec/scalars.ts';

/** A request for an environment. ephd does not store it but writes it to Git, where everybody can see it. */
export const environmentRequestSchema = z.strictObject({
  project: z.string().max(63).optional().describe('Its project. Optional while ephd watches a single one.'),
  source: z
    .strictObject({ kind: z.enum(['pr', 'branch']), name: z.string().min(1).max(1_000) })
    .describe('`kind` is `pr` or `branch`, and `name` the number of a pull request or the name of a branch.'),
});
export type EnvironmentRequest = z.output<typeof environmentRequestSchema>;

/** A source as it is, or as it would be: what is left out stays as it is. */
export const planRequestSchema = environmentRequestSchema.extend({
  source: z
    .strictObject({ kind: z.enum(sourceKinds), name: z.string().min(1).max(1_000) })
    .describe('`kind` is `pr`, `branch` or `tag`, and `name` the number of a pull request or the name of the other two.'),
  labels: z.array(z.string().min(1).max(200)).max(100).optional().describe('The labels of the pull request.'),
  commit: z
    .string()
    .regex(/^([0-9a-f]{40}|[0-9a-f]{64})$/, 'must be a whole commit')
    .optional()
    .describe('The whole commit.'),
  file: z.string().max(60_000).optional().describe('The text of its `eph.yaml`.'),
});
export type PlanRequest = z.output<typeof planRequestSchema>;

export const extensionSchema = z.strictObject({
  for: durationText('365d').describe('How long it may live after its label was set, such as `72h`.'),
});

export const scaleSchema = z.strictObject({
  component: z.string().min(1).max(63).describe('Its name.'),
  replicas: z.int().min(0).max(1000).describe('How many copies of it run.'),
});

export const redeploySchema = z.strictObject({
  components: z
    .array(z.string().min(1).max(63))
    .min(1)
    .max(100)
    .optional()
    .describe('Only these components; without it, all that hold no data.'),
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
