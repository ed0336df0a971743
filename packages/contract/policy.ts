import { z } from 'zod';
import type { Place } from './spec/document.ts';
import { count, duration, list, name, quantity, text } from './spec/scalars.ts';

const amounts = z.strictObject({
  cpu: quantity.optional().describe('Processor time in cores, such as `500m` or `2`.'),
  memory: quantity.optional().describe('Memory in bytes, such as `512Mi` or `4Gi`.'),
});

const registry = text()
  .regex(
    /^(?:localhost|\*|[a-z0-9*-]*[.:][a-z0-9*.:-]*)(?:\/[a-z0-9*._-]+)*$/,
    'must be a registry or a part of one, such as ghcr.io or ghcr.io/org; images of Docker Hub are in docker.io',
  )
  .describe('A registry or a part of one; `*` stands for anything between two slashes.');

const host = text()
  .regex(
    /^(?:\*\*\.)?(?:[a-z0-9_-]|\*(?!\*))+(?:\.(?:[a-z0-9_-]|\*(?!\*))+)*$|^\[[0-9a-f:.]+\]$/i,
    'must be a host name such as auth.example.com, *.preview.example.com for one label or **.example.com for any number',
  )
  .describe('A host name; `*` stands for anything within a label, `**` at the front for one label or more.');

const objectKind = text()
  .regex(
    /^(?:\*|(?:[A-Z][A-Za-z0-9]*|\*)(?:\.[a-z0-9-]+)+|[A-Z][A-Za-z0-9]*)$/,
    'must be a kind such as Deployment, Certificate.cert-manager.io, *.cert-manager.io or * for the usual ones',
  )
  .describe('A kind of objects; those of other groups than those of Kubernetes with their group.');

/** Limits above all layers. What a file leaves out breaks none; without a time to live, the limit is the time to live. */
export const policySchema = z
  .strictObject({
    max_ttl: duration().optional().describe('The longest time to live. It also holds for environments that ask for none.'),
    max_idle_timeout: duration().optional().describe('The longest time without visitors before an environment goes to sleep.'),
    hook_timeout: duration()
      .optional()
      .describe('The longest time one hook may take. It also holds for hooks that ask for none.'),
    resources: z
      .strictObject({
        per_component: amounts.optional().describe('The most that one copy of one component may ask for.'),
        per_environment: amounts.optional().describe('The most that all copies of all components may ask for together.'),
      })
      .optional()
      .describe('Processor time and memory.'),
    replicas: count(100_000).optional().describe('The most copies of one component.'),
    environments: z
      .strictObject({
        per_project: count(100_000).optional().describe('The most environments of one project.'),
        per_team: count(100_000).optional().describe('The most environments of all projects of one team.'),
        per_cluster: count(1_000_000).optional().describe('The most environments of all projects.'),
      })
      .optional()
      .describe('How many environments there may be at a time. One too many waits until there is room.'),
    registries: list(registry, 200).optional().describe('Where images may come from. Without it, from anywhere.'),
    providers: list(name, 200).optional().describe('Which providers may be used. Without it, all that there are.'),
    kinds: list(text(), 200).optional().describe('Which kinds of components there may be. Without it, all that there are.'),
    objects: list(objectKind, 500)
      .optional()
      .describe(
        'Which kinds of Kubernetes objects manifests may hold, such as `Deployment` or `Certificate.cert-manager.io`. Without it, what an application is usually made of, which `*` stands for; roles and custom resources are only allowed by name.',
      ),
    hosts: list(host, 200)
      .optional()
      .describe('Under which hosts environments may be reached and may reach external services. Without it, any.'),
  })
  .describe('Hard limits that no file of a project passes.');

export type PolicyLimits = z.output<typeof policySchema>;

export interface Policy {
  readonly limits: PolicyLimits;
  readonly setBy: string;
  /** Null where the file is not read from Git. */
  readonly commit: string | null;
  /** Where the limit at this path, such as `environments.per_team`, is in the file. Asked only when it is broken. */
  placeOf(path: readonly (string | number)[]): Place | undefined;
}
