import { z } from 'zod';
import { isMap } from '../rules.ts';
import { duration, name, variables } from '../scalars.ts';
import { command, directory, ready, readyTimeoutLimit, replicas, resources } from '../workload.ts';

const service = z
  .strictObject({
    command,
    directory: directory.optional(),
    env: variables.optional(),
    ready: ready(duration(readyTimeoutLimit)).optional(),
    depends_on: z.array(name).max(100).optional().describe('Services that must be ready first. References imply this.'),
    entry: z.boolean().optional().describe('The gateway sends traffic here. Without it, the first service is the entry.'),
    replicas: replicas.optional(),
    resources: resources.optional(),
  })
  .describe('A service, by its name.');

export const process = z
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
  .describe('Services run as plain processes on the machine of ephd.');
