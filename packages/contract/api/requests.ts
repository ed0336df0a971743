import { z } from 'zod';
import { sourceKinds } from '../source.ts';

/** Somebody wishes for an environment. ephd keeps no wishes: it writes them to Git, where everybody sees them. */
export const environmentRequestSchema = z.strictObject({
  /** Not needed while there is only one. */
  project: z.string().max(63).optional(),
  source: z.strictObject({
    kind: z.enum(['pr', 'branch']),
    /** The number of a pull request, or the name of a branch. */
    name: z.string().min(1).max(1_000),
  }),
});
export type EnvironmentRequest = z.output<typeof environmentRequestSchema>;

const change = z.discriminatedUnion('type', [
  z.object({ type: z.literal('label_added'), label: z.string() }),
  z.object({ type: z.literal('label_removed'), label: z.string() }),
  z.object({ type: z.literal('branch_made'), branch: z.string(), commit: z.string() }),
  z.object({ type: z.literal('branch_deleted'), branch: z.string(), commit: z.string() }),
]);
export type RequestChange = z.output<typeof change>;

/** What was done about a wish; the loop does the rest. */
export const requestAnswerSchema = z.object({
  project: z.string(),
  /** Whose environment it is: for a branch that was named, perhaps the pull request that it belongs to. */
  source: z.object({ kind: z.enum(sourceKinds), name: z.string() }),
  /** The id that it has, or will have. */
  environment: z.string(),
  /** In Git. None: it was so already. */
  changes: z.array(change),
  /** Why it is wanted now, or is not. */
  because: z.string(),
});
export type RequestAnswer = z.output<typeof requestAnswerSchema>;
