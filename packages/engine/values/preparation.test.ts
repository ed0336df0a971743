import { componentName, type DesiredComponent, type JsonMap, providerName } from '@eph/contract';
import { describe, expect, it } from 'vitest';
import { createComponentInput, parseSound } from './component-input.fake.ts';
import { type ComponentInput, computeComponents } from './components.ts';

const file = (process: object, env: object = {}) =>
  parseSound(JSON.stringify({ version: '1.0', name: 'shop', environment: { env }, process }));

const services = { web: { command: 'run' }, api: { command: 'serve' } };

const compute = (input: ComponentInput): readonly DesiredComponent[] => {
  const { components, faults } = computeComponents(input);
  expect(faults).toEqual([]);
  return components;
};

const valuesOf = (components: readonly DesiredComponent[]): readonly JsonMap[] =>
  components.map((one) => (one.state === 'resolved' ? one.component.values : {}));

describe('what prepares the components of a section', () => {
  it('is given to each of them, with the variables of all, and is no component itself', () => {
    const env = { MODE: 'quick', API: 'outputs/api/url' };
    const prepare = { prepare: 'npm ci', prepare_timeout: '20m', services };
    const observed = [
      {
        name: componentName('api'),
        provider: providerName('process'),
        entry: false,
        dependsOn: [],
        current: null,
        next: null,
        retiring: false,
        upstream: null,
        outputs: {},
      },
    ];
    const components = compute(createComponentInput(file(prepare, env), { observed }));
    expect(components.map((one) => (one.state === 'resolved' ? one.component.name : `${one.name} waits`))).toEqual([
      'api',
      'web waits',
    ]);
    expect(valuesOf(components)[0]?.['prepare']).toEqual({
      command: 'npm ci',
      timeoutSeconds: 1200,
      // Without the reference: before the services run there is nothing to refer to.
      env: expect.objectContaining({ MODE: 'quick', EPH_PROJECT: 'shop' }),
      secretEnv: expect.objectContaining({ EPH_URL: expect.any(Array) }),
    });
    expect(valuesOf(components)[0]).not.toHaveProperty('prepare.env.API');
  });

  it('makes a new version of each when it changes', () => {
    const revisions = (prepare?: string) =>
      compute(createComponentInput(file({ ...(prepare && { prepare }), services }))).map((one) =>
        one.state === 'resolved' ? one.component.revision : '',
      );
    expect(new Set([...revisions(), ...revisions('npm ci'), ...revisions('npm install')]).size).toBe(6);
    expect(revisions('npm ci')).toEqual(revisions('npm ci'));
  });

  it('cannot have the name of a service', () => {
    expect(() => file({ prepare: 'npm ci', services: { prepare: { command: 'run' } } })).toThrow(
      'a service cannot be called prepare beside `prepare`',
    );
    expect(() => file({ services: { prepare: { command: 'run' } } })).not.toThrow();
  });
});
