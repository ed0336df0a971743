import { at, isWorkload, podTemplatePath, type Spec } from '@eph/contract';
import { describe, expect, it } from 'vitest';
import { computeComponents, type KubernetesSettings } from './components.ts';
import { ManifestFaults, printObject } from './manifest.ts';
import { parseManifests } from './parse-manifests.ts';

const workload = (name: string, { kind = 'Deployment', app = name, more = '', annotations = '{}' } = {}): string => `
apiVersion: ${{ Job: 'batch/v1', CronJob: 'batch/v1' }[kind] ?? 'apps/v1'}
kind: ${kind}
metadata: { name: ${name}, annotations: ${annotations} }
spec:
  template:
    metadata: { labels: { app: ${app} } }
    spec: { containers: [{ name: main, image: "${name}:1" }] }
${more}`;

const service = (name: string, app = name, ports = '[{ port: 80 }]'): string =>
  `apiVersion: v1\nkind: Service\nmetadata: { name: ${name} }\nspec: { selector: { app: ${app} }, ports: ${ports} }\n`;

const settings = { manifests: [{ path: 'k8s' }] } satisfies KubernetesSettings;

const compute = (texts: readonly string[], changes: Partial<KubernetesSettings> = {}) =>
  computeComponents(parseManifests(texts.join('\n---\n'), 'k8s/app.yaml'), { ...settings, ...changes });

const shown = (...args: Parameters<typeof compute>): Record<string, readonly string[]> =>
  Object.fromEntries(
    compute(...args).components.map(({ name, objects }) => [
      name,
      objects.map(({ object, file, line }) => printObject({ object, file, line, place: () => undefined })),
    ]),
  );

const faultsOf = (...args: Parameters<typeof compute>): readonly string[] => {
  try {
    compute(...args);
    return [];
  } catch (error) {
    if (error instanceof ManifestFaults) return error.faults.map(({ message }) => message);
    throw error;
  }
};

describe('each workload', () => {
  it('is a component with what points at it, and the rest is the namespace', () => {
    const scaler = `apiVersion: autoscaling/v2\nkind: HorizontalPodAutoscaler\nmetadata: { name: s }\nspec: { scaleTargetRef: { kind: Deployment, name: web }, maxReplicas: 3 }`;
    const budget = `apiVersion: policy/v1\nkind: PodDisruptionBudget\nmetadata: { name: b }\nspec: { selector: { matchExpressions: [{ key: app, operator: In, values: [web] }] } }`;
    const other = 'apiVersion: v1\nkind: ConfigMap\nmetadata: { name: c }';
    const texts = [other, workload('web'), workload('api'), service('front', 'web'), service('stray', 'nobody'), scaler, budget];
    expect(shown(texts)).toEqual({
      namespace: ['ConfigMap/c', 'Service/stray'],
      web: ['Deployment/web', 'Service/front', 'HorizontalPodAutoscaler/s', 'PodDisruptionBudget/b'],
      api: ['Deployment/api'],
    });
  });

  it('needs the namespace', () => {
    const { components } = compute([workload('web')]);
    expect(components.map(({ name, needs }) => [name, needs])).toEqual([
      ['namespace', []],
      ['web', ['namespace']],
    ]);
  });

  it('has its kind in its name where two share one, and where its name means something else', () => {
    const texts = [workload('web'), workload('web', { kind: 'StatefulSet' }), workload('namespace'), workload('a.b')];
    expect(Object.keys(shown(texts))).toEqual(['namespace', 'web-deployment', 'web-statefulset', 'namespace-deployment', 'a-b']);
  });

  it('has a DNS label as its name, however long its own is', () => {
    const [, name = ''] = Object.keys(shown([workload('a'.repeat(200))]));
    expect(name).toMatch(/^a{50}-[0-9a-f]{8}$/);
  });

  it('that would have the name of another one is refused', () => {
    const texts = [workload('web'), workload('web', { kind: 'StatefulSet' }), workload('web-deployment')];
    expect(faultsOf(texts)[0]).toMatch(/would both be component web-deployment$/);
  });

  it('that is no workload of Kubernetes is none', () => {
    expect(shown(['apiVersion: example.com/v1\nkind: Deployment\nmetadata: { name: x }'])).toEqual({
      namespace: ['Deployment/x'],
    });
  });
});

describe('values', () => {
  it('come from the main container and those beside it', () => {
    const text = `apiVersion: apps/v1
kind: Deployment
metadata: { name: web }
spec:
  replicas: 2
  template:
    spec:
      initContainers: [{ name: migrate, image: "web:1" }]
      containers:
        - { name: proxy, image: envoy, resources: { limits: { cpu: 1, nvidia.com/gpu: 1 } } }
        - name: web
          image: web:1
          env:
            - { name: A, value: b }
            - { name: B, valueFrom: { secretKeyRef: { name: s, key: k } } }
            - { name: not.ours, value: c }
          resources: { requests: { memory: 1Gi } }
`;
    const [, web] = compute([text]).components;
    expect(web?.values).toEqual({
      image: 'web:1',
      replicas: 2,
      env: { A: 'b', B: { valueFrom: { secretKeyRef: { name: 's', key: 'k' } } } },
      resources: { requests: { memory: '1Gi' } },
      containers: { proxy: { image: 'envoy', resources: { limits: { cpu: 1 } } }, migrate: { image: 'web:1' } },
    });
    expect(web?.places).toMatchObject({
      replicas: [5, 3],
      image: [12, 11],
      'env.A': [14, 15],
      'resources.requests.memory': [17, 36],
    });
  });

  it('of the namespace come from the section', () => {
    const [namespace] = compute([workload('web')], {
      context: 'staging',
      namespace_template: '{name}',
      imagePullSecrets: [{ name: 'pull' }],
      secrets: [{ name: 'app', data: { KEY: '${KEY}' } }],
    }).components;
    expect(namespace?.values).toEqual({
      context: 'staging',
      namespace_template: '{name}',
      imagePullSecrets: ['pull'],
      env: { 'app/KEY': '${KEY}' },
    });
  });

  it('of the namespace say which secrets are copied there', () => {
    const manifests = parseManifests(workload('web'), 'k8s/app.yaml');
    const copiesOf = (kubernetes: NonNullable<NonNullable<Spec['secrets']>['kubernetes']>) =>
      computeComponents(manifests, settings, { secrets: { kubernetes } }).components[0]?.values['copies'];
    expect(copiesOf({ copy_from_namespace: 'shared', secrets: ['a', 'b'] })).toEqual({ namespace: 'shared', names: ['a', 'b'] });
    expect(copiesOf({ secrets: ['a'] })).toEqual({ names: ['a'] });
  });
});

describe('annotations for metrics', () => {
  const annotations = { 'prometheus.io/scrape': 'true', 'prometheus.io/port': '9090' };
  /** Of pods, by component. */
  const annotate = (text: string, metrics: NonNullable<NonNullable<Spec['observability']>['metrics']>) =>
    Object.fromEntries(
      computeComponents(parseManifests(text, 'k8s/app.yaml'), settings, { observability: { metrics } }).components.map(
        ({ name, kind, objects }) => [
          name,
          isWorkload(kind) ? at(objects[0]?.object, [...podTemplatePath(kind), 'metadata', 'annotations']) : objects.length,
        ],
      ),
    );

  it('are given to the pods of every workload', () => {
    const job = 'apiVersion: batch/v1\nkind: CronJob\nmetadata: { name: nightly }';
    const pod = 'apiVersion: v1\nkind: Pod\nmetadata: { name: bare }';
    const texts = [workload('web'), service('web'), job, pod].join('\n---\n');
    expect(annotate(texts, { enabled: true, annotations })).toEqual({
      namespace: 0,
      web: annotations,
      nightly: annotations,
      bare: annotations,
    });
  });

  it('leave what the manifest says', () => {
    const own = workload('web').replace('{ labels:', '{ annotations: { prometheus.io/port: "8081" }, labels:');
    expect(annotate(own, { annotations })).toMatchObject({ web: { ...annotations, 'prometheus.io/port': '8081' } });
  });

  it('are not given where that is switched off', () => {
    expect(annotate(workload('web'), { enabled: false, annotations })).toEqual({ namespace: 0, web: undefined });
  });
});

describe('the entry', () => {
  const entryOf = (...args: Parameters<typeof compute>) =>
    compute(...args).components.flatMap(({ name, entry }) => (entry === undefined ? [] : [{ name, ...entry }]));

  it('is the only service', () => {
    expect(entryOf([workload('web'), service('front', 'web')])).toEqual([{ name: 'web', service: 'front', port: 80 }]);
  });

  it('is nothing where nothing can be reached', () => {
    const texts = [workload('worker'), service('stray')];
    expect(entryOf(texts)).toEqual([]);
    expect(compute(texts).notices).toEqual([expect.stringMatching(/^no Service selects a workload/)]);
  });

  it('is the one that the file names, with its port', () => {
    const ports = '[{ name: http, port: 80 }, { name: admin, port: 81 }, { port: 53, protocol: UDP, name: dns }]';
    const texts = [workload('web'), service('web', 'web', ports), workload('api'), service('api')];
    expect(entryOf(texts, { entry: { service: 'web', port: 'admin' } })).toEqual([
      { name: 'web', service: 'web', port: 'admin' },
    ]);
    expect(entryOf(texts, { entry: { service: 'api' } })).toEqual([{ name: 'api', service: 'api', port: 80 }]);
    expect(faultsOf(texts, { entry: { service: 'web' } })).toEqual([
      'eph.yaml: kubernetes.entry: is required with a port: service web has 80 (http) and 81 (admin)',
    ]);
    expect(faultsOf(texts, { entry: { service: 'web', port: 9 } })[0]).toMatch(
      /has no port 9; it has: 80 \(http\), 81 \(admin\)$/,
    );
  });

  it('has to be named where there are several', () => {
    const texts = [workload('web'), service('web'), workload('api'), service('api')];
    expect(faultsOf(texts)).toEqual(['eph.yaml: kubernetes.entry: is required: the traffic could go to web or api']);
    expect(faultsOf(texts, { entry: { service: 'wbe' } })[0]).toMatch(/there is no service wbe; there is: web, api$/);
  });

  it('selects a workload', () => {
    expect(faultsOf([workload('web'), service('stray')], { entry: { service: 'stray' } })[0]).toMatch(/selects no workload$/);
  });
});

describe('hooks', () => {
  const hook = (name: string, phase: string, weight = '0'): string =>
    workload(name, { kind: 'Job', annotations: `{ helm.sh/hook: "${phase}", helm.sh/hook-weight: "${weight}" }` });

  it('before are needed by all workloads, and those after need the namespace alone', () => {
    const texts = [
      workload('web'),
      hook('second', 'pre-upgrade', '5'),
      hook('first', 'pre-install,pre-upgrade', '-5'),
      hook('warm', 'post-install'),
    ];
    const { components } = compute(texts);
    expect(Object.fromEntries(components.map(({ name, needs, hook: phase }) => [name, [phase, ...needs]]))).toEqual({
      namespace: [undefined],
      web: [undefined, 'namespace', 'second', 'first'],
      second: ['before', 'namespace', 'first'],
      first: ['before', 'namespace'],
      warm: ['after', 'namespace'],
    });
  });

  it('of other kinds are left out, and that is said', () => {
    const { components, notices } = compute([workload('web'), service('web'), hook('test', 'test'), hook('odd', 'constructor')]);
    expect(components.map(({ name }) => name)).toEqual(['namespace', 'web']);
    expect(notices).toEqual([
      'k8s/app.yaml: Job/test is left out: Eph runs no hook test',
      'k8s/app.yaml: Job/odd is left out: Eph runs no hook constructor',
    ]);
  });
});
