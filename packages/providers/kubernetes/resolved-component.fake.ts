import {
  commitSha,
  componentName,
  environmentId,
  environmentName,
  type Identity,
  type JsonMap,
  projectId,
  providerName,
  type ResolvedComponent,
  revision,
} from '@eph/contract';
import type { EnvironmentFacts } from './prepare-objects.ts';

export const shopIdentity: Identity = {
  id: environmentId('0123456789abcdef'),
  name: environmentName('shop-calm-bay-1234'),
  project: projectId('shop'),
  source: { kind: 'pr', name: '7' },
  createdAt: '2026-01-01T00:00:00.000Z',
};

export const resolvedComponent = (name: string, values: JsonMap, more: Partial<ResolvedComponent> = {}): ResolvedComponent => ({
  name: componentName(name),
  provider: providerName('staging'),
  commit: commitSha('1'.repeat(40)),
  artifact: null,
  entry: false,
  dependsOn: [],
  values,
  revision: revision('a'.repeat(32)),
  ...more,
});

export const factsOf = (more: Partial<EnvironmentFacts> = {}): EnvironmentFacts => ({
  owner: 'main',
  identity: shopIdentity,
  namespace: 'eph-shop-1234',
  secretOf: (name) => (name === 'TOKEN' ? 'hush' : undefined),
  url: 'https://shop.example.com',
  imagePullSecrets: [],
  accessModesOf: () => undefined,
  ...more,
});
