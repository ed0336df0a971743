import { z } from 'zod';
import { conditionTypes, phases } from '../condition.ts';
import { sourceKinds } from '../source.ts';
import { faultSchema } from './fault.ts';
import { whole } from './query-values.ts';

/** The shapes of the HTTP API, shared by ephd, which answers with them, and its clients, which read them. */

const condition = z.object({
  type: z.enum(conditionTypes),
  status: z.enum(['True', 'False', 'Unknown']),
  reason: z.string(),
  message: z.string(),
  lastTransitionTime: z.string(),
  observedGeneration: z.string(),
});

const image = z.object({
  /** With its digest. */
  reference: z.string(),
  /** The tag that named it; null where its digest was named. */
  tag: z.string().nullable(),
  /** The commit that it was found for; null where it is the same for every commit. */
  commit: z.string().nullable(),
  /** Digest of what was asked for. */
  request: z.string(),
  /** It is used until the right one is there. */
  fallback: z.literal(true).exactOptional(),
});

const version = z.object({
  revision: z.string(),
  commit: z.string(),
  /** By the names that `eph.yaml` has for them; absent where it runs none. */
  images: z.record(z.string(), image).exactOptional(),
  health: z.enum(['starting', 'ready', 'failing']),
  message: z.string(),
  since: z.string(),
  /** It stays as it is until there is another version. */
  stalled: z.literal(true).exactOptional(),
  /** What others changed in it: it is made again as it should be. */
  drift: z.string().exactOptional(),
});

const component = z.object({
  name: z.string(),
  provider: z.string(),
  entry: z.boolean(),
  dependsOn: z.array(z.string()),
  current: version.nullable(),
  next: version.nullable(),
  retiring: z.boolean(),
  upstream: z.string().nullable(),
  outputs: z.record(z.string(), z.string()),
});

const part = z.object({ instance: z.string(), image: z.string().nullable(), restarts: z.number(), message: z.string() });

export const environmentSchema = z.object({
  id: z.string(),
  name: z.string(),
  alias: z.string().nullable(),
  project: z.string(),
  source: z.object({ kind: z.enum(sourceKinds), name: z.string() }),
  /** The commit Git asks for; null when the source is gone. */
  commit: z.string().nullable(),
  /** Of the pull request; null for branches and tags. */
  author: z.string().nullable(),
  title: z.string().nullable(),
  labels: z.array(z.string()),
  url: z.string(),
  phase: z.enum(phases),
  summary: z.string(),
  createdAt: z.string().nullable(),
  /** When it is removed whatever happens; null if it has no such time. */
  expiresAt: z.string().nullable(),
  conditions: z.array(condition),
  components: z.array(component),
});
export type EnvironmentView = z.output<typeof environmentSchema>;

const usage = z.object({
  cpuSeconds: z.number().nullable().describe('Processor time since its processes began; null where only `cpuCores` is known.'),
  cpuCores: z.number().nullable().describe('Cores that it used lately, on average; null where only `cpuSeconds` is known.'),
  memoryBytes: z.number(),
});

/** One environment, read from its providers at the moment. */
export const environmentDetailSchema = environmentSchema.extend({
  components: z.array(
    component.extend({
      parts: z.array(part),
      /** Null when the provider could not measure it. */
      usage: usage.nullable(),
    }),
  ),
});
export type EnvironmentDetailView = z.output<typeof environmentDetailSchema>;

export const environmentListSchema = z.object({ environments: z.array(environmentSchema) });

/** A page of environments, by name. */
export const environmentPageSchema = z.object({
  /** Whole, unless `fields` asked for less. */
  environments: z.array(environmentSchema.partial().required({ id: true })),
  /** Ask for the next page with this as `after`; null on the last one. */
  next: z.string().nullable(),
});
export type EnvironmentPage = z.output<typeof environmentPageSchema>;

const pattern = (what: string) => z.string().min(1).max(200).optional().describe(what);

export const environmentFields = Object.keys(environmentSchema.shape) as (keyof EnvironmentView)[];

export const environmentQuerySchema = z.strictObject({
  project: pattern('Only of this project.'),
  phase: z.array(z.enum(phases)).optional().describe('Only in this phase; several may be given.'),
  provider: pattern('Only with a component of this provider.'),
  author: pattern('Only of pull requests by this author.'),
  label: pattern('Only of pull requests with this label.'),
  text: pattern('Only with this in the name, the alias, the source, the title or the summary. Case does not count.'),
  limit: whole(1, 1000).default(100).describe('At most so many on a page.'),
  after: pattern('The page after the one that ended with this, as `next` says.'),
  fields: z.array(z.enum(environmentFields)).optional().describe('Only these fields, and `id`; several may be given.'),
});
export type EnvironmentQuery = z.output<typeof environmentQuerySchema>;

export const statusSchema = environmentSchema.pick({
  id: true,
  name: true,
  phase: true,
  summary: true,
  url: true,
  conditions: true,
});
export type StatusView = z.output<typeof statusSchema>;

const usageSample = z.object({
  at: z.string(),
  /** Of those that could be measured. */
  components: z.array(usage.extend({ name: z.string() })),
});
export type UsageSample = z.output<typeof usageSample>;

export const usageSchema = z.object({
  id: z.string(),
  name: z.string(),
  /** Oldest first, one every five seconds while somebody asks; the last is from now. */
  samples: z.array(usageSample),
});

export const whySchema = z.object({ id: z.string(), name: z.string(), lines: z.array(z.string()) });
export type WhyView = z.output<typeof whySchema>;

/** What would be done about one environment. */
export const environmentPlanSchema = z.object({
  environment: z.string(),
  name: z.string(),
  /** Null where that could not be found out; `because` says why. */
  wanted: z.boolean().nullable(),
  because: z.string(),
  actions: z.array(
    z.object({
      type: z.enum(['create', 'update', 'destroy', 'wait']),
      component: z.string().optional(),
      provider: z.string().optional(),
      revision: z.string().optional(),
      code: z.string().optional(),
      until: z.string().optional(),
      reason: z.string(),
      /** What is removed before it. */
      after: z
        .array(z.object({ component: z.string(), provider: z.string() }))
        .readonly()
        .optional(),
    }),
  ),
});

export const planSchema = z.object({
  plans: z.array(environmentPlanSchema),
  /** What could not be read, and therefore plans no deletion. */
  faults: z.array(faultSchema),
});
export type PlanView = z.output<typeof planSchema>;

/** One line of a log stream: the data of a server-sent event. */
export const logLineSchema = z.object({
  component: z.string(),
  /** Null where the provider does not know. */
  at: z.string().nullable(),
  part: z.string(),
  /** The part is one for all components of the environment, such as what prepares its checkout. Shown under its own name, once. */
  shared: z.literal(true).exactOptional(),
  text: z.string(),
});
export type LogLine = z.output<typeof logLineSchema>;

export const versionSchema = z.object({ version: z.string() });
