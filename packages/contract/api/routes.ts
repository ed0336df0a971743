import { z } from 'zod';
import { configViewSchema, validationSchema } from './config.ts';
import {
  environmentDetailSchema,
  environmentPageSchema,
  environmentQuerySchema,
  eventListSchema,
  logLineSchema,
  planSchema,
  statusSchema,
  versionSchema,
  whySchema,
} from './environments.ts';
import { healthSchema, readinessSchema, serverSchema, wokenSchema } from './health.ts';
import {
  capabilitiesSchema,
  heldSchema,
  projectPageSchema,
  projectQuerySchema,
  sourcePageSchema,
  sourceQuerySchema,
} from './projects.ts';
import { flag, whole } from './query-values.ts';
import { environmentRequestSchema, extensionSchema, requestAnswerSchema } from './requests.ts';
import type { AnswerShape, Route } from './route.ts';

const json = <Schema extends z.ZodType>(schema: Schema) => ({ type: 'json', status: 200, schema }) as const satisfies AnswerShape;
const accepted = <Schema extends z.ZodType>(schema: Schema) =>
  ({ type: 'json', status: 202, schema }) as const satisfies AnswerShape;
const stream = <Schema extends z.ZodType>(schema: Schema) => ({ type: 'stream', schema }) as const satisfies AnswerShape;
const none = { type: 'none' } as const satisfies AnswerShape;

const eventQuery = z.strictObject({
  limit: whole(1000).default(100).describe('The newest so many.'),
});

const mostLines = 10_000;
const mostSpecBytes = 1024 * 1024;

/** Every route of ephd. One without a handler does not compile, nor does one without a permission. */
export const routes = {
  listEnvironments: {
    method: 'GET',
    path: '/api/v1/environments',
    permission: 'environments.read',
    target: 'each',
    summary: 'Lists environments by name, a page at a time.',
    query: environmentQuerySchema,
    etag: true,
    answer: json(environmentPageSchema),
  },
  createEnvironment: {
    method: 'POST',
    path: '/api/v1/environments',
    permission: 'environments.change',
    target: 'each',
    summary: 'Asks for an environment. It is written to Git, and the loop then creates it.',
    body: { type: 'json', schema: environmentRequestSchema },
    answer: accepted(requestAnswerSchema),
    slow: true,
  },
  readEnvironment: {
    method: 'GET',
    path: '/api/v1/environments/{id}',
    permission: 'environments.read',
    target: 'environment',
    summary: 'Shows an environment with what runs for its components, read from its providers now.',
    answer: json(environmentDetailSchema),
  },
  removeEnvironment: {
    method: 'DELETE',
    path: '/api/v1/environments/{id}',
    permission: 'environments.change',
    target: 'environment',
    summary: 'Asks for the end of an environment. It is written to Git, and the loop then removes it.',
    query: z.strictObject({ force: flag.describe('Delete a branch even if it holds commits that are nowhere else.') }),
    answer: accepted(requestAnswerSchema),
    slow: true,
  },
  readStatus: {
    method: 'GET',
    path: '/api/v1/environments/{id}/status',
    permission: 'environments.read',
    target: 'environment',
    summary: 'Shows phase, summary and conditions.',
    answer: json(statusSchema),
  },
  readWhy: {
    method: 'GET',
    path: '/api/v1/environments/{id}/why',
    permission: 'environments.read',
    target: 'environment',
    summary: 'Says why an environment exists and is as it is.',
    answer: json(whySchema),
  },
  readConfig: {
    method: 'GET',
    path: '/api/v1/environments/{id}/config',
    permission: 'values.read',
    target: 'environment',
    summary: 'Shows the values of each component, and where each comes from.',
    answer: json(configViewSchema),
  },
  releaseEnvironment: {
    method: 'POST',
    path: '/api/v1/environments/{id}/release',
    permission: 'environments.operate',
    target: 'environment',
    summary: 'Lets an environment go that the deletion guard holds.',
    answer: none,
  },
  pinEnvironment: {
    method: 'POST',
    path: '/api/v1/environments/{id}/pin',
    permission: 'environments.change',
    target: 'environment',
    summary:
      'Keeps an environment: it does not expire before the policy of the platform says so. Writes the label `preview:keep`.',
    answer: accepted(requestAnswerSchema),
    slow: true,
  },
  unpinEnvironment: {
    method: 'DELETE',
    path: '/api/v1/environments/{id}/pin',
    permission: 'environments.change',
    target: 'environment',
    summary: 'Takes the label `preview:keep` off.',
    answer: accepted(requestAnswerSchema),
    slow: true,
  },
  extendEnvironment: {
    method: 'POST',
    path: '/api/v1/environments/{id}/extend',
    permission: 'environments.change',
    target: 'environment',
    summary: 'Sets how long an environment may live after its label was set. Writes a label such as `preview:72h`.',
    body: { type: 'json', schema: extensionSchema },
    answer: accepted(requestAnswerSchema),
    slow: true,
  },
  pauseEnvironment: {
    method: 'POST',
    path: '/api/v1/environments/{id}/pause',
    permission: 'environments.change',
    target: 'environment',
    summary: 'Leaves an environment as it is, whatever is pushed. Writes the label `preview:pause`.',
    answer: accepted(requestAnswerSchema),
    slow: true,
  },
  resumeEnvironment: {
    method: 'DELETE',
    path: '/api/v1/environments/{id}/pause',
    permission: 'environments.change',
    target: 'environment',
    summary: 'Takes the label `preview:pause` off.',
    answer: accepted(requestAnswerSchema),
    slow: true,
  },
  readLogs: {
    method: 'GET',
    path: '/api/v1/environments/{id}/logs',
    permission: 'logs.read',
    target: 'environment',
    summary: 'Streams the log of its components, oldest line first.',
    query: z.strictObject({
      component: z.string().max(63).optional().describe('Only of this one.'),
      tail: whole(mostLines)
        .optional()
        .describe('At most so many lines of each component that are there already; 100, or with `since` all.'),
      since: z.string().max(100).optional().describe('Only newer lines: a time, or an age such as `10m`.'),
      follow: flag.describe('Go on with new lines.'),
    }),
    answer: stream(logLineSchema),
  },
  listEventsOfEnvironment: {
    method: 'GET',
    path: '/api/v1/environments/{id}/events',
    permission: 'environments.read',
    target: 'each',
    summary: 'Lists what happened to an environment, oldest first. An id is enough: history outlives the environment.',
    query: eventQuery,
    answer: json(eventListSchema),
  },
  listEvents: {
    method: 'GET',
    path: '/api/v1/events',
    permission: 'environments.read',
    target: 'each',
    summary: 'Lists what happened, oldest first.',
    query: eventQuery,
    answer: json(eventListSchema),
  },
  readPlan: {
    method: 'GET',
    path: '/api/v1/plan',
    permission: 'environments.read',
    target: 'each',
    summary: 'Reads Git and all providers, and shows what would be done.',
    answer: json(planSchema),
    slow: true,
  },
  listProjects: {
    method: 'GET',
    path: '/api/v1/projects',
    permission: 'environments.read',
    target: 'each',
    summary: 'Lists projects by name, a page at a time.',
    query: projectQuerySchema,
    answer: json(projectPageSchema),
    etag: true,
  },
  listSources: {
    method: 'GET',
    path: '/api/v1/projects/{project}/sources',
    permission: 'environments.read',
    target: 'project',
    summary: 'Lists branches, tags and pull requests as they were read last, whether each gets an environment, and why.',
    query: sourceQuerySchema,
    answer: json(sourcePageSchema),
    etag: true,
  },
  listHeld: {
    method: 'GET',
    path: '/api/v1/held',
    permission: 'held.read',
    target: 'each',
    summary: 'Lists environments that nothing removes until an operator releases them.',
    answer: json(heldSchema),
  },
  listCapabilities: {
    method: 'GET',
    path: '/api/v1/providers/capabilities',
    permission: 'server.read',
    target: 'server',
    summary: 'Lists the providers of this ephd, and what each can do.',
    answer: json(capabilitiesSchema),
  },
  validateConfig: {
    method: 'POST',
    path: '/api/v1/config/validate',
    permission: 'environments.read',
    target: 'server',
    summary: 'Checks an `eph.yaml` that nobody has pushed yet.',
    query: z.strictObject({
      file: z.string().max(1000).optional().describe('What faults call the file.'),
      project: z.string().max(63).optional().describe('Whose limits count.'),
    }),
    body: { type: 'bytes', contentType: 'text/yaml', most: mostSpecBytes },
    answer: json(validationSchema),
  },
  readVersion: {
    method: 'GET',
    path: '/api/v1/version',
    permission: 'account.read',
    target: 'server',
    summary: 'Shows the version of ephd.',
    answer: json(versionSchema),
  },
  readServer: {
    method: 'GET',
    path: '/api/v1/server',
    permission: 'server.read',
    target: 'server',
    summary: 'Shows how ephd is: who leads, what it waits for, its history, its providers, and faults of projects.',
    answer: json(serverSchema),
  },
  readHealth: {
    method: 'GET',
    path: '/healthz',
    permission: null,
    target: 'server',
    summary: 'Says that ephd runs.',
    answer: json(healthSchema),
  },
  readReadiness: {
    method: 'GET',
    path: '/readyz',
    permission: null,
    target: 'server',
    summary: 'Says whether ephd leads and has read all projects once; 503 until then.',
    answer: json(readinessSchema),
  },
  readMetrics: {
    method: 'GET',
    path: '/metrics',
    permission: 'server.read',
    target: 'server',
    summary: 'Metrics for Prometheus.',
    answer: { type: 'text', contentType: 'text/plain; version=0.0.4; charset=utf-8' },
  },
  wake: {
    method: 'POST',
    path: '/hooks/git',
    permission: 'hooks.wake',
    target: 'server',
    summary: 'Starts a pass now, for a post-receive hook. Nothing of the body is read.',
    query: z.strictObject({ project: z.string().max(63).optional().describe('Only of this project.') }),
    answer: accepted(wokenSchema),
  },
  readSpecSchema: {
    method: 'GET',
    path: '/schemas/eph.schema.json',
    permission: 'account.read',
    target: 'server',
    summary: 'The JSON Schema of `eph.yaml`, for editors.',
    answer: json(z.record(z.string(), z.unknown())),
  },
  readOpenApi: {
    method: 'GET',
    path: '/openapi.json',
    permission: 'account.read',
    target: 'server',
    summary: 'This description of the API.',
    answer: json(z.record(z.string(), z.unknown())),
  },
} as const satisfies Record<string, Route>;

export type Routes = typeof routes;
export type RouteName = keyof Routes;
