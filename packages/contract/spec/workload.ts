import { z } from 'zod';
import { isMap, notAbove } from './rules.ts';
import { count, durationText, quantity } from './scalars.ts';

const amounts = z.strictObject({
  cpu: quantity.optional().describe('Processor time in cores, such as `100m` or `2`.'),
  memory: quantity.optional().describe('Memory in bytes, such as `128Mi` or `4Gi`.'),
});

export const resources = z
  .strictObject({
    requests: amounts.optional().describe('What the component is given at least.'),
    limits: amounts.optional().describe('What the component is given at most.'),
  })
  .refine(...notAbove('requests.cpu', 'limits.cpu'))
  .refine(...notAbove('requests.memory', 'limits.memory'))
  .describe('Processor time and memory.');

export const command = z
  .union([z.string().min(1), z.array(z.string()).min(1)])
  .describe('What to run. A string goes through `sh -c`; a list is run as it is. The port to listen on is in `PORT`.');

export const directory = z.string().describe('Where to run it, relative to the root of the repository.');

export const image = z
  .string()
  .min(1)
  .max(500)
  .regex(/^\S*$/, 'must be an image such as redis:7-alpine, or the name of an entry of `environment.images`')
  .describe(
    'The image it runs: the name of an entry of `environment.images`, or an image with its tag or digest, such as `redis:7-alpine`.',
  );

export const replicas = count(1000).describe('How many copies run.');

export const ready = z
  .strictObject({
    http: z.string().startsWith('/', 'must be a path such as /healthz').optional().describe('Ready when GET answers 2xx or 3xx.'),
    tcp: z.literal(true).optional().describe('Ready when the port accepts a connection. The default.'),
    none: z.literal(true).optional().describe('Ready as soon as it runs: for workers that do not listen.'),
    timeout: durationText('1h')
      .optional()
      .describe('After this long a version that is not ready counts as failing. Default 60s.'),
  })
  .refine(({ http, tcp, none }) => [http, tcp, none].filter((one) => one !== undefined).length <= 1, {
    message: 'choose one of http, tcp and none',
    when: isMap,
  })
  .describe('How to tell that it is ready.');

export const autoscaling = z
  .strictObject({
    enabled: z.boolean().optional().describe('Whether the number of copies follows the load.'),
    minReplicas: replicas.optional().describe('The least copies there are.'),
    maxReplicas: replicas.optional().describe('The most copies there are.'),
  })
  .refine(...notAbove('minReplicas', 'maxReplicas'))
  .describe('How the number of copies follows the load.');
