import { z } from 'zod';
import type { JsonMap } from '../../layers.ts';
import { componentKinds, type DeploymentValues, deploymentValues } from '../component-values.ts';
import { parseDuration } from '../duration.ts';
import { parseQuantity } from '../quantity.ts';
import { isMap } from '../rules.ts';
import { durationText, name } from '../scalars.ts';
import { type ComponentKind, section } from '../section.ts';
import { command } from '../workload.ts';

/** What configuration calls it, beside the names of services. */
const preparationName = 'prepare';

const oneCopy = z
  .literal(1, 'must be 1, because `process` runs one copy of each service')
  .describe('How many copies run. Here that is always one.');

const values = deploymentValues.extend({ command, replicas: oneCopy.optional() });

const service = values
  .omit({ autoscaling: true })
  .extend({
    depends_on: z.array(name).max(100).optional().describe('Services that must be ready first. References imply this.'),
    entry: z.boolean().optional().describe('The gateway sends traffic here. Without it, the first service is the entry.'),
  })
  .describe('A service, by its name.');

const services = z
  .record(name, service)
  .refine((all) => Object.keys(all).length > 0, 'must name at least one service')
  .refine((all) => Object.values(all).filter((one: { entry?: unknown } | null) => one?.entry === true).length <= 1, {
    message: 'only one service can be the entry',
    when: isMap,
  })
  .describe('The services of the environment, each a component.');

const limitsOf = ({ limits: { cpu, memory } = {} }: NonNullable<DeploymentValues['resources']>): JsonMap => ({
  ...(cpu === undefined ? {} : { cpu: parseQuantity(cpu) ?? null }),
  ...(memory === undefined ? {} : { memoryBytes: parseQuantity(memory) ?? null }),
});

/** What runs files of a commit can know which. Anything else would be another version with every push. */
const treeKind = {
  ...componentKinds.Deployment,
  builtIn: {
    ...componentKinds.Deployment.builtIn,
    env: { ...componentKinds.Deployment.builtIn.env, EPH_COMMIT: '${commit_sha}' },
  },
} as const satisfies ComponentKind;

const kind: ComponentKind = {
  ...treeKind,
  schema: values,
  used: ['command', 'directory', 'env', 'image', 'ready', 'resources.limits'],
  toProviderValues({ command: run, directory: folder, ready: probe = {}, resources = {} }: DeploymentValues & JsonMap) {
    const { http, none, timeout = '' } = probe;
    return {
      ...(run === undefined ? {} : { command: run }),
      ...(folder === undefined ? {} : { directory: folder }),
      ...limitsOf(resources),
      env: {},
      ready: http === undefined ? { kind: none === true ? 'none' : 'tcp' } : { kind: 'http', path: http },
      readyTimeoutSeconds: parseDuration(timeout) ?? 60,
    };
  },
};

const longestPreparation = '1h';

/** Runs before the services, with what all of them have in common. */
const preparation: ComponentKind = {
  ...treeKind,
  schema: values.extend({ timeout: durationText(longestPreparation).optional() }),
  used: ['command', 'env', 'resources.limits', 'timeout'],
  toProviderValues: ({ command: run, timeout, resources = {} }: DeploymentValues & JsonMap & { timeout?: string }) => ({
    command: run ?? null,
    env: {},
    ...limitsOf(resources),
    timeoutSeconds: parseDuration(timeout ?? '') ?? 600,
  }),
};

export const process = section({
  name: 'process',
  schema: z
    .strictObject({
      prepare: command
        .optional()
        .describe(
          'Runs once for each commit before the services, in the same folder, such as `npm ci`. A string goes through `sh -c`.',
        ),
      prepare_timeout: durationText(longestPreparation)
        .optional()
        .describe('After this long `prepare` is ended and counts as failed. Default 10m.'),
      services,
    })
    .refine(({ prepare, services: all }) => prepare === undefined || !Object.hasOwn(all, preparationName), {
      message: `a service cannot be called ${preparationName} beside \`prepare\``,
      path: ['services', preparationName],
      when: ({ value }) => isMap({ value }) && isMap({ value: (value as { services?: unknown }).services }),
    })
    .describe('Services run as plain processes on the machine of ephd.'),
  available: {
    prepare: true,
    prepare_timeout: true,
    services: { '*': { '*': true, resources: { '*': true, requests: 'limited' } } },
  },
  verbatim: ['services.*.env'],
  open: ['services.*'],
  provider: 'process',
  choice: true,
  components({ prepare, prepare_timeout: timeout, services: all }) {
    const entry = Object.keys(all).find((one) => all[one]?.entry === true) ?? Object.keys(all)[0];
    const before =
      prepare === undefined
        ? []
        : [
            {
              name: preparationName,
              kind: preparation,
              values: { command: prepare, ...(timeout && { timeout }) },
              path: [],
              preparation: true as const,
            },
          ];
    const running = Object.entries(all).map(([one, { depends_on: needs = [], entry: _, ...own }]) => ({
      name: one,
      kind,
      // The compiler takes optional keys for keys that may hold undefined; parsed values leave them out.
      values: own as JsonMap,
      path: ['services', one],
      needs,
      entry: one === entry,
      tree: true as const,
    }));
    return [...before, ...running];
  },
});
