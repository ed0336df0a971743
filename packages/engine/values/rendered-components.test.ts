import {
  asList,
  asMap,
  type ConfigurationLayers,
  componentName,
  type JsonMap,
  type Layer,
  type LayerName,
  type Policy,
  type PolicyLimits,
  policySchema,
  type SectionComponent,
} from '@eph/contract';
import { describe, expect, it } from 'vitest';
import { pullRequest } from '../desired/source.fake.ts';
import { createComponentInput, fakeProvider, parseSound } from './component-input.fake.ts';
import type { ComponentImages, ComponentInput } from './components.ts';
import { computeEnvironment, type EnvironmentInput, explainEnvironment, findAskedImages } from './environment.ts';
import { renderedComponent } from './rendered.fake.ts';
import { SharedValues } from './shared-values.ts';

const deployment = (more: JsonMap = {}, container: JsonMap = {}): JsonMap => ({
  apiVersion: 'apps/v1',
  kind: 'Deployment',
  metadata: { name: 'web' },
  spec: {
    replicas: 2,
    template: {
      metadata: { labels: { app: 'web' } },
      spec: {
        containers: [
          {
            name: 'main',
            image: 'ghcr.io/acme/web:dev',
            env: [
              { name: 'FIRST', value: 'a' },
              { name: 'KEY', valueFrom: { secretKeyRef: { name: 's', key: 'k' } } },
              { name: 'not.ours', value: 'x' },
            ],
            resources: { limits: { cpu: '1', 'nvidia.com/gpu': 1 } },
            ...container,
          },
          { name: 'proxy', image: 'envoy:1' },
        ],
        ...more,
      },
    },
  },
});

const values: JsonMap = {
  image: 'ghcr.io/acme/web:dev',
  replicas: 2,
  env: { FIRST: 'a', KEY: { valueFrom: { secretKeyRef: { name: 's', key: 'k' } } } },
  resources: { limits: { cpu: '1' } },
  containers: { proxy: { image: 'envoy:1' } },
};

const namespace = renderedComponent('namespace', 'Namespace', {}, []);
const web = (object = deployment(), own = values): SectionComponent => renderedComponent('web', 'Deployment', own, [object]);

const layer = (name: LayerName, given: JsonMap): Layer => ({
  source: { layer: name, file: `${name}.yaml`, commit: null, place: () => undefined },
  values: given,
});

const layersOf = (defaults: JsonMap, overrides: JsonMap): ConfigurationLayers => ({
  defaultsOf: (kind) => (kind === 'Deployment' ? [layer('cluster', defaults)] : []),
  overridesOf: (name) => (name === 'web' ? [layer('override', overrides)] : []),
  overridden: ['web'],
  platform: { outputs: {} },
});

const policy = (limits: PolicyLimits): Policy => ({
  limits: policySchema.parse(limits),
  setBy: 'policy.yaml',
  commit: null,
  placeOf: () => undefined,
});

interface Given {
  readonly file?: string;
  readonly components?: readonly SectionComponent[];
  readonly layers?: ConfigurationLayers;
  readonly policies?: readonly Policy[];
  readonly images?: ComponentInput['images'];
}

const inputOf = ({
  file = '',
  components = [namespace, web()],
  layers,
  policies = [],
  images = new Map(),
}: Given): EnvironmentInput => {
  const sound = parseSound(`version: "1.0"\nname: shop\nkubernetes: { manifests: [k8s], ${file} }\n`);
  const parsed = { ...sound, components };
  const input = createComponentInput(parsed, {}, [fakeProvider('kubernetes')]);
  return {
    ...input,
    parsed,
    images,
    configuration: {
      state: 'current',
      mark: '',
      commit: null,
      faults: [],
      layers: layers ?? input.layers,
      policies,
      platform: {},
      environment: {},
    },
    providers: [fakeProvider('kubernetes')],
    countOthers: () => undefined,
    shared: new SharedValues(),
  };
};

const pin = (repository: string, digit: string) => ({
  reference: `${repository}@sha256:${digit.repeat(64)}`,
  tag: null,
  commit: null,
  request: digit,
});

const found: ComponentImages = {
  state: 'found',
  images: { 'ghcr.io/acme/web:dev': pin('ghcr.io/acme/web', '1'), 'envoy:1': pin('docker.io/library/envoy', '2') },
  slots: { image: 'ghcr.io/acme/web:dev', 'containers.proxy.image': 'envoy:1' },
};
const allFound = new Map([[componentName('web'), found]]);

/** The values that the provider is given, once the namespace is there. */
const filled = (given: Given, name = 'web') => {
  const input = inputOf({ images: allFound, ...given });
  const first = computeEnvironment(input);
  const made = first.components.flatMap((one) => (one.state === 'resolved' ? [one.component] : []));
  const ready = made.map(({ name: one, provider, revision, commit }) => ({
    name: one,
    provider,
    entry: false,
    dependsOn: [],
    current: { revision, commit, health: 'ready' as const, message: '', since: '' },
    next: null,
    retiring: false,
    upstream: null,
    outputs: {},
  }));
  const { components, faults } = computeEnvironment({ ...input, observed: ready });
  const own = components.find((one) => (one.state === 'resolved' ? one.component.name : one.name) === name);
  if (own?.state !== 'resolved') throw new Error(own?.reason ?? faults.map(({ message }) => message).join('\n'));
  return own.component;
};

const containersOf = (given: Given): readonly JsonMap[] => {
  const [object] = filled(given).values['objects'] as readonly JsonMap[];
  return (object as { spec: { template: { spec: { containers: JsonMap[] } } } }).spec.template.spec.containers;
};

describe('a component of a manifest', () => {
  it('says what an update would interrupt, also for a claim that another component has', () => {
    const volumes = [{ name: 'data', persistentVolumeClaim: { claimName: 'data' } }];
    const claim = (mode: string): SectionComponent => {
      const spec = { accessModes: [mode] };
      const object = { apiVersion: 'v1', kind: 'PersistentVolumeClaim', metadata: { name: 'data' }, spec };
      return renderedComponent('namespace', 'Namespace', {}, [object]);
    };
    const mounting = web(deployment({ volumes }));
    expect(filled({}).interruption).toBeUndefined();
    const once = filled({ components: [claim('ReadWriteOnce'), mounting] });
    expect(once.interruption).toContain('claim data is for one pod');
    const many = filled({ components: [claim('ReadWriteMany'), mounting] });
    expect(many.interruption).toBeUndefined();
    expect(many.revision).toBe(once.revision);
  });

  it('waits for the namespace', () => {
    const { components } = computeEnvironment(inputOf({ images: allFound }));
    expect(components.map((one) => (one.state === 'waiting' ? one.reason : one.component.name))).toEqual([
      'namespace',
      'needs namespace: namespace is not ready yet',
    ]);
  });

  it('gets its values back in their places, with pinned images and what every component gets', () => {
    const [main, proxy] = containersOf({});
    expect(main).toMatchObject({
      image: `ghcr.io/acme/web@sha256:${'1'.repeat(64)}`,
      resources: { limits: { cpu: '1', 'nvidia.com/gpu': 1 } },
    });
    expect(proxy?.['image']).toBe(`docker.io/library/envoy@sha256:${'2'.repeat(64)}`);
    expect(main?.['env']).toEqual([
      { name: 'EPH_ENVIRONMENT', value: 'shop-calm-bay-1234' },
      { name: 'EPH_PROJECT', value: 'shop' },
      { name: 'EPH_REF', value: 'preview/a' },
      { name: 'EPH_URL', valueFrom: { secretKeyRef: { name: 'eph-env-web', key: 'EPH_URL' } } },
      { name: 'FIRST', value: 'a' },
      { name: 'KEY', valueFrom: { secretKeyRef: { name: 's', key: 'k' } } },
      { name: 'not.ours', value: 'x' },
    ]);
    expect(filled({}).values['secretEnv']).toEqual({ EPH_URL: [{ url: true }] });
  });

  it('obeys all layers', () => {
    const layers = layersOf(
      { replicas: 5, env: { FIRST: 'below', STAGE: 'cluster' }, resources: { limits: { memory: '1Gi' } } },
      { replicas: 1, env: { KEY: 'over', FIRST: null }, resources: { limits: { cpu: null } } },
    );
    const [main] = containersOf({ layers });
    const env = Object.fromEntries(
      asList(main?.['env'])
        .map(asMap)
        .map((one) => [one['name'], one['value'] ?? one['valueFrom']]),
    );
    expect(env).toMatchObject({ KEY: 'over', STAGE: 'cluster' });
    expect(env).not.toHaveProperty('FIRST');
    expect(main?.['resources']).toEqual({ limits: { 'nvidia.com/gpu': 1, memory: '1Gi' } });
    expect(filled({ layers }).values['objects']).toMatchObject([{ spec: { replicas: 1 } }]);
  });

  it('names the manifest where it says where a value is from', () => {
    const { components } = explainEnvironment(inputOf({ layers: layersOf({ replicas: 5 }, {}) }));
    const replicas = components.find(({ name }) => name === 'web')?.values.find(({ path }) => path.join('.') === 'replicas');
    expect(replicas).toMatchObject({ value: 2, used: true, origin: { layer: 'developer', file: 'k8s/app.yaml', line: 21 } });
    expect(replicas?.below).toMatchObject([{ value: 5, origin: { layer: 'cluster' } }]);
  });

  it('follows the load when a layer asks for it', () => {
    const layers = layersOf({}, { autoscaling: { enabled: true, minReplicas: 2, maxReplicas: 4 } });
    const [object, scaler] = filled({ layers }).values['objects'] as readonly JsonMap[];
    expect(object?.['spec']).not.toHaveProperty('replicas');
    expect(scaler).toMatchObject({
      kind: 'HorizontalPodAutoscaler',
      spec: { minReplicas: 2, maxReplicas: 4, scaleTargetRef: { name: 'web' } },
    });
  });

  it('does not follow the load when a layer forbids it', () => {
    const scaler = {
      apiVersion: 'autoscaling/v2',
      kind: 'HorizontalPodAutoscaler',
      metadata: { name: 'web' },
      spec: { maxReplicas: 9 },
    };
    const own = { ...values, autoscaling: { enabled: true, maxReplicas: 9 } };
    const component = renderedComponent('web', 'Deployment', own, [deployment(), scaler]);
    const given = { components: [namespace, component] };
    expect(filled(given).values['objects']).toHaveLength(2);
    const without = filled({ ...given, layers: layersOf({}, { autoscaling: { enabled: false }, replicas: 1 }) }).values[
      'objects'
    ];
    expect(without).toMatchObject([{ kind: 'Deployment', spec: { replicas: 1 } }]);
  });

  it('keeps its revision when only what is made anew each time differs', () => {
    const withPassword = (password: string) => {
      const component = renderedComponent('web', 'Deployment', { ...values, env: { PASSWORD: { generated: password } } }, [
        deployment({}, { env: [{ name: 'PASSWORD', value: null }] }),
      ]);
      return filled({ components: [namespace, component] });
    };
    const [a, b] = [withPassword('one'), withPassword('two')];
    expect(a.revision).toBe(b.revision);
    expect(a.generated).toEqual({ '/0/spec/template/spec/containers/0/env/4/value': 'one' });
    expect(a.values['volatile']).toEqual(['/0/spec/template/spec/containers/0/env/4/value']);
    expect(JSON.stringify(a.values)).not.toContain('"one"');
  });

  it('gives the namespace its name, its cluster and its secrets', () => {
    const own = {
      context: 'staging',
      namespace_template: 'pre-{words}-{number}',
      imagePullSecrets: ['pull'],
      copies: { namespace: 'shared', names: ['app'] },
      env: { 'app/KEY': 'v', 'constructor/x': 'y' },
    };
    const component = renderedComponent('namespace', 'Namespace', own, []);
    expect(filled({ components: [component, web()] }, 'namespace').values).toEqual({
      objects: [],
      context: 'staging',
      namespace: 'pre-calm-bay-1234',
      imagePullSecrets: ['pull'],
      copies: { namespace: 'shared', names: ['app'] },
      secrets: { app: { KEY: 'v' }, constructor: { x: 'y' } },
    });
  });
});

describe('an image of a container', () => {
  const askedOf = (given: Given): Record<string, unknown> =>
    Object.fromEntries(
      findAskedImages(inputOf(given)).map(({ slot, image }) => [slot, [image.name, image.repository, image.fixed ?? image.tag]]),
    );

  it('is looked for with the pull secrets of the namespace, unless a stranger chose it', () => {
    const imagePullSecrets = ['pull', 'other'];
    const components = [renderedComponent('namespace', 'Namespace', { imagePullSecrets }, []), web()];
    const secretsOf = (input: EnvironmentInput) => new Set(findAskedImages(input).map(({ pullSecrets }) => pullSecrets));
    const input = inputOf({ components });
    expect([...secretsOf(input)]).toEqual([{ provider: 'kubernetes', names: imagePullSecrets }]);
    expect([...secretsOf(inputOf({}))]).toEqual([undefined]);
    const source = pullRequest({ fork: 'mallory/shop' });
    expect([...secretsOf({ ...input, source })]).toEqual([undefined]);
  });

  const withEntries = (entries: string, file = '') => `${file} }\nenvironment: { images: ${entries}`;

  it('is looked for in every container', () => {
    expect(askedOf({})).toEqual({
      image: ['ghcr.io/acme/web:dev', 'ghcr.io/acme/web', 'dev'],
      'containers.proxy.image': ['envoy:1', 'docker.io/library/envoy', '1'],
    });
  });

  it.each([
    [
      'with its repository',
      '[{ name: frontend, repository: ghcr.io/acme/web, tag: v1 }]',
      'image',
      ['frontend', 'ghcr.io/acme/web', 'v1'],
    ],
    [
      'with the name of the container',
      '[{ name: proxy, repository: ghcr.io/acme/p, tag: v1 }]',
      'containers.proxy.image',
      ['proxy', 'ghcr.io/acme/p', 'v1'],
    ],
    ['with its own name', '[{ name: main, repository: ghcr.io/acme/m, tag: v1 }]', 'image', ['main', 'ghcr.io/acme/m', 'v1']],
  ])('is the entry of environment.images %s', (_, entries, slot, expected) => {
    expect(askedOf({ file: withEntries(entries) })[slot]).toEqual(expected);
  });

  it('is what kubernetes.images puts in its place, after environment.images', () => {
    const file =
      'images: [{ name: envoy, newName: "ghcr.io/{project}/envoy", newTag: "pr-{commit_sha:0:7}" }, { name: ghcr.io/acme/web, newTag: v9 }]';
    expect(askedOf({ file })).toEqual({
      image: ['ghcr.io/acme/web:dev', 'ghcr.io/acme/web', 'v9'],
      'containers.proxy.image': ['envoy:1', 'ghcr.io/shop/envoy', { text: 'pr-1111111' }],
    });
    const both = withEntries('[{ name: a, repository: ghcr.io/acme/web, tag: v1 }]', file);
    expect(askedOf({ file: both })['image']).toEqual(['a', 'ghcr.io/acme/web', 'v1']);
  });

  it('is what an operator says, whatever the container is called', () => {
    const layers = layersOf({}, { image: 'nginx:1.27', containers: { proxy: { image: 'envoy:2' } } });
    const file = withEntries('[{ name: main, repository: ghcr.io/acme/m, tag: v1 }]');
    expect(askedOf({ file, layers })).toEqual({
      image: ['nginx:1.27', 'docker.io/library/nginx', '1.27'],
      'containers.proxy.image': ['envoy:2', 'docker.io/library/envoy', '2'],
    });
  });

  it('without a tag is the latest, as in Kubernetes', () => {
    const components = [namespace, web(deployment(), { image: 'nginx' })];
    expect(askedOf({ components })['image']).toEqual(['nginx', 'docker.io/library/nginx', 'latest']);
  });

  it('that is none is a fault in the manifest', () => {
    const components = [namespace, web(deployment(), { image: 'IMAGE' })];
    const { faults } = computeEnvironment(inputOf({ components }));
    expect(faults.map(({ message }) => message)).toEqual([
      'k8s/app.yaml:21:3: image: "IMAGE" is neither an entry of environment.images nor an image with a tag or a SHA-256 digest',
    ]);
  });
});

describe('objects', () => {
  const object = (apiVersion: string, kind: string, more: JsonMap = {}): JsonMap => ({
    apiVersion,
    kind,
    metadata: { name: 'x' },
    ...more,
  });
  const faultsOf = (one: JsonMap, policies: readonly Policy[] = []): readonly string[] => {
    const components = [renderedComponent('namespace', 'Namespace', {}, [one]), web()];
    return computeEnvironment(inputOf({ components, policies, images: allFound })).faults.map(({ message }) => message);
  };

  it('of the usual kinds are allowed', () => {
    const usual = [object('v1', 'ConfigMap'), object('networking.k8s.io/v1', 'Ingress'), object('batch/v1', 'CronJob')];
    expect(usual.flatMap((one) => faultsOf(one))).toEqual([]);
  });

  it.each([
    ['of the cluster', object('v1', 'Namespace'), /^k8s\/app\.yaml:1: Namespace\/x belongs to the whole cluster/],
    ['that define others', object('apiextensions.k8s.io/v1', 'CustomResourceDefinition'), /belongs to the whole cluster/],
    [
      'that give rights',
      object('rbac.authorization.k8s.io/v1', 'Role'),
      /an operator can allow Role\.rbac\.authorization\.k8s\.io with policy\.objects$/,
    ],
    ['of others', object('acme.com/v1', 'Deployment'), /allow Deployment\.acme\.com/],
    [
      'of another namespace',
      object('v1', 'ConfigMap', { metadata: { name: 'x', namespace: 'kube-system' } }),
      /is for namespace kube-system/,
    ],
    ['that take addresses', object('v1', 'Service', { spec: { externalIPs: ['1.2.3.4'] } }), /externalIPs/],
  ])('%s are refused', (_, one, message) => {
    expect(faultsOf(one)[0]).toMatch(message);
  });

  it.each([
    ['a folder', { volumes: [{ name: 'v', hostPath: { path: '/' } }] }, {}, /hostPath in volume v/],
    ['the network', { hostNetwork: true }, {}, /hostNetwork/],
    ['processes', { hostPID: true }, {}, /hostPID/],
    ['all rights', {}, { securityContext: { privileged: true } }, /privileged in container main/],
    ['a port', {}, { ports: [{ containerPort: 80, hostPort: 80 }] }, /takes port 80 of the machine/],
    [
      'rights before it begins',
      { initContainers: [{ name: 'i', securityContext: { privileged: true } }] },
      {},
      /privileged in container i/,
    ],
  ])('whose pods want %s of the machine are refused', (_, pods, container, message) => {
    const components = [namespace, web(deployment(pods, container))];
    expect(computeEnvironment(inputOf({ components, images: allFound })).faults[0]?.message).toMatch(message);
  });

  it('are those of policy.objects where there is such a list', () => {
    const role = object('rbac.authorization.k8s.io/v1', 'Role');
    const certificate = object('cert-manager.io/v1', 'Certificate');
    expect(faultsOf(role, [policy({ objects: ['*', 'Role'] })])).toEqual([]);
    expect(faultsOf(certificate, [policy({ objects: ['*', '*.cert-manager.io'] })])).toEqual([]);
    expect(faultsOf(certificate, [policy({ objects: ['*', 'Certificate'] })])[0]).toMatch(
      /^Certificate\/x is Certificate\.cert-manager\.io \(k8s\/app\.yaml:1\); the limit objects is \*, Certificate, set by policy\.yaml$/,
    );
    expect(faultsOf(role, [policy({ objects: ['Deployment', 'Role'] }), policy({ objects: ['*'] })])).toHaveLength(1);
    expect(faultsOf(object('v1', 'Namespace'), [policy({ objects: ['*', 'Namespace'] })])[0]).toMatch(
      /belongs to the whole cluster/,
    );
  });

  it('are counted with all their containers', () => {
    const own = { ...values, containers: { proxy: { image: 'envoy:1', resources: { limits: { cpu: '1500m' } } } } };
    const input = inputOf({
      components: [namespace, web(deployment(), own)],
      images: allFound,
      policies: [policy({ resources: { per_component: { cpu: '2' } }, kinds: ['Deployment'] })],
    });
    expect(computeEnvironment(input).faults.map(({ message }) => message)).toEqual([
      'web.resources.limits.cpu of all its containers is 2.5 (k8s/app.yaml:23); the limit resources.per_component.cpu is 2, set by policy.yaml',
    ]);
  });
});
