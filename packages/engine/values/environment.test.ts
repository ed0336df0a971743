import {
  type ConfigurationLayers,
  noConfiguration,
  type ObservedComponent,
  type Policy,
  type UsableConfiguration,
} from '@eph/contract';
import { describe, expect, it } from 'vitest';
import { createComponentInput, fakeProvider, parseSound } from './component-input.fake.ts';
import { computeEnvironment, type EnvironmentInput, explainEnvironment } from './environment.ts';
import { SharedValues } from './shared-values.ts';

const configured = (policies: readonly Policy[] = [], layers: ConfigurationLayers = noConfiguration): UsableConfiguration => ({
  state: policies.length === 0 ? 'none' : 'current',
  commit: null,
  faults: [],
  mark: '1',
  layers,
  environment: {},
  platform: {},
  policies,
});

const policy = (limits: Policy['limits']): Policy => ({
  limits,
  setBy: 'ephd.yaml',
  commit: null,
  placeOf: () => ({ line: 7, column: 3 }),
});

const input = (lines: string, changes: Partial<EnvironmentInput> = {}): EnvironmentInput => {
  const parsed = parseSound(
    `version: "1.0"\nname: shop\n${lines}process: { services: { web: { command: run, resources: { limits: { cpu: 4 } } } } }\n`,
  );
  return {
    ...createComponentInput(parsed),
    parsed,
    aliases: [],
    configuration: configured(),
    providers: [fakeProvider('process')],
    countOthers: () => ({ project: 0, team: 0, cluster: 0 }),
    shared: new SharedValues(),
    ...changes,
  };
};

const compute = (lines: string, changes: Partial<EnvironmentInput> = {}) => computeEnvironment(input(lines, changes));

const small = policy({ resources: { per_component: { cpu: '2' } } });

describe('an environment', () => {
  it('has every component of the file', () => {
    expect(compute('')).toMatchObject({
      components: [{ state: 'resolved', component: { name: 'web' } }],
      faults: [],
      obstacles: [],
      providers: ['process'],
      remarks: [],
    });
  });

  it('is not made when the file asks for protection that cannot be given', () => {
    const { components, faults } = compute('security: { environment_access: { default: protected } }\n');
    expect(components).toEqual([]);
    expect(faults).toEqual([expect.objectContaining({ code: 'feature.unavailable', disposition: 'stall' })]);
    expect(faults[0]?.message).toContain('eph.yaml:3:35: security.environment_access.default');
  });

  it('is not made under a name that its source cannot fill, and the fault says what it has', () => {
    const { components, faults } = compute('environment: { name_template: "pr-{pr_number}" }\n');
    expect(components).toEqual([]);
    expect(faults[0]?.message).toMatch(/^eph\.yaml:3:16: environment\.name_template: .*\{pr_number\}.*\{ref_name\}/);
  });

  it('goes to the fallback when the primary provider is not configured, and says so', () => {
    const both = 'providers: { primary: kubernetes, fallback: process }\nkubernetes: { manifests: [./k8s] }\n';
    expect(compute(both)).toMatchObject({
      components: [{ state: 'resolved', component: { provider: 'process' } }],
      faults: [],
      remarks: ['provider kubernetes is not configured here; fallback process is used'],
    });
  });

  it('stalls when none of its providers is configured, and keeps to itself what it would have been', () => {
    const { components, faults, providers } = compute('provider: kubernetes\nkubernetes: { manifests: [./k8s] }\n');
    expect({ components, providers }).toEqual({ components: [], providers: [] });
    expect(faults).toMatchObject([
      { code: 'provider.unknown', message: 'provider kubernetes is not configured here; this server has process' },
    ]);
  });

  it('names its providers also while it has faults', () => {
    const { faults, providers } = compute('environment: { env: { A: outputs/web } }\n');
    expect(faults).toHaveLength(1);
    expect(providers).toEqual(['process']);
  });

  it('stays where it is when another provider of the type comes before it', () => {
    const providers = [fakeProvider('first', 'process'), fakeProvider('second', 'process')];
    const seen = { name: 'web', provider: 'second' } as unknown as ObservedComponent;
    expect(compute('', { providers }).providers).toEqual(['first']);
    expect(compute('', { providers, observed: [seen] }).providers).toEqual(['second']);
    expect(compute('provider: first\n', { providers, observed: [seen] }).providers).toEqual(['first']);
  });

  it('has a remark about an override for a component that it does not have', () => {
    const layers: ConfigurationLayers = {
      ...noConfiguration,
      overridden: ['web', 'wep'],
      overridesOf: (name) => [
        {
          source: {
            layer: 'override',
            file: 'dev/apps/shop/shop/env.yaml',
            commit: null,
            place: (path) => (path.length === 0 ? { path: `data.overrides.${name}`, line: 12, column: 5 } : undefined),
          },
          values: {},
        },
      ],
    };
    const changes = { configuration: configured([], layers) };
    const remarks = ['dev/apps/shop/shop/env.yaml:12:5: data.overrides.wep: eph.yaml has no component wep; did you mean "web"?'];
    expect(compute('', changes)).toMatchObject({ remarks, faults: [], components: [{ state: 'resolved' }] });
    expect(explainEnvironment(input('', changes)).remarks).toEqual(remarks);
  });
});

describe('under limits', () => {
  it('what passes one is a fault that names value, limit and who set it', () => {
    const { components, faults } = compute('', { configuration: configured([small]) });
    expect(components).toEqual([]);
    expect(faults).toMatchObject([
      {
        code: 'policy.exceeded',
        disposition: 'stall',
        message: 'web.resources.limits.cpu is 4 (eph.yaml:3); the limit resources.per_component.cpu is 2, set by ephd.yaml:7',
      },
    ]);
  });

  it('one environment too many waits', () => {
    const changes = {
      configuration: configured([policy({ environments: { per_project: 2 } })]),
      countOthers: () => ({ project: 2, cluster: 2 }),
    };
    const { components, faults, obstacles } = compute('', changes);
    expect({ components, faults }).toEqual({ components: [], faults: [] });
    expect(obstacles).toMatchObject([{ code: 'policy.full', message: expect.stringContaining('per_project') }]);
  });

  it('nobody counts where no number is limited', () => {
    const countOthers = (): never => {
      throw new Error('counted');
    };
    expect(compute('', { configuration: configured([policy({ replicas: 9 })]), countOthers }).faults).toEqual([]);
  });

  it.each([
    ['its name', ['local'], 0],
    ['its type', ['process'], 0],
    ['another name', ['staging'], 1],
  ])('a provider is allowed by %s or not at all', (_, providers, violations) => {
    const changes = { configuration: configured([policy({ providers })]), providers: [fakeProvider('local', 'process')] };
    expect(compute('', changes).faults).toHaveLength(violations);
  });
});

describe('an explanation', () => {
  it('names every value, also where a limit is passed', () => {
    const { components, violations, problems } = explainEnvironment(input('', { configuration: configured([small]) }));
    expect(violations).toHaveLength(1);
    expect(problems).toEqual([]);
    expect(components[0]?.values.map((one) => one.path.join('.'))).toEqual(
      expect.arrayContaining(['command', 'replicas', 'env.EPH_URL']),
    );
  });

  it('keeps apart what is no limit', () => {
    const { components, violations, problems } = explainEnvironment(input('provider: staging\n'));
    expect(components).toMatchObject([{ name: 'web', provider: 'process' }]);
    expect(violations).toEqual([]);
    expect(problems).toEqual(['provider staging is not configured here; this server has process']);
  });
});
