import { z } from 'zod';
import type { JsonMap } from '../../layers.ts';
import { componentKinds, type DeploymentValues, deploymentValues } from '../component-values.ts';
import { parseDuration } from '../duration.ts';
import { parseQuantity } from '../quantity.ts';
import { isMap } from '../rules.ts';
import { name } from '../scalars.ts';
import { type ComponentKind, section } from '../section.ts';
import { command } from '../workload.ts';

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

const kind: ComponentKind = {
  ...componentKinds.Deployment,
  schema: values,
  used: ['command', 'directory', 'env', 'ready', 'resources.limits'],
  toProviderValues({ command: run, directory: folder, ready: probe = {}, resources = {} }: DeploymentValues & JsonMap) {
    const { http, none, timeout = '' } = probe;
    const { cpu, memory } = resources.limits ?? {};
    return {
      ...(run === undefined ? {} : { command: run }),
      ...(folder === undefined ? {} : { directory: folder }),
      ...(cpu === undefined ? {} : { cpu: parseQuantity(cpu) ?? null }),
      ...(memory === undefined ? {} : { memoryBytes: parseQuantity(memory) ?? null }),
      env: {},
      ready: http === undefined ? { kind: none === true ? 'none' : 'tcp' } : { kind: 'http', path: http },
      readyTimeoutSeconds: parseDuration(timeout) ?? 60,
    };
  },
};

export const process = section({
  name: 'process',
  schema: z.strictObject({ services }).describe('Services run as plain processes on the machine of ephd.'),
  available: { services: { '*': { '*': true, resources: { '*': true, requests: 'limited' } } } },
  verbatim: ['services.*.env'],
  open: ['services.*'],
  provider: 'process',
  choice: true,
  components({ services: all }) {
    const entry = Object.keys(all).find((one) => all[one]?.entry === true) ?? Object.keys(all)[0];
    return Object.entries(all).map(([one, { depends_on: needs = [], entry: _, ...own }]) => ({
      name: one,
      kind,
      // The compiler takes optional keys for keys that may hold undefined; parsed values leave them out.
      values: own as JsonMap,
      path: ['services', one],
      needs,
      entry: one === entry,
    }));
  },
});
