import { EphError, failure, type PinnedImage, type ResolvedComponent } from '@eph/contract';
import { expect, it } from 'vitest';
import type { ImageRequest } from '../images/resolver.ts';
import { EngineHarness } from './engine-harness.fake.ts';

const file = 'version: "1.0"\nname: shop\nkubernetes: { manifests: [k8s] }\n';

class RenderedHarness extends EngineHarness {
  constructor() {
    super();
    this.configured = [{ name: 'kubernetes', type: 'kubernetes' }];
    // Images are somebody else's concern here: one for each commit.
    this.resolver = {
      resolve: ({ image }) =>
        Promise.resolve({
          state: 'found',
          image: { reference: `${image.repository}@sha256:${'1'.repeat(64)}`, tag: null, commit: null, request: 'r' },
          findings: [],
        }),
    };
  }

  made(): readonly ResolvedComponent[] {
    const all = [...this.infrastructureOf('kubernetes').environments.values()];
    return all.flatMap(({ slots }) => [...slots.values()].flatMap(({ current }) => current?.component ?? []));
  }
}

it('makes the namespace first and then what files of the commit describe', async () => {
  const harness = new RenderedHarness();
  harness.renderer.describe(harness.push('preview/a', file), [{ name: 'web', entry: true }, { name: 'api' }]);
  harness.start();
  await harness.live(90);
  expect(harness.made().map(({ name }) => name)).toEqual(['namespace', 'web', 'api']);
  expect(harness.made()[1]?.values['objects']).toMatchObject([
    { spec: { template: { spec: { containers: [{ image: `docker.io/library/nginx@sha256:${'1'.repeat(64)}` }] } } } },
  ]);
  expect(harness.only().status).toMatchObject({ phase: 'Ready' });
  await harness.engine.close();
});

it('follows files of a new commit, and removes what they no longer hold', async () => {
  const harness = new RenderedHarness();
  harness.renderer.describe(harness.push('preview/a', file), [{ name: 'web' }, { name: 'old' }]);
  harness.start();
  await harness.live(30);
  harness.renderer.describe(harness.push('preview/a', file), [{ name: 'web', replicas: 3 }]);
  harness.engine.wakeAll();
  await harness.live(40);
  expect(harness.made().map(({ name }) => name)).toEqual(['namespace', 'web']);
  expect(harness.made()[1]?.values['objects']).toMatchObject([{ spec: { replicas: 3 } }]);
  await harness.engine.close();
});

it('moves to the cluster that a new commit names, and stays where it is while there is none of that name', async () => {
  const harness = new RenderedHarness();
  harness.configured = ['eu', 'us'].map((name) => ({ name, type: 'kubernetes' }));
  const namesOn = (name: string): readonly string[] =>
    [...harness.infrastructureOf(name).environments.values()].flatMap(({ slots }) => [...slots.keys()]);
  const on = (context: string): string => `version: "1.0"\nname: shop\nkubernetes: { manifests: [k8s], context: "${context}" }\n`;
  const push = (text: string): void => {
    harness.renderer.describe(harness.push('preview/a', text), [{ name: 'web', entry: true }]);
  };
  push(on('us'));
  harness.start();
  await harness.live(60);
  expect([namesOn('eu'), namesOn('us')]).toEqual([[], ['namespace', 'web']]);
  push(on('asia'));
  harness.engine.wakeAll();
  await harness.live(60);
  expect(harness.only().status?.summary).toContain('there is no cluster asia here');
  expect([namesOn('eu'), namesOn('us')]).toEqual([[], ['namespace', 'web']]);
  push(on('eu'));
  harness.engine.wakeAll();
  await harness.live(120);
  expect([namesOn('eu'), namesOn('us')]).toEqual([['namespace', 'web'], []]);
  expect(harness.only().status).toMatchObject({ phase: 'Ready' });
  await harness.engine.close();
});

it('leaves what runs as it is while files cannot be understood or rendered', async () => {
  const harness = new RenderedHarness();
  harness.renderer.describe(harness.push('preview/a', file), [{ name: 'web' }]);
  harness.start();
  await harness.live(30);
  const before = harness.made();
  harness.renderer.spoil(harness.push('preview/a', file));
  harness.engine.wakeAll();
  await harness.live(40);
  expect(harness.made()).toEqual(before);
  expect(harness.only().status?.summary).toContain('k8s/web.yaml:3:1');
  harness.renderer.away = new EphError('forge.unreachable', 'the forge does not answer');
  harness.push('preview/a', file);
  harness.engine.wakeAll();
  await harness.live(40);
  expect(harness.made()).toEqual(before);
  await harness.engine.close();
});

it('looks once for an image that several containers run, remembers what was found, and waits for all of them', async () => {
  const harness = new RenderedHarness();
  const pin = (repository: string): PinnedImage => ({
    reference: `${repository}@sha256:${'2'.repeat(64)}`,
    tag: null,
    commit: null,
    request: repository,
  });
  const requests: ImageRequest[] = [];
  let isThere = false;
  harness.resolver = {
    resolve(request) {
      requests.push(request);
      const { name, repository } = request.image;
      if (name !== 'envoy:1' || isThere) return Promise.resolve({ state: 'found', image: pin(repository), findings: [] });
      const lookAgain = { at: harness.clock.now() + 10_000, repositories: [repository] };
      return Promise.resolve({ state: 'missing', fault: failure('artifact.missing', 'no envoy yet'), findings: [], lookAgain });
    },
  };
  const sidecars = { warmer: 'nginx:1.27', proxy: 'envoy:1' };
  harness.renderer.describe(harness.push('preview/a', file), [{ name: 'web', sidecars }]);
  harness.start();
  await harness.live(90);
  expect(harness.made().map(({ name }) => name)).toEqual(['namespace']);
  expect(requests.slice(0, 2).map(({ image }) => image.name)).toEqual(['nginx:1.27', 'envoy:1']);
  expect(requests.at(-1)?.running).toEqual([pin('docker.io/library/nginx')]);
  isThere = true;
  await harness.live(90);
  const [nginx, envoy] = ['nginx', 'envoy'].map((name) => pin(`docker.io/library/${name}`).reference);
  expect(harness.made()[1]?.images).toMatchObject({ 'nginx:1.27': { reference: nginx }, 'envoy:1': { reference: envoy } });
  expect(harness.made()[1]?.values['objects']).toMatchObject([
    { spec: { template: { spec: { containers: [{ image: nginx }, { image: nginx }, { image: envoy }] } } } },
  ]);
  await harness.engine.close();
});

it('asks for no image of a container that policy forbids', async () => {
  const harness = new RenderedHarness();
  const limits = { registries: ['docker.io/library'] };
  harness.policy = { limits, setBy: 'ephd.yaml', commit: null, placeOf: () => undefined };
  const { resolver } = harness;
  const asked = new Set<string>();
  harness.resolver = {
    resolve(request, signal) {
      asked.add(request.image.repository);
      return resolver.resolve(request, signal);
    },
  };
  const sidecars = { proxy: 'evil.example/proxy:1' };
  harness.renderer.describe(harness.push('preview/a', file), [{ name: 'web', sidecars }]);
  harness.start();
  await harness.live(90);
  expect(harness.only().status?.summary).toContain('the limit registries is');
  expect([...asked]).toEqual(['docker.io/library/nginx']);
  expect(harness.made()).toEqual([]);
  await harness.engine.close();
});

it('renders nothing for a section that no provider was chosen for', async () => {
  const harness = new EngineHarness();
  harness.push('preview/a', `${file}process: { services: { web: { command: run } } }\nprovider: process\n`);
  harness.start();
  await harness.live(30);
  expect(harness.renderer.renders).toBe(0);
  expect(harness.running()).toHaveProperty('preview/a/web');
  await harness.engine.close();
});

it('renders nothing in a pass that finds nothing new', async () => {
  const harness = new RenderedHarness();
  harness.renderer.describe(harness.push('preview/a', file), [{ name: 'web' }]);
  harness.start();
  await harness.live(30);
  const { renders } = harness.renderer;
  await harness.live(120);
  expect(harness.renderer.renders).toBe(renders);
  await harness.engine.close();
});

it('keeps what holds data when everything else is made again', async () => {
  const harness = new RenderedHarness();
  harness.renderer.describe(harness.push('preview/a', file), [{ name: 'web' }]);
  harness.start();
  await harness.live(30);
  const { signal } = new AbortController();
  expect(await harness.engine.redeploy(harness.only().id, undefined, signal)).toEqual(['web']);
  await harness.engine.close();
});

it('refuses a workload that has the name of another component', async () => {
  const harness = new RenderedHarness();
  harness.configured = [...harness.configured, { name: 'toy', type: 'toy' }];
  harness.renderer.describe(harness.push('preview/a', `${file}extras: { web: {} }\n`), [{ name: 'web' }]);
  harness.start();
  await harness.live(30);
  expect(harness.record('preview/a').status?.summary).toContain('a workload in k8s/app.yaml is called web, too');
  await harness.engine.close();
});

it('shows what would be applied, without what may be a secret', async () => {
  const harness = new RenderedHarness();
  harness.variables = { HOST: { value: 'db.example', secret: false }, KEY: { value: 'hunter2', secret: true } };
  const env = { HOST: '${HOST}', DB: 'postgres://${KEY}@db', API_TOKEN: 'plain' };
  harness.renderer.describe(harness.push('preview/a', file), [{ name: 'web', env }]);
  harness.start();
  await harness.live(30);
  const { signal } = new AbortController();
  const { components, problems } = await harness.engine.renderValues(harness.only().id, signal);
  expect(components.map(({ name, waits }) => [name, waits])).toEqual([
    ['namespace', null],
    ['web', null],
  ]);
  const text = JSON.stringify(components);
  expect(text).toContain('db.example');
  expect(text).not.toContain('hunter2');
  expect(text).not.toContain('plain');
  expect(problems).toEqual([]);
  await harness.engine.close();
});
