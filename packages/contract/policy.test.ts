import { describe, expect, it } from 'vitest';
import { policySchema } from './policy.ts';

const faultsOf = (policy: unknown): readonly string[] =>
  policySchema.safeParse(policy).error?.issues.map((issue) => `${issue.path.join('.')}: ${issue.message}`) ?? [];

describe('a policy', () => {
  it('may limit everything there is', () => {
    const policy = {
      max_ttl: '72h',
      max_idle_timeout: '1d',
      hook_timeout: '10m',
      resources: { per_component: { cpu: 2, memory: '4Gi' }, per_environment: { cpu: '8', memory: '16Gi' } },
      replicas: 3,
      environments: { per_project: 10, per_team: 0, per_cluster: 100 },
      registries: ['ghcr.io', 'ghcr.io/org', 'localhost:5000', 'localhost', 'docker.io/library', '*.example.com/*/x'],
      providers: ['kubernetes'],
      kinds: ['Deployment'],
      hosts: ['example.com', '*.example.com', '**.example.com', 'pr-*.example.com', 'localhost', '[::1]', '10.0.0.1'],
    };
    expect(faultsOf(policy)).toEqual([]);
    expect(policySchema.parse(policy)).toMatchObject({
      max_ttl: 259_200,
      hook_timeout: 600,
      resources: { per_component: { cpu: '2' } },
    });
  });

  it('may limit nothing', () => {
    expect(policySchema.parse({})).toEqual({});
  });

  it.each(['ghcr', 'ghcr.io/', 'https://ghcr.io', 'GHCR.io', 'ghcr.io//org', ''])('has no registry %j', (registry) => {
    expect(faultsOf({ registries: [registry] })).not.toEqual([]);
  });

  it.each(['https://example.com', 'a.**.com', '***.com', 'a..b', '.a', 'a b', '', 'example.com:80'])('has no host %j', (host) => {
    expect(faultsOf({ hosts: [host] })).not.toEqual([]);
  });

  it.each([
    [{ max_tll: '1h' }],
    [{ max_ttl: 3 }],
    [{ replicas: -1 }],
    [{ replicas: 1.5 }],
    [{ resources: { cpu: '1' } }],
    [{ resources: { per_component: { cpu: 'much' } } }],
    [{ registries: [] }],
    [null],
  ])('is not %j', (policy) => {
    expect(faultsOf(policy)).not.toEqual([]);
  });
});
