import { type PlacedConfig, type Policy, parseEnvironmentConfig, projectId } from '@eph/contract';
import { describe, expect, it } from 'vitest';
import { Configuration } from './configuration.ts';
import { FakeForge, FakeRepository } from './forge.fake.ts';
import { ConfigurationReader } from './read-configuration.ts';

const { signal } = new AbortController();

const document = (labels: string, data: string): string =>
  `apiVersion: apiextensions.crossplane.io/v1beta1\nkind: EnvironmentConfig\nmetadata: { name: x, labels: { ${labels} } }\ndata: ${data}\n`;

const cluster = (data: string): string => document('eph.io/type: cluster', data);

const overrides = (data: string): string =>
  document('eph.io/type: project, eph.io/repository: acme, eph.io/project: shop', `{ overrides: ${data} }`);

/** As ephd's own file holds it. */
const placed = (text: string): PlacedConfig => {
  const parsed = parseEnvironmentConfig(new TextEncoder().encode(text), 'ephd.yaml');
  if (!parsed.ok) throw new Error(parsed.faults[0]?.message);
  return { config: parsed.value, file: 'ephd.yaml', commit: null, places: parsed.places, at: [] };
};

const viewOf = (configuration: Configuration, project = 'shop') => {
  const view = configuration.layersFor('acme', project);
  if (!('layers' in view)) throw new Error('nothing is said');
  return view;
};

describe('without a configuration repository', () => {
  it('nothing is said where there is no document', async () => {
    const configuration = new Configuration({ documents: [] });
    expect(await configuration.refresh(signal)).toEqual({ state: 'none', commit: null, faults: [] });
    const view = viewOf(configuration);
    expect(view).toMatchObject({ state: 'none', environment: {}, platform: {}, policies: [] });
    expect(view.layers.defaultsOf('Deployment')).toEqual([]);
    expect(viewOf(configuration)).toBe(view);
  });

  it('the documents of ephd say it', async () => {
    const configuration = new Configuration({
      documents: [
        placed(cluster('{ defaults: { Deployment: { replicas: 2 } } }')),
        placed(overrides('{ web: { replicas: 5 } }')),
      ],
    });
    expect(await configuration.refresh(signal)).toMatchObject({ state: 'current' });
    expect(viewOf(configuration).layers.overridesOf('web')).toMatchObject([
      { values: { replicas: 5 }, source: { layer: 'override', file: 'ephd.yaml', commit: null } },
    ]);
    const other = viewOf(configuration, 'blog').layers;
    expect(other.overridesOf('web')).toEqual([]);
    expect(other.defaultsOf('Deployment')).toMatchObject([{ values: { replicas: 2 } }]);
  });

  it('names that every object has are nothing special', () => {
    const { layers } = viewOf(new Configuration({ documents: [placed(overrides('{ constructor: { a: 1 } }'))] }));
    expect(layers.overridesOf('constructor')).toMatchObject([{ values: { a: 1 } }]);
    expect(layers.overridesOf('toString')).toEqual([]);
    expect(layers.defaultsOf('constructor')).toEqual([]);
  });
});

describe('with both', () => {
  const policy: Policy = { limits: {}, setBy: 'ephd.yaml', placeOf: () => undefined, commit: null };

  it('the repository lies above the documents of ephd, and every limit holds', async () => {
    const repository = new FakeRepository(projectId('configuration'));
    repository.push(
      { kind: 'branch', name: 'main' },
      {
        'dev/env.yaml': cluster(
          '{ environment: { name: dev }, defaults: { Deployment: { replicas: 3 } }, platform: { objectStorage: { bucket: b }, outputs: { id: { url: new } } }, policy: { replicas: 9 } }',
        ),
        'dev/apps/acme/shop/env.yaml': overrides('{ web: { replicas: 7 } }'),
      },
    );
    const forge = new FakeForge(projectId('configuration'), repository);
    const reader = new ConfigurationReader({ forge, name: 'x', branch: 'main', environment: 'dev' });
    reader.setProjects([{ repository: 'acme', project: 'shop' }]);
    const configuration = new Configuration({
      documents: [
        placed(overrides('{ web: { replicas: 5 } }')),
        placed(
          cluster(
            '{ environment: { name: x, region: eu }, defaults: { Deployment: { replicas: 2 } }, platform: { objectStorage: { endpoint: e, bucket: a }, outputs: { id: { url: old, realm: r }, mail: { host: h } } }, policy: { replicas: 20 } }',
          ),
        ),
      ],
      policy,
      reader,
    });
    await configuration.refresh(signal);
    const view = viewOf(configuration);
    expect(view.layers.defaultsOf('Deployment').map((layer) => [layer.source.file, layer.values])).toEqual([
      ['ephd.yaml', { replicas: 2 }],
      ['dev/env.yaml', { replicas: 3 }],
    ]);
    expect(view.layers.overridesOf('web').map((layer) => layer.values)).toEqual([{ replicas: 5 }, { replicas: 7 }]);
    expect(view.environment).toEqual({ name: 'dev', region: 'eu' });
    expect(view.platform.objectStorage).toEqual({ endpoint: 'e', bucket: 'b' });
    expect(view.layers.platform.outputs).toEqual({ id: { url: 'new', realm: 'r' }, mail: { host: 'h' } });
    expect(view.policies.map(({ setBy, commit }) => [setBy, commit])).toEqual([
      ['ephd.yaml', null],
      ['ephd.yaml', null],
      ['dev/env.yaml', view.commit],
    ]);
  });
});
