import { z } from 'zod';
import { count, durationText, text, variables } from './scalars.ts';
import { autoscaling, command, directory, ready, readyTimeoutLimit, replicas, resources } from './workload.ts';

/** What a component of a kind can be told. All layers are written in these words, and every one may leave out anything. */

export const deploymentValues = z
  .strictObject({
    command: command.optional(),
    directory: directory.optional(),
    env: variables.optional(),
    ready: ready(durationText(readyTimeoutLimit)).optional(),
    replicas: replicas.optional(),
    resources: resources.optional(),
    autoscaling: autoscaling.optional(),
  })
  .describe('A service.');

export const databaseValues = z
  .strictObject({
    engine: text().optional().describe('The database system, such as `postgres`.'),
    version: text().optional().describe('Its version, in quotes.'),
    instanceClass: text().optional().describe('The size of the machine it runs on, in the words of whoever runs it.'),
    storageGB: count(1_000_000).optional().describe('Room for data, in gigabytes.'),
    backupRetentionDays: count(10_000).optional().describe('How many days backups are kept.'),
  })
  .describe('A database.');

export const networkValues = z
  .strictObject({
    tlsEnabled: z.boolean().optional().describe('Whether the way in is encrypted.'),
    ingressClass: text().optional().describe('Which ingress controller serves it.'),
    certificateIssuer: text().optional().describe('Who issues its certificates.'),
  })
  .describe('The way into an environment.');

export const componentKinds = { Deployment: deploymentValues, Database: databaseValues, Network: networkValues } as const;
export type ComponentKind = keyof typeof componentKinds;
export type DeploymentValues = z.output<typeof deploymentValues>;
export type DatabaseValues = z.output<typeof databaseValues>;
export type NetworkValues = z.output<typeof networkValues>;
