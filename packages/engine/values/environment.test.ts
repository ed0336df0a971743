import { type ConfigurationWord, noConfiguration, type Policy, providerName } from '@eph/contract';
import { describe, expect, it } from 'vitest';
import { createComponentInput, parseSound } from './component-input.fake.ts';
import { computeEnvironment, type EnvironmentInput, explainEnvironment } from './environment.ts';
import { Preparations } from './prepare.ts';

const told = (policies: readonly Policy[] = []): ConfigurationWord => ({
  state: policies.length === 0 ? 'none' : 'current',
  commit: null,
  faults: [],
  mark: '1',
  layers: noConfiguration,
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
    `version: "1.0"\nname: shop\n${lines}process: { services: { web: { command: run, replicas: 4 } } }\n`,
  );
  return {
    ...createComponentInput(parsed),
    parsed,
    aliases: [],
    told: told(),
    providers: [providerName('process')],
    countOthers: () => ({ project: 0, team: 0, cluster: 0 }),
    preparations: new Preparations(),
    ...changes,
  };
};

const compute = (lines: string, changes: Partial<EnvironmentInput> = {}) => computeEnvironment(input(lines, changes));

describe('an environment', () => {
  it('has a wish for every component', () => {
    const { wishes, faults, obstacles } = compute('');
    expect({ faults, obstacles, names: wishes.map((wish) => wish.state) }).toEqual({
      faults: [],
      obstacles: [],
      names: ['resolved'],
    });
  });

  it('is not made when the file asks for protection that cannot be given', () => {
    const { wishes, faults } = compute('security: { environment_access: { default: protected } }\n');
    expect(wishes).toEqual([]);
    expect(faults).toEqual([expect.objectContaining({ code: 'feature.unavailable', disposition: 'stall' })]);
    expect(faults[0]?.message).toContain('eph.yaml:3:35: security.environment_access.default');
  });

  it('is not made under a name that its source cannot fill, and the fault says what it has', () => {
    const { wishes, faults } = compute('environment: { name_template: "pr-{pr_number}" }\n');
    expect(wishes).toEqual([]);
    expect(faults[0]?.message).toMatch(/^eph\.yaml:3:16: environment\.name_template: .*\{pr_number\}.*\{ref_name\}/);
  });

  it('goes to the second provider when the first is not there', () => {
    const both = 'providers: { primary: kubernetes, fallback: process }\nkubernetes: { manifests: [./k8s] }\n';
    expect(compute(both).wishes).toMatchObject([{ state: 'resolved', component: { provider: 'process' } }]);
  });

  it('stalls when none of its providers is there', () => {
    const { wishes, faults } = compute('provider: kubernetes\nkubernetes: { manifests: [./k8s] }\n');
    expect(wishes).toEqual([]);
    expect(faults).toMatchObject([{ code: 'feature.unavailable', message: expect.stringContaining('kubernetes') }]);
  });
});

describe('under limits', () => {
  it('what passes one is a fault that names value, limit and who set it', () => {
    const { wishes, faults } = compute('', { told: told([policy({ replicas: 2 })]) });
    expect(wishes).toEqual([]);
    expect(faults).toMatchObject([{ code: 'policy.exceeded', disposition: 'stall' }]);
    expect(faults[0]?.message).toMatch(/4.*eph\.yaml:3.*2.*ephd\.yaml:7|ephd\.yaml:7.*2.*4/s);
  });

  it('one environment too many waits', () => {
    const changes = {
      told: told([policy({ environments: { per_project: 2 } })]),
      countOthers: () => ({ project: 2, cluster: 2 }),
    };
    const { wishes, faults, obstacles } = compute('', changes);
    expect({ wishes, faults }).toEqual({ wishes: [], faults: [] });
    expect(obstacles).toMatchObject([{ code: 'policy.full', message: expect.stringContaining('per_project') }]);
  });

  it('nobody counts where no number is limited', () => {
    const countOthers = (): never => {
      throw new Error('counted');
    };
    expect(compute('', { told: told([policy({ replicas: 9 })]), countOthers }).faults).toEqual([]);
  });
});

describe('an explanation', () => {
  it('names every value, also where a limit is passed', () => {
    const { components, violations } = explainEnvironment(input('', { told: told([policy({ replicas: 2 })]) }));
    expect(violations).toHaveLength(1);
    expect(components[0]?.values.map((one) => one.path.join('.'))).toEqual(
      expect.arrayContaining(['command', 'replicas', 'env.EPH_URL']),
    );
  });
});
