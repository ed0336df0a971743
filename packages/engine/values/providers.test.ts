import type { ObservedComponent, ServerVariables } from '@eph/contract';
import { describe, expect, it } from 'vitest';
import { fakeProvider, parseSound } from './component-input.fake.ts';
import { chooseProviders } from './providers.ts';

const sections = {
  process: 'process: { services: { web: { command: run } } }\n',
  kubernetes: 'kubernetes: { manifests: [./k8s] }\n',
};

const providers = [
  fakeProvider('local', 'process'),
  fakeProvider('spare', 'process'),
  fakeProvider('eu', 'kubernetes'),
  fakeProvider('toys', 'toy'),
];

const choose = (
  choice: string,
  { on = [] as readonly string[], has = ['process', 'kubernetes'] as readonly (keyof typeof sections)[], of = providers } = {},
) => {
  const text = `version: "1.0"\nname: shop\n${choice}\n${has.map((one) => sections[one]).join('')}`;
  const observed = on.map((provider) => ({ name: 'web', provider }) as unknown as ObservedComponent);
  const { used, choice: section, faults, remarks } = chooseProviders(parseSound(text), of, observed, {});
  return { names: used.map(({ provider }) => provider.name), section, faults: faults.map(({ message }) => message), remarks };
};

describe('the provider of an environment', () => {
  it.each<readonly [string, string, readonly string[], string]>([
    ['the one that is named', 'provider: spare', [], 'spare'],
    ['the first of its type', 'provider: process', [], 'local'],
    ['the primary one', 'providers: { primary: eu, fallback: process }', [], 'eu'],
    ['the fallback, when there is no primary one', 'providers: { primary: us, fallback: spare }', [], 'spare'],
    ['where the environment is, of its type', 'provider: process', ['spare'], 'spare'],
    ['where the environment is, on the fallback', 'providers: { primary: eu, fallback: process }', ['spare'], 'spare'],
    ['not where it is, once the file chooses another', 'provider: eu', ['local'], 'eu'],
    ['of two where it is, the primary one', 'providers: { primary: kubernetes, fallback: process }', ['local', 'eu'], 'eu'],
    ['of two where it is, the first of the file', 'provider: process', ['spare', 'local'], 'local'],
  ])('is %s', (_, choice, on, expected) => {
    expect(choose(choice, { on })).toMatchObject({ names: [expected], faults: [] });
  });

  it('gives its section', () => {
    expect(choose('provider: eu').section).toBe('kubernetes');
    expect(choose('providers: { primary: us, fallback: spare }').section).toBe('process');
  });

  it('is a fallback only with a remark', () => {
    const both = 'providers: { primary: kubernetes, fallback: process }';
    expect(choose(both).remarks).toEqual([]);
    expect(choose(both, { of: providers.slice(0, 2) }).remarks).toEqual([
      'provider kubernetes is not configured here; fallback process is used',
    ]);
    expect(choose(both, { on: ['local'] }).remarks).toEqual([
      'fallback process is still used; an environment moves to provider kubernetes only when eph.yaml changes its choice',
    ]);
  });

  it('needs its section', () => {
    expect(choose('provider: eu', { has: ['process'] }).faults).toEqual([
      'eph.yaml:3:1: providers.primary: provider eu is of type kubernetes, and eph.yaml has no section kubernetes',
    ]);
  });

  it('is a fault when this server has none of those asked for', () => {
    expect(choose('providers: { primary: us, fallback: asia }')).toMatchObject({
      names: [],
      faults: [
        'provider us is not configured here; this server has local (process), spare (process), eu (kubernetes), toys (toy)',
      ],
    });
  });
});

describe('the cluster that kubernetes.context names', () => {
  const clusters = [fakeProvider('local', 'process'), fakeProvider('eu', 'kubernetes'), fakeProvider('us', 'kubernetes')];

  interface ClusterOptions {
    readonly on?: readonly string[];
    readonly of?: typeof clusters;
    readonly variables?: ServerVariables | 'unknown';
  }

  const chooseCluster = (context: string, choice: string, { on = [], of = clusters, variables = {} }: ClusterOptions = {}) => {
    const section = `kubernetes:\n  manifests: [./k8s]\n  context: ${context}\n`;
    const text = `version: "1.0"\nname: shop\n${choice}\n${sections.process}${section}`;
    const observed = on.map((provider) => ({ name: 'web', provider }) as unknown as ObservedComponent);
    const { used, faults } = chooseProviders(parseSound(text), of, observed, variables === 'unknown' ? undefined : variables);
    return { names: used.map(({ provider }) => provider.name), faults: faults.map(({ message }) => message) };
  };

  it.each<readonly [string, string, string, readonly string[], string]>([
    ['is chosen among those of its type', 'us', 'provider: kubernetes', [], 'us'],
    ['is where an environment moves that is on another', 'us', 'provider: kubernetes', ['eu'], 'us'],
    ['may be named twice', 'us', 'provider: us', [], 'us'],
    ['may be named with a default', '${CLUSTER:-us}', 'provider: kubernetes', [], 'us'],
    ['is chosen for a fallback', 'us', 'providers: { primary: toy, fallback: kubernetes }', [], 'us'],
    ['does not matter to another provider', 'us', 'provider: process', ['eu'], 'local'],
    ['does not matter to another provider, whatever it is', 'nowhere', 'provider: process', [], 'local'],
  ])('%s', (_, context, choice, on, expected) => {
    expect(chooseCluster(context, choice, { on })).toEqual({ names: [expected], faults: [] });
  });

  it('is a fault with file and line if it is not here, and the fault says which are', () => {
    expect(chooseCluster('asia', 'provider: kubernetes')).toEqual({
      names: [],
      faults: ['eph.yaml:7:3: kubernetes.context: there is no cluster asia here; this server has eu, us'],
    });
    expect(chooseCluster('eus', 'provider: kubernetes').faults[0]).toContain('did you mean eu?');
    expect(chooseCluster('local', 'provider: kubernetes').faults[0]).toContain('there is no cluster local here');
  });

  it('is a fault beside a provider that is another cluster', () => {
    expect(chooseCluster('us', 'provider: eu')).toEqual({
      names: [],
      faults: ['eph.yaml:7:3: kubernetes.context: names cluster us, and the file asks for provider eu; leave one of them out'],
    });
    expect(chooseCluster('us', 'providers: { primary: process, fallback: eu }').faults).toHaveLength(1);
  });

  it('is the value of a variable of the server, which is no secret', () => {
    const variables = { CLUSTER: { value: 'us', secret: false }, TOKEN: { value: 'us', secret: true } };
    expect(chooseCluster('${CLUSTER}', 'provider: kubernetes', { variables })).toEqual({ names: ['us'], faults: [] });
    expect(chooseCluster('${TOKEN}', 'provider: kubernetes', { variables }).faults).toEqual([
      'eph.yaml:7:3: kubernetes.context: a secret names nothing',
    ]);
    expect(chooseCluster('${OTHER}', 'provider: kubernetes', { variables }).faults).toEqual([
      expect.stringMatching(/^eph\.yaml:7:3: kubernetes\.context: \$\{OTHER\} is not a variable that this project may use/),
    ]);
  });

  it('is any of its type where the variables of the project are not known', () => {
    expect(chooseCluster('${CLUSTER}', 'provider: kubernetes', { variables: 'unknown' })).toEqual({ names: ['eu'], faults: [] });
  });

  it('is not missed where there is no cluster at all, and a fallback that is none', () => {
    const choice = 'providers: { primary: kubernetes, fallback: process }';
    expect(chooseCluster('us', choice, { of: clusters.slice(0, 1) })).toEqual({ names: ['local'], faults: [] });
  });
});
