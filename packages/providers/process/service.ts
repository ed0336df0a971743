import { EphError, type ResolvedComponent } from '@eph/contract';
import { z } from 'zod';

const text = z.string().refine((value) => !value.includes('\0'), 'must not contain a NUL character');

/** The kernel limits arguments and variables too, with a worse message. */
const longestText = 64 * 1024;

const probe = z.discriminatedUnion('kind', [
  z.strictObject({
    kind: z.literal('http'),
    path: z
      .string()
      .max(2048)
      .regex(/^\/[\x21-\x7e]*$/, 'must be a path of printable ASCII characters that starts with /'),
  }),
  z.strictObject({ kind: z.literal('tcp') }),
  z.strictObject({ kind: z.literal('none') }),
]);

const variable = z.string().regex(/^[A-Za-z_][A-Za-z0-9_]*$/, 'must be a variable name');

const slice = z.strictObject({ start: z.number(), length: z.number() }).exactOptional();
const latePart = z.union([z.strictObject({ secret: text, slice }), z.strictObject({ url: z.literal(true), slice })]);

const run = z.strictObject({
  command: z.union([text.min(1).max(longestText), z.array(text.max(longestText)).min(1).max(1000)]),
  env: z.record(variable, text.max(longestText)),
  /** Texts in which secrets and the URL of the environment are filled in at each start, so that none is stored on disk. */
  secretEnv: z.record(variable, z.array(z.union([text.max(longestText), latePart])).max(1000)).optional(),
  /** The most that it may use: cores, and bytes. */
  cpu: z.number().positive().exactOptional(),
  memoryBytes: z.number().positive().exactOptional(),
});

export const serviceSchema = run.extend({
  directory: text.max(4096).optional(),
  ready: probe,
  readyTimeoutSeconds: z.number().positive().max(3600),
  /** Runs in the checkout before the services. */
  prepare: run.extend({ timeoutSeconds: z.number().positive().max(3600) }).exactOptional(),
});

export type Service = z.output<typeof serviceSchema>;
export type Prepare = NonNullable<Service['prepare']>;
export type Probe = Service['ready'];

export const parseService = (component: ResolvedComponent): Service => {
  const parsed = serviceSchema.safeParse(component.values);
  if (!parsed.success) {
    const faults = parsed.error.issues.map((issue) => `${issue.path.join('.') || 'values'}: ${issue.message}`);
    throw new EphError('component.refused', `Service ${component.name} cannot be run as a process: ${faults.join('; ')}.`);
  }
  return parsed.data;
};
