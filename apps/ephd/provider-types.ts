import { join } from 'node:path';
import { type CommitSha, type Identity, type Log, type ProjectId, type ProviderName, parseQuantity } from '@eph/contract';
import type { Provider } from '@eph/engine/provider/provider';
import { findSandbox } from '@eph/providers/process/bubblewrap';
import { findCgroups } from '@eph/providers/process/cgroups';
import { holdsEnvironments } from '@eph/providers/process/layout';
import { createProcessProvider } from '@eph/providers/process/provider';
import { z } from 'zod';

/** What ephd gives to a provider besides its settings. */
export interface ProviderContext {
  readonly name: ProviderName;
  /** A data folder of its own. */
  readonly folder: string;
  /** The environment variables of ephd. */
  readonly variables: Readonly<Record<string, string | undefined>>;
  /** Writes the tree of a commit to a folder that does not exist yet. */
  readonly exportTree: (project: ProjectId, commit: CommitSha, folder: string, signal: AbortSignal) => Promise<void>;
  readonly secretOf: (project: ProjectId, name: string) => string | undefined;
  /** Where an environment is reached now; asked at each start of a service. */
  readonly urlOf: (identity: Identity) => string;
  readonly log: Log;
}

/** A provider as the file describes it. */
export interface ProviderSettings {
  readonly type: string;
  readonly create: (context: ProviderContext) => Provider & AsyncDisposable;
}

interface ProviderType {
  /** Its settings in the file of ephd, checked. */
  readonly schema: z.ZodType<ProviderSettings> & z.core.$ZodTypeDiscriminable;
  /** Whether a data folder holds environments: such a provider still runs when it is no longer in the file. */
  readonly holdsEnvironments: (folder: string) => boolean;
}

const gibibyte = 2 ** 30;

const amount = z.union([z.string(), z.number()]).transform((text, context) => {
  const parsed = parseQuantity(String(text));
  if (parsed === undefined || parsed <= 0) context.addIssue('must be an amount such as 500m, 2 or 4Gi');
  return parsed ?? 0;
});

/** Every type of provider there is. A new one is an entry here. */
export const providerTypes = {
  process: {
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
        ({
          type,
          limits: { cpu, memory, processes, disk, project_disk: projectDisk, cache },
          ...settings
        }): ProviderSettings => ({
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
    holdsEnvironments,
  },
} as const satisfies Readonly<Record<string, ProviderType>>;

const { process: first, ...others } = providerTypes;

export const providerSchema = z.discriminatedUnion('type', [
  first.schema,
  ...Object.values<ProviderType>(others).map(({ schema }) => schema),
]);
