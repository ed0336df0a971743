import { z } from 'zod';
import { count, text, variables } from './scalars.ts';
import type { ComponentKind } from './section.ts';
import { autoscaling, command, directory, image, ready, replicas, resources } from './workload.ts';

/** The values of components, by their kind. All layers are written like this, and each may leave out anything. */

export const deploymentValues = z
  .strictObject({
    command: command.optional(),
    directory: directory.optional(),
    env: variables.optional(),
    image: image.optional(),
    ready: ready.optional(),
    replicas: replicas.optional(),
    resources: resources.optional(),
    autoscaling: autoscaling.optional(),
  })
  .describe('A service.');

const databaseValues = z
  .strictObject({
    engine: text().optional().describe('The database system, such as `postgres`.'),
    version: text().optional().describe('Its version, in quotes.'),
    instanceClass: text().optional().describe('The size of the machine it runs on, in the words of whoever runs it.'),
    storageGB: count(1_000_000).optional().describe('Room for data, in gigabytes.'),
    backupRetentionDays: count(10_000).optional().describe('How many days backups are kept.'),
  })
  .describe('A database.');

const networkValues = z
  .strictObject({
    tlsEnabled: z.boolean().optional().describe('Whether the way in is encrypted.'),
    ingressClass: text().optional().describe('Which ingress controller serves it.'),
    certificateIssuer: text().optional().describe('Who issues its certificates.'),
  })
  .describe('The way into an environment.');

const deployment = {
  name: 'Deployment',
  schema: deploymentValues,
  builtIn: {
    env: {
      EPH_PROJECT: '${project}',
      EPH_ENVIRONMENT: '${environment_name}',
      EPH_URL: '${environment_url}',
      EPH_REF: '${ref_name}',
    },
    ready: { tcp: true, timeout: '60s' },
    replicas: 1,
  },
  common: true,
  alternatives: { ready: ['http', 'tcp', 'none'] },
} as const satisfies ComponentKind;

export const componentKinds = {
  Deployment: deployment,
  Database: { name: 'Database', schema: databaseValues, holdsData: true },
  Network: { name: 'Network', schema: networkValues },
} as const satisfies { readonly [name: string]: ComponentKind };
export type DeploymentValues = z.output<typeof deploymentValues>;
