import { type Policy, type PolicyLimits, policySchema } from '@eph/contract';
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type ComponentFacts, checkPolicy, limitDuration, type PolicyFacts } from './policy.ts';

/** Every limit stands in the line that its path is long. */
const policy = (limits: unknown, setBy = 'dev/env.yaml', commit: string | null = '0123456789abcdef'): Policy => ({
  limits: policySchema.parse(limits),
  setBy,
  commit,
  placeOf: (path) => ({ line: path.join('.').length, column: 1 }),
});

const messages = (limits: unknown, facts: PolicyFacts): readonly string[] =>
  checkPolicy([policy(limits)], facts).map(({ message }) => message);

const component = (name: string, facts: Partial<ComponentFacts> = {}): ComponentFacts => ({
  name,
  kind: { path: `the kind of ${name}`, value: 'Deployment' },
  replicas: [],
  cpu: [],
  memory: [],
  ...facts,
});

describe('a limit', () => {
  it('that is broken names itself, the value, where that stands, and who set the limit', () => {
    const facts = { ttl: { path: 'environment.ttl', value: 7 * 86_400, where: () => 'eph.yaml:12' } };
    expect(checkPolicy([policy({ max_ttl: '72h' })], facts)).toEqual([
      {
        code: 'policy.exceeded',
        limit: 'max_ttl',
        message: 'environment.ttl is 7d (eph.yaml:12); the limit max_ttl is 3d, set by dev/env.yaml:7 at 0123456',
      },
    ]);
  });

  it('whose place nobody knows still names the file', () => {
    const unplaced: Policy = { ...policy({ max_ttl: '1h' }, 'ephd.yaml', null), placeOf: () => undefined };
    expect(checkPolicy([unplaced], { ttl: { path: 'environment.ttl', value: 7200 } })[0]?.message).toBe(
      'environment.ttl is 2h; the limit max_ttl is 1h, set by ephd.yaml',
    );
  });

  it('is broken by more than it says, and not by exactly that', () => {
    const at = (value: number): PolicyFacts => ({ ttl: { path: 'environment.ttl', value } });
    expect(messages({ max_ttl: '1h' }, at(3600))).toEqual([]);
    expect(messages({ max_ttl: '1h' }, at(3601))).toHaveLength(1);
  });

  it('is not broken by what nobody said', () => {
    const everything = {
      max_ttl: '1h',
      max_idle_timeout: '1h',
      hook_timeout: '1m',
      resources: { per_component: { cpu: 1, memory: 1 }, per_environment: { cpu: 1, memory: 1 } },
      replicas: 1,
      environments: { per_project: 1, per_team: 1, per_cluster: 1 },
      registries: ['ghcr.io'],
      providers: ['process'],
      kinds: ['Deployment'],
      hosts: ['example.com'],
    };
    expect(messages(everything, {})).toEqual([]);
    expect(messages(everything, { components: [component('web'), component('api')] })).toEqual([]);
    expect(messages({}, { ttl: { path: 'environment.ttl', value: 1e9 } })).toEqual([]);
  });

  it('holds for everything at once', () => {
    const limits = {
      max_idle_timeout: '1h',
      hook_timeout: '1m',
      replicas: 2,
      registries: ['ghcr.io/org', 'docker.io/library'],
      providers: ['kubernetes'],
      kinds: ['Deployment'],
      hosts: ['*.preview.example.com'],
    };
    const facts: PolicyFacts = {
      idleTimeout: { path: 'environment.idle_timeout', value: 14_400 },
      hooks: [
        { path: 'hooks.post_create.0.timeout', value: 300 },
        { path: 'hooks.post_create.1.timeout', value: 30 },
      ],
      providers: [{ path: 'providers.primary', value: 'process' }],
      images: [
        { path: 'services.0.image', value: 'evil/redis' },
        { path: 'services.1.image', value: 'ghcr.io/org/../x' },
        { path: 'services.2.image', value: 'redis:7' },
      ],
      hosts: [
        { path: 'environment.subdomain_template', value: 'shop.evil.com' },
        { path: 'environment.subdomain_template', value: 'shop.preview.example.com' },
      ],
      endpoints: [{ path: 'services.3.endpoint', value: 'https://u:hunter2@evil.com/', shown: 'evil.com' }],
      components: [
        component('web', { replicas: [{ path: 'web.replicas', value: 3 }] }),
        component('db', { kind: { path: 'the kind of db', value: 'Database' } }),
      ],
    };
    expect(messages(limits, facts)).toEqual([
      'environment.idle_timeout is 4h; the limit max_idle_timeout is 1h, set by dev/env.yaml:16 at 0123456',
      'hooks.post_create.0.timeout is 5m; the limit hook_timeout is 1m, set by dev/env.yaml:12 at 0123456',
      'web.replicas is 3; the limit replicas is 2, set by dev/env.yaml:8 at 0123456',
      'services.0.image is evil/redis; the limit registries is ghcr.io/org, docker.io/library, set by dev/env.yaml:10 at 0123456',
      'services.1.image is ghcr.io/org/../x, which cannot be understood; the limit registries is ghcr.io/org, docker.io/library, set by dev/env.yaml:10 at 0123456',
      'providers.primary is process; the limit providers is kubernetes, set by dev/env.yaml:9 at 0123456',
      'the kind of db is Database; the limit kinds is Deployment, set by dev/env.yaml:5 at 0123456',
      'environment.subdomain_template is shop.evil.com; the limit hosts is *.preview.example.com, set by dev/env.yaml:5 at 0123456',
      'services.3.endpoint is evil.com; the limit hosts is *.preview.example.com, set by dev/env.yaml:5 at 0123456',
    ]);
  });

  it('says no more than fits', () => {
    const many = Array.from({ length: 100 }, (_, index) => `r${index}.example.com`);
    const [message = ''] = messages({ registries: many }, { images: [{ path: 'services.0.image', value: 'x'.repeat(10_000) }] });
    expect(message).toContain('r9.example.com and 90 more');
    expect(message.length).toBeLessThan(600);
  });
});

describe('resources', () => {
  const cpu = (path: string, value: string) => ({ path, value });
  const web = component('web', {
    replicas: [{ path: 'web.replicas', value: 3 }],
    cpu: [cpu('web.resources.requests.cpu', '50m'), cpu('web.resources.limits.cpu', '100m')],
    memory: [cpu('web.resources.limits.memory', '1536Mi')],
  });

  it('are limited for one copy of one component', () => {
    expect(messages({ resources: { per_component: { cpu: '99m', memory: '1.5Gi' } } }, { components: [web] })).toEqual([
      'web.resources.limits.cpu is 100m; the limit resources.per_component.cpu is 99m, set by dev/env.yaml:27 at 0123456',
    ]);
  });

  it('are limited for all copies of all components', () => {
    const limits = { resources: { per_environment: { cpu: '299m', memory: '4Gi' } } };
    expect(messages(limits, { components: [web, component('quiet')] })).toEqual([
      'all components together ask for 300m of cpu; the limit resources.per_environment.cpu is 299m, set by dev/env.yaml:29 at 0123456',
      'all components together ask for 4.5Gi of memory; the limit resources.per_environment.memory is 4Gi, set by dev/env.yaml:32 at 0123456',
    ]);
  });

  it('may be used up to the last bit, though fractions are binary', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 2000 }), fc.integer({ min: 1, max: 50 }), (milli, copies) => {
        const one = component('web', { replicas: [{ path: 'web.replicas', value: copies }], cpu: [cpu('x', `${milli}m`)] });
        const limit = (amount: number) => ({ resources: { per_environment: { cpu: `${amount}m` } } });
        expect(messages(limit(milli * copies), { components: [one] })).toEqual([]);
        expect(messages(limit(milli * copies - 1), { components: [one] })).toHaveLength(1);
      }),
    );
  });

  it('of a component that follows the load count with the most copies', () => {
    const scaled = { ...web, replicas: [...web.replicas, { path: 'web.autoscaling.maxReplicas', value: 10 }] };
    expect(messages({ resources: { per_environment: { cpu: '999m' } } }, { components: [scaled] })[0]).toContain(
      'ask for 1 of cpu',
    );
  });
});

describe('the number of environments', () => {
  it('is limited per project, team and cluster; one too many waits', () => {
    const limits = { environments: { per_project: 1, per_team: 5, per_cluster: 10 } };
    expect(checkPolicy([policy(limits, 'ephd.yaml', null)], { environments: { project: 1, team: 5, cluster: 9 } })).toEqual([
      {
        code: 'policy.full',
        limit: 'environments.per_project',
        message:
          'the project has 1 environment already; the limit environments.per_project is 1, set by ephd.yaml:24; remove one, or have the limit raised',
      },
      {
        code: 'policy.full',
        limit: 'environments.per_team',
        message:
          'the team has 5 environments already; the limit environments.per_team is 5, set by ephd.yaml:21; remove one, or have the limit raised',
      },
    ]);
  });

  it('of a project without a team is not limited by team', () => {
    expect(messages({ environments: { per_team: 0 } }, { environments: { project: 5, cluster: 5 } })).toEqual([]);
  });
});

describe('several policies', () => {
  it('must all hold, and each speaks for itself', () => {
    const policies = [policy({ replicas: 2 }, 'ephd.yaml', null), policy({ replicas: 1 }), policy({ replicas: 5 })];
    const facts = { components: [component('web', { replicas: [{ path: 'web.replicas', value: 3 }] })] };
    expect(checkPolicy(policies, facts).map(({ message }) => message)).toEqual([
      'web.replicas is 3; the limit replicas is 2, set by ephd.yaml:8',
      'web.replicas is 3; the limit replicas is 1, set by dev/env.yaml:8 at 0123456',
    ]);
  });

  it('cap a time to live, and give one where there is none', () => {
    const policies = [policy({ max_ttl: '3d' }), policy({ max_ttl: '1d' }), policy({})];
    expect(limitDuration(policies, 'max_ttl', 2 * 86_400)).toBe(86_400);
    expect(limitDuration(policies, 'max_ttl', 3600)).toBe(3600);
    expect(limitDuration(policies, 'max_ttl', undefined)).toBe(86_400);
    expect(limitDuration([], 'max_ttl', undefined)).toBeUndefined();
    expect(limitDuration([policy({})], 'hook_timeout', 5)).toBe(5);
  });

  it('forbid whatever one of them forbids, in any order', () => {
    const limits: fc.Arbitrary<PolicyLimits> = fc
      .record({ replicas: fc.nat(6), max_ttl: fc.integer({ min: 1, max: 9 }).map((hours) => `${hours}h`) }, { requiredKeys: [] })
      .map((one) => policySchema.parse(one));
    fc.assert(
      fc.property(fc.array(limits, { maxLength: 5 }), fc.nat(6), fc.integer({ min: 1, max: 9 }), (all, replicas, hours) => {
        const facts: PolicyFacts = {
          ttl: { path: 'environment.ttl', value: hours * 3600 },
          components: [component('web', { replicas: [{ path: 'web.replicas', value: replicas }] })],
        };
        const policies = all.map((one, index): Policy => ({ ...policy({}, `file${index}`), limits: one }));
        const found = (some: readonly Policy[]) => checkPolicy(some, facts).map(({ message }) => message);
        expect(found(policies).toSorted()).toEqual(policies.flatMap((one) => found([one])).toSorted());
        expect(found(policies.toReversed()).toSorted()).toEqual(found(policies).toSorted());
      }),
    );
  });
});
