import { describe, expect, it } from 'vitest';
import type { StoredEvent } from '../event.ts';
import { commitSha, componentName, environmentId, environmentName, eventId, projectId, providerName, revision } from '../ids.ts';
import type { Plan } from '../plan.ts';
import {
  type EnvironmentDetailView,
  environmentDetailSchema,
  environmentSchema,
  planSchema,
  statusSchema,
} from './environments.ts';
import { eventListSchema } from './history.ts';

const version = {
  revision: 'f'.repeat(32),
  commit: '1'.repeat(40),
  health: 'ready',
  message: '',
  since: '2026-01-05T09:00:00.000Z',
} as const;

const environment: EnvironmentDetailView = {
  id: '0'.repeat(16),
  name: 'shop-serene-ocean-4207',
  alias: 'shop-preview-login',
  project: 'shop',
  source: { kind: 'branch', name: 'preview/login' },
  commit: '1'.repeat(40),
  author: null,
  title: null,
  labels: [],
  url: 'http://shop-serene-ocean-4207.localhost:7070',
  phase: 'Ready',
  summary: '',
  createdAt: '2026-01-05T09:00:00.000Z',
  expiresAt: null,
  conditions: [
    {
      type: 'Ready',
      status: 'True',
      reason: 'Answering',
      message: 'the wanted version answers',
      lastTransitionTime: '2026-01-05T09:00:00.000Z',
      observedGeneration: '1'.repeat(40),
    },
  ],
  components: [
    {
      name: 'web',
      provider: 'process',
      entry: true,
      dependsOn: ['api'],
      current: version,
      next: null,
      retiring: false,
      upstream: 'http://127.0.0.1:1',
      outputs: { url: 'http://127.0.0.1:1' },
      parts: [{ instance: 'a1', image: null, restarts: 2, message: 'it exited with 1' }],
      usage: { cpuSeconds: 1.5, cpuCores: null, memoryBytes: 1024 },
    },
  ],
};

const plan: Plan = {
  environment: environmentId('0'.repeat(16)),
  name: environmentName('shop-serene-ocean-4207'),
  wanted: true,
  because: 'branch preview/login matches preview/**',
  actions: [
    {
      type: 'create',
      component: componentName('web'),
      provider: providerName('process'),
      revision: revision('f'.repeat(32)),
      reason: 'web does not exist yet',
    },
    {
      type: 'update',
      component: componentName('api'),
      provider: providerName('process'),
      revision: revision('f'.repeat(32)),
      reason: 'api runs another version',
    },
    {
      type: 'destroy',
      component: componentName('old'),
      provider: providerName('process'),
      reason: 'old is no longer in eph.yaml',
    },
    {
      type: 'wait',
      component: componentName('mail'),
      code: 'component.draining',
      reason: 'it drains',
      until: '2026-01-05T09:00:02.000Z',
    },
    { type: 'wait', code: 'artifact.missing', reason: 'there is no image yet' },
  ],
};

const event: StoredEvent = {
  id: eventId('0'.repeat(16)),
  at: '2026-01-05T09:00:00.000Z',
  type: 'environment.wanted',
  project: projectId('shop'),
  environment: environmentId('0'.repeat(16)),
  message: 'shop-serene-ocean-4207 is wanted',
  details: { commit: commitSha('1'.repeat(40)), attempts: 2, held: false, reason: null },
};

describe('an answer of the API', () => {
  it.each([
    ['about an environment', environmentDetailSchema, environment],
    [
      'about a plan, with every kind of action',
      planSchema,
      { plans: [plan], faults: [{ code: 'forge.unreachable', message: 'no answer' }] },
    ],
    ['about events', eventListSchema, { events: [event] }],
  ])('%s arrives as it was sent', (_, schema, value) => {
    expect(schema.parse(JSON.parse(JSON.stringify(value)))).toEqual(value);
  });

  it('about the status is part of that about the environment', () => {
    expect(environment).toMatchObject(statusSchema.parse(environment));
  });

  it('about all environments shows neither parts nor usage', () => {
    const [component] = environmentSchema.parse(environment).components;
    expect(component).toHaveProperty('upstream');
    expect(component).not.toHaveProperty('parts');
    expect(component).not.toHaveProperty('usage');
  });

  it('of a newer ephd may say more than a client knows', () => {
    expect(environmentDetailSchema.parse({ ...environment, owner: 'ann' })).toEqual(environment);
  });

  it.each([
    ['a phase there is not', { ...environment, phase: 'Sleeping' }],
    ['no commit at all', { ...environment, commit: undefined }],
    ['a condition there is not', { ...environment, conditions: [{ ...environment.conditions[0], type: 'Happy' }] }],
  ])('with %s is refused', (_, value) => {
    expect(environmentSchema.safeParse(value).success).toBe(false);
  });
});
