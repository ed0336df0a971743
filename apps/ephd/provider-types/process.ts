import { join } from 'node:path';
import { parseQuantity } from '@eph/contract';
import { findSandbox } from '@eph/providers/process/bubblewrap';
import { findCgroups } from '@eph/providers/process/cgroups';
import { holdsEnvironments } from '@eph/providers/process/layout';
import { createProcessProvider } from '@eph/providers/process/provider';
import { z } from 'zod';
import type { ProviderSettings, ProviderType } from './provider-type.ts';

const gibibyte = 2 ** 30;

const amount = z.union([z.string(), z.number()]).transform((text, context) => {
  const parsed = parseQuantity(String(text));
  if (parsed === undefined || parsed <= 0) context.addIssue('must be an amount such as 500m, 2 or 4Gi');
  return parsed ?? 0;
});

export const process = {
  schema: z
    .strictObject({
      type: z.literal('process'),
      tools: z.array(z.string().startsWith('/')).default([]),
      network: z.enum(['own', 'shared']).default('shared'),
      reach: z.array(z.cidrv4('must be a range such as 10.20.0.0/16')).default([]),
      limits: z
        .strictObject({
          cpu: amount.optional(),
          memory: amount.default(4 * gibibyte),
          processes: z.int().min(16, 'must be at least 16').default(1024),
          disk: amount.default(4 * gibibyte),
          project_disk: amount.default(32 * gibibyte),
          cache: amount.default(4 * gibibyte),
        })
        .prefault({}),
    })
    .transform(
      ({ type, limits: { cpu, memory, processes, disk, project_disk: projectDisk, cache }, ...settings }): ProviderSettings => ({
        type,
        create: (context) =>
          createProcessProvider({
            ...context,
            sandbox: findSandbox({ ...settings, folder: join(context.folder, 'sandbox') }),
            cgroups: findCgroups(context.folder),
            budget: { cpu, memoryBytes: memory, processes, diskBytes: disk, projectDiskBytes: projectDisk, cacheBytes: cache },
          }),
      }),
    ),
  readRetired: (folder) => (holdsEnvironments(folder) ? { type: 'process' } : undefined),
} as const satisfies ProviderType;
