import { z } from 'zod';
import { dnsLabel } from '../ids.ts';

/** One line of prose per key: it becomes the description in the JSON Schema that editors show. */
const name = z
  .string()
  .regex(dnsLabel, 'must be lower-case letters, digits and dashes, with a letter or digit at both ends, at most 63 characters')
  .describe('A DNS label.');

/** For rules about a whole map: they are checked even when a value in it is wrong, anything at all, so that all faults come at once. */
const isMap = ({ value }: { readonly value: unknown }): boolean => typeof value === 'object' && value !== null;

const pattern = z.string().min(1).max(255).describe('A ref name; `*` matches within a path segment, `**` across them.');

const gitBranchTrigger = z
  .strictObject({
    type: z.literal('git_branch').describe('This one looks at branches.'),
    patterns: z.array(pattern).min(1).max(50).describe('Branches that get an environment.'),
  })
  .describe('Every branch that matches gets an environment for as long as it exists.');

const gitTagTrigger = z
  .strictObject({
    type: z.literal('git_tag').describe('This one looks at tags.'),
    patterns: z.array(pattern).min(1).max(50).describe('Tags that get an environment.'),
  })
  .describe('Every tag that matches gets an environment for as long as it exists.');

const variables = z
  .record(
    z.string().regex(/^[A-Za-z_][A-Za-z0-9_]*$/, 'is not a variable name; use letters, digits and _, and begin with no digit'),
    z.union([z.string(), z.number(), z.boolean()]).transform(String),
  )
  .describe('Environment variables. A value may be a reference such as `outputs/api/url`.');

const durationMessage = 'must be a duration such as 500ms, 30s or 2m';

const seconds = z
  .string(durationMessage)
  .regex(/^\d+(ms|s|m)$/, durationMessage)
  .transform((text) => {
    const [, count, unit] = /^(\d+)(ms|s|m)$/.exec(text) as unknown as [string, string, 'ms' | 's' | 'm'];
    return Number(count) * { ms: 0.001, s: 1, m: 60 }[unit];
  })
  .pipe(z.number().positive('must be longer than zero').max(3600, 'must be at most 60m'));

const probe = z
  .strictObject({
    http: z.string().startsWith('/', 'must be a path such as /healthz').optional().describe('Ready when GET answers 2xx or 3xx.'),
    tcp: z.literal(true).optional().describe('Ready when the port accepts a connection. The default.'),
    none: z.literal(true).optional().describe('Ready as soon as it runs: for workers that do not listen.'),
    timeout: seconds.optional().describe('After this long a version that is not ready counts as failing. Default 60s.'),
  })
  .refine(({ http, tcp, none }) => [http, tcp, none].filter((one) => one !== undefined).length <= 1, {
    message: 'choose one of http, tcp and none',
    when: isMap,
  });

const service = z.strictObject({
  command: z
    .union([z.string().min(1), z.array(z.string()).min(1)])
    .describe('What to run. A string goes through `sh -c`; a list is run as it is. The port to listen on is in `PORT`.'),
  directory: z.string().optional().describe('Where to run it, relative to the root of the repository.'),
  env: variables.optional(),
  ready: probe.optional().describe('How to tell that it is ready.'),
  depends_on: z.array(name).optional().describe('Services that must be ready first. References imply this.'),
  entry: z.boolean().optional().describe('The gateway sends traffic here. Without it, the first service is the entry.'),
});

/** What a name template may put in. */
const templateVariables = ['{project}', '{words}', '{number}', '{ref_name}'];

const unknownVariable = (template: unknown): string | undefined =>
  String(template)
    .match(/\{[^{}]*\}/g)
    ?.find((variable) => !templateVariables.includes(variable));

const nameTemplate = z
  .string()
  .min(1)
  .max(200)
  .refine((template) => unknownVariable(template) === undefined, {
    error: ({ input }) => `${unknownVariable(input)} is not known here; use ${templateVariables.join(', ')}`,
  })
  .describe('How new environments are named. Existing ones keep their name. Default `{project}-{words}-{number}`.');

/** What applies when `eph.yaml` names no triggers, or cannot be read far enough to see them. */
export const defaultTriggers: z.output<typeof gitBranchTrigger>[] = [{ type: 'git_branch', patterns: ['preview/**'] }];

export const specSchema = z.strictObject({
  version: z.literal('1.0').describe('The version of this format.'),
  name: name.describe('The project, as it appears in environment names.'),
  providers: z
    .strictObject({ primary: z.literal('process').describe('What runs the components.') })
    .default({ primary: 'process' })
    .describe('Who makes the components.'),
  triggers: z
    .array(z.discriminatedUnion('type', [gitBranchTrigger, gitTagTrigger]))
    .min(1)
    .max(10)
    .default(defaultTriggers)
    .describe('Which branches and tags get an environment.'),
  environment: z
    .strictObject({
      name_template: nameTemplate.optional(),
      env: variables.optional().describe('Variables for every service.'),
    })
    .default({})
    .describe('What holds for the environment as a whole.'),
  process: z
    .strictObject({
      services: z
        .record(name, service)
        .refine((services) => Object.keys(services).length > 0, 'must name at least one service')
        .refine(
          (services) => Object.values(services).filter((one: { entry?: unknown } | null) => one?.entry === true).length <= 1,
          {
            message: 'only one service can be the entry',
            when: isMap,
          },
        )
        .describe('The services of the environment, each a component.'),
    })
    .describe('Services run as plain processes on the machine of ephd.'),
});

export type Spec = z.output<typeof specSchema>;
export type Trigger = Spec['triggers'][number];
export type ServiceSpec = Spec['process']['services'][string];
