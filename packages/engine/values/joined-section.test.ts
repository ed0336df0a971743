import {
  type ConfigurationLayers,
  componentName,
  type JsonMap,
  noConfiguration,
  policySchema,
  section,
  shippedSections,
} from '@eph/contract';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { createComponentInput, fakeProvider, parseSound } from './component-input.fake.ts';
import { computeEnvironment, type EnvironmentInput, explainEnvironment } from './environment.ts';
import { SharedValues } from './shared-values.ts';

/** A section that nobody shipped. */
const toys = section({
  name: 'toys',
  schema: z.record(z.string(), z.strictObject({ label: z.string(), replicas: z.number().optional() })),
  available: true,
  provider: 'toy',
  components: (all) =>
    Object.entries(all).map(([name, values]) => ({
      name,
      kind: { name: 'Toy', schema: z.strictObject({ label: z.string(), replicas: z.number().optional() }), used: ['label'] },
      values: values as JsonMap,
      path: [name],
    })),
});

const parsed = parseSound(
  `version: "1.0"
name: shop
process: { services: { web: { command: run, env: { SIZE: outputs/ball/size } } } }
toys:
  ball: { label: red }
`,
  [...shippedSections, toys],
);

const layers: ConfigurationLayers = {
  ...noConfiguration,
  overridden: ['ball'],
  overridesOf: (name) =>
    name === 'ball'
      ? [{ source: { layer: 'override', file: 'env.yaml', commit: null, place: () => undefined }, values: { replicas: 5 } }]
      : [],
};

const input = (changes: Partial<EnvironmentInput> = {}, limits = {}): EnvironmentInput => ({
  ...createComponentInput(parsed),
  parsed,
  aliases: [],
  configuration: {
    state: 'current',
    commit: null,
    faults: [],
    mark: '1',
    layers,
    environment: {},
    platform: {},
    policies: [{ limits: policySchema.parse(limits), setBy: 'ephd.yaml', commit: null, placeOf: () => undefined }],
  },
  providers: [fakeProvider('process'), fakeProvider('box', 'toy')],
  countOthers: () => undefined,
  shared: new SharedValues(),
  ...changes,
});

describe('the components of a section that was joined', () => {
  const { components, faults, providers } = computeEnvironment(input());
  const [ball] = components.flatMap((one) => (one.state === 'resolved' ? [one.component] : []));

  it('are resolved beside all others, each for its own provider', () => {
    expect(faults).toEqual([]);
    expect(providers).toEqual(['process', 'box']);
    expect(components).toMatchObject([
      { state: 'resolved', component: { name: 'ball', provider: 'box', entry: false, values: { label: 'red', replicas: 5 } } },
      { state: 'waiting', name: 'web', provider: 'process', reason: 'outputs/ball/size: ball is not ready yet' },
    ]);
  });

  it('publish outputs to others', () => {
    if (ball === undefined) throw new Error('ball is not resolved');
    const current = { revision: ball.revision, commit: ball.commit, health: 'ready', message: '', since: '' } as const;
    const seen = { ...ball, current, next: null, retiring: false, upstream: null, outputs: { size: '3' } };
    expect(computeEnvironment(input({ observed: [seen] })).components[1]).toMatchObject({
      state: 'resolved',
      component: { dependsOn: [componentName('ball')], values: { env: { SIZE: '3' } } },
    });
  });

  it('are explained', () => {
    const explained = explainEnvironment(input()).components.find(({ name }) => name === 'ball');
    expect(explained).toMatchObject({
      kind: 'Toy',
      provider: 'box',
      values: [
        { path: ['label'], value: 'red', used: true, origin: { file: 'eph.yaml', line: 5, path: 'toys.ball.label' } },
        { path: ['replicas'], value: 5, used: false, origin: { layer: 'override', file: 'env.yaml' } },
      ],
    });
  });

  it('are limited by policy', () => {
    const { faults: exceeded } = computeEnvironment(input({}, { kinds: ['Deployment'], replicas: 4, providers: ['process'] }));
    expect(exceeded.map(({ message }) => message.replace(/; the limit .*/, ''))).toEqual([
      'ball.replicas is 5',
      'toys is box (eph.yaml:4)',
      'the kind of ball is Toy (eph.yaml:5)',
    ]);
  });

  it('need a provider of their type', () => {
    expect(computeEnvironment(input({ providers: [fakeProvider('process')] })).faults).toMatchObject([
      { code: 'provider.unknown', message: 'toys needs a provider of type toy; this server has process' },
    ]);
  });
});
