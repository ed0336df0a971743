import { z } from 'zod';
import { sourceKinds } from '../source.ts';
import { faultSchema } from './fault.ts';
import { isolationSchema } from './health.ts';
import { whole } from './query-values.ts';

const page = {
  text: z.string().min(1).max(200).optional().describe('Only with this in the name. Case does not count.'),
  limit: whole(1, 1000).default(100).describe('At most so many on a page.'),
  after: z.string().min(1).max(1000).optional().describe('The page after the one that ended with this, as `next` says.'),
};

const next = z.string().nullable();

export const projectQuerySchema = z.strictObject(page);

export const projectSchema = z.object({
  id: z.string(),
  /** Where its repository is, without secrets. */
  location: z.string(),
  /** What Git would clone, without credentials: an address, or a path on the machine of ephd. */
  address: z.string(),
  /** The kind of server; null for plain Git. */
  forge: z.string().nullable(),
  environments: z.number(),
  /** Git has been read completely since ephd started. */
  read: z.boolean(),
  faults: z.array(faultSchema),
  /** How often Git is read, and why; null where it is watched. */
  polling: z.string().nullable(),
  /** Whether webhooks of it arrive. */
  webhooks: z.boolean(),
});
export type ProjectView = z.output<typeof projectSchema>;

export const projectPageSchema = z.object({ projects: z.array(projectSchema), next });
export type ProjectPage = z.output<typeof projectPageSchema>;

export const sourceQuerySchema = z.strictObject({
  ...page,
  state: z
    .array(z.enum(['wanted', 'unwanted', 'unknown']))
    .optional()
    .describe('Only with this decision; several may be given.'),
});

/** A branch, tag or pull request, and whether it gets an environment. */
export const sourceSchema = z.object({
  kind: z.enum(sourceKinds),
  name: z.string(),
  commit: z.string(),
  title: z.string().nullable(),
  author: z.string().nullable(),
  labels: z.array(z.string()),
  /** The branch of a pull request; null for one from a fork, and for branches and tags. */
  head: z.string().nullable(),
  state: z.enum(['wanted', 'unwanted', 'unknown']),
  because: z.string(),
  /** The id of its environment; null if it gets none. */
  environment: z.string().nullable(),
});

export const sourcePageSchema = z.object({ sources: z.array(sourceSchema), next });
export type SourcePage = z.output<typeof sourcePageSchema>;

export const heldQuerySchema = z.strictObject({
  project: z.string().min(1).max(63).optional().describe('Only of this project.'),
  ...page,
});

/** Environments that nothing removes until an operator releases them. */
export const heldSchema = z.object({
  environments: z.array(
    z.object({ id: z.string(), name: z.string(), project: z.string(), because: z.string(), createdAt: z.string().nullable() }),
  ),
  next,
});
export type HeldPage = z.output<typeof heldSchema>;

export const capabilitiesSchema = z.object({
  providers: z.array(
    z.object({
      name: z.string(),
      /** The section of `eph.yaml` that it makes. */
      type: z.string(),
      isolation: isolationSchema,
      /** Secrets are handed to components by reference. */
      holdsSecrets: z.boolean(),
    }),
  ),
});
