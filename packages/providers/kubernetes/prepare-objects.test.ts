import { isEphError, type JsonMap, type JsonValue, type ResolvedComponent, toFailure } from '@eph/contract';
import { fieldAt, listAt } from '@eph/kube/fields';
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type EnvironmentFacts, type PreparedObject, prepareObjects } from './prepare-objects.ts';
import { factsOf, resolvedComponent } from './resolved-component.fake.ts';
import { parseKubernetesValues } from './values.ts';

const pods = { containers: [{ name: 'main', image: 'nginx:1' }] };
const workload = (kind: string, spec: JsonMap = {}, ownPods: JsonMap = pods): JsonMap => ({
  apiVersion: kind === 'Job' ? 'batch/v1' : 'apps/v1',
  kind,
  metadata: { name: 'web' },
  spec: { ...spec, template: { metadata: { labels: { app: 'web' } }, spec: ownPods } },
});
const object = (apiVersion: string, kind: string, more: JsonMap = {}, name = 'a'): JsonMap => ({
  apiVersion,
  kind,
  metadata: { name },
  ...more,
});

type More = [values?: JsonMap, facts?: Partial<EnvironmentFacts>, component?: Partial<ResolvedComponent>];

const prepare = (objects: readonly JsonMap[], ...[values, facts, more]: More): readonly PreparedObject[] => {
  const component = resolvedComponent('web', { objects, ...values }, more);
  return prepareObjects(component, parseKubernetesValues(component), factsOf(facts)).objects;
};

const prepareOne = (one: JsonMap, ...more: More): PreparedObject['object'] => {
  const [prepared] = prepare([one], ...more);
  if (prepared === undefined) throw new Error('nothing was prepared');
  return prepared.object;
};

const refusalOf = (objects: readonly JsonMap[], ...more: More): string => {
  try {
    prepare(objects, ...more);
  } catch (error) {
    const { code, message } = toFailure(error);
    return `${code}: ${message}`;
  }
  return 'nothing was refused';
};

const marks = { 'eph.io/owner': 'main', 'eph.io/environment': '0123456789abcdef', 'eph.io/component': 'web' };

describe('an object', () => {
  it('is put into the namespace of its environment, which it may name anywhere', () => {
    const one = object('v1', 'ConfigMap', {
      metadata: { name: 'a', namespace: 'eph-environment-namespace' },
      data: { 'eph-environment-namespace.conf': 'db.eph-environment-namespace.svc' },
    });
    expect(prepareOne(one)).toEqual({
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: { name: 'a', namespace: 'eph-shop-1234', labels: marks },
      data: { 'eph-shop-1234.conf': 'db.eph-shop-1234.svc' },
    });
  });

  it('carries the labels of Eph and none that only look like them', () => {
    const metadata = {
      name: 'a',
      labels: { app: 'web', 'eph.io/owner': 'another', 'eph.io/x': 'y' },
      annotations: { note: 'kept', 'eph.io/identity': '{}' },
    };
    expect(prepareOne(object('v1', 'ConfigMap', { metadata })).metadata).toEqual({
      name: 'a',
      namespace: 'eph-shop-1234',
      labels: { app: 'web', ...marks },
      annotations: { note: 'kept' },
    });
  });

  it('has nothing that would keep it from going away, or that only the server writes', () => {
    const metadata = { name: 'a', finalizers: ['a/b'], ownerReferences: [{}], managedFields: [], uid: 'u' };
    const one = workload('StatefulSet', {
      volumeClaimTemplates: [{ metadata: { name: 'data', finalizers: ['a/b'] }, spec: {} }],
    });
    expect(Object.keys(prepareOne(object('v1', 'ConfigMap', { metadata, status: {} })))).not.toContain('status');
    expect(Object.keys(prepareOne(object('v1', 'ConfigMap', { metadata })).metadata)).toEqual(['name', 'labels', 'namespace']);
    expect(JSON.stringify(prepareOne(one))).not.toContain('finalizers');
  });

  it('comes before what needs it', () => {
    const objects = [
      workload('Deployment'),
      object('policy/v1', 'PodDisruptionBudget'),
      object('autoscaling/v2', 'HorizontalPodAutoscaler'),
      object('v1', 'Service'),
      object('networking.k8s.io/v1', 'Ingress'),
      object('v1', 'PersistentVolumeClaim'),
      object('v1', 'ServiceAccount'),
      object('v1', 'ConfigMap'),
      object('v1', 'Secret'),
    ];
    const kinds = prepare(objects, { secretEnv: { TOKEN: [{ secret: 'TOKEN' }] } }).map(
      ({ object: one }) => `${one.kind}/${one.metadata.name}`,
    );
    expect(kinds).toEqual([
      'Secret/eph-env-web',
      'Secret/a',
      'ConfigMap/a',
      'ServiceAccount/a',
      'PersistentVolumeClaim/a',
      'Service/a',
      'Ingress/a',
      'HorizontalPodAutoscaler/a',
      'PodDisruptionBudget/a',
      'Deployment/web',
    ]);
  });

  it.each<[string, JsonMap, RegExp]>([
    ['of the cluster', object('v1', 'Namespace'), /Namespace a: it belongs to the whole cluster/],
    [
      'of another namespace',
      object('v1', 'Secret', { metadata: { name: 'a', namespace: 'kube-system' } }),
      /for another namespace/,
    ],
    ['named as the inventory of a component', object('v1', 'Secret', {}, 'eph-component-web'), /Eph uses this name itself/],
    ['named as the variables of a component', object('v1', 'Secret', {}, 'eph-env-web'), /Eph uses this name itself/],
    ['named as a guard', object('networking.k8s.io/v1', 'NetworkPolicy', {}, 'eph-isolation'), /Eph uses this name itself/],
    ['without a kind', { apiVersion: 'v1', metadata: { name: 'a' } }, /objects\.0\.kind/],
    ['with a name that leads elsewhere', object('v1', 'Secret', {}, '../b'), /objects\.0\.metadata\.name/],
    [
      'with a label that is a number',
      object('v1', 'Secret', { metadata: { name: 'a', labels: { version: 1 } } }),
      /put its value in quotes/,
    ],
  ])('%s is refused', (_, one, message) => {
    expect(refusalOf([one])).toMatch(/^component\.refused: Component web cannot be made in Kubernetes: /);
    expect(refusalOf([one])).toMatch(message);
  });

  it('that is there twice is refused', () => {
    expect(refusalOf([object('v1', 'Secret')], { secrets: { a: { KEY: 'v' } } })).toMatch(/Secret a: it is there twice/);
  });

  it('may have a name like those of Eph where that is none of its kinds', () => {
    expect(prepareOne(object('v1', 'ConfigMap', {}, 'eph-quota')).metadata.name).toBe('eph-quota');
  });
});

describe('a secret', () => {
  it('has all its contents in one place, with the namespace in encoded texts too', () => {
    const host = Buffer.from('db.eph-environment-namespace.svc').toString('base64');
    const binary = Buffer.from([0xff, 0, 0xfe]).toString('base64');
    const one = object('v1', 'Secret', { data: { host, binary }, stringData: { text: 'in eph-environment-namespace' } });
    const { data } = prepareOne(one) as unknown as { data: Record<string, string> };
    expect(data).toEqual({
      host: Buffer.from('db.eph-shop-1234.svc').toString('base64'),
      binary,
      text: Buffer.from('in eph-shop-1234').toString('base64'),
    });
  });

  it('is made of variables that go in at a start', () => {
    const secretEnv = { AUTH: ['Bearer ', { secret: 'TOKEN' }], EPH_URL: [{ url: true }, '/x'] };
    const secrets = { app: { PLAIN: 'text', KEY: [{ secret: 'TOKEN' }] } };
    const contents = Object.fromEntries(
      prepare([], { secretEnv, secrets }).map(({ object: one }) => [
        one.metadata.name,
        Object.entries(one['data'] as object).map(([key, text]) => [key, Buffer.from(String(text), 'base64').toString()]),
      ]),
    );
    expect(contents).toEqual({
      'eph-env-web': [
        ['AUTH', 'Bearer hush'],
        ['EPH_URL', 'https://shop.example.com/x'],
      ],
      app: [
        ['PLAIN', 'text'],
        ['KEY', 'hush'],
      ],
    });
  });

  it('that the server does not have any more is refused', () => {
    expect(refusalOf([], { secretEnv: { A: [{ secret: 'GONE' }] } })).toMatch(
      /^component\.refused: the secret \$\{GONE\} is not set/,
    );
  });

  it('cannot take the place of what Eph writes down', () => {
    expect(refusalOf([], { secrets: { 'eph-component-web': { KEY: 'v' } } })).toMatch(/Eph uses this name itself/);
  });
});

describe('what every rendering makes anew', () => {
  const generated = { '/0/stringData/password': 'p4ss', '/1/spec/template/metadata/annotations/sum': 'abc' };
  const objects = [object('v1', 'Secret', { stringData: { password: null } }), workload('Deployment', {}, pods)];
  const [secret, deployment] = objects;
  const annotated = { ...deployment, spec: { template: { metadata: { annotations: { sum: null } }, spec: pods } } };
  const volatile = Object.keys(generated);

  it('is filled in, and kept where it is there already', () => {
    const prepared = prepare([secret ?? {}, annotated], { volatile }, {}, { generated });
    expect(prepared.map(({ keep }) => keep)).toEqual([['/data/password'], ['/spec/template/metadata/annotations/sum']]);
    expect(prepared[0]?.object['data']).toEqual({ password: Buffer.from('p4ss').toString('base64') });
    expect(prepared[1]?.object).toHaveProperty(['spec', 'template', 'metadata', 'annotations', 'sum'], 'abc');
  });

  it.each([['/0/metadata/name'], ['/0/kind'], ['/7/data'], ['/0'], ['no pointer'], ['/0/data/none']])(
    'is refused where it cannot be: %s',
    (pointer) => {
      expect(refusalOf([secret ?? {}], { volatile: [pointer] }, {}, { generated: { [pointer]: 'x' } })).toMatch(
        /^component\.refused: .+names no value of its objects/,
      );
    },
  );

  it('is refused where it is missing', () => {
    expect(refusalOf([secret ?? {}], { volatile: ['/0/stringData/password'] })).toMatch(/has no value/);
  });
});

describe('pods', () => {
  const podsOf = (one: JsonMap, ...more: More): JsonMap =>
    (prepareOne(one, ...more) as unknown as { spec: { template: { spec: JsonMap } } }).spec.template.spec;

  it('carry the labels of Eph, whatever makes them', () => {
    const template = { metadata: { labels: { app: 'web' } }, spec: pods };
    const cron = object('batch/v1', 'CronJob', { spec: { jobTemplate: { spec: { template } } } });
    const labels = { app: 'web', ...marks };
    expect(prepareOne(workload('Deployment'))).toHaveProperty(['spec', 'template', 'metadata', 'labels'], labels);
    expect(prepareOne(cron)).toHaveProperty(['spec', 'jobTemplate', 'spec', 'template', 'metadata', 'labels'], labels);
    expect(prepareOne(cron)).toHaveProperty(['spec', 'jobTemplate', 'metadata', 'labels'], marks);
    const stateful = workload('StatefulSet', { volumeClaimTemplates: [{ metadata: { name: 'data' }, spec: {} }] });
    expect(prepareOne(stateful)).toHaveProperty(['spec', 'volumeClaimTemplates', '0', 'metadata'], {
      name: 'data',
      labels: marks,
    });
  });

  it('get no token, no variables of all services, and the pull secrets of the environment', () => {
    const given = { ...pods, imagePullSecrets: [{ name: 'own' }], automountServiceAccountToken: true };
    expect(podsOf(workload('Deployment', {}, given), {}, { imagePullSecrets: ['own', 'shared'] })).toMatchObject({
      automountServiceAccountToken: false,
      enableServiceLinks: false,
      imagePullSecrets: [{ name: 'own' }, { name: 'shared' }],
    });
  });

  it('get the token of an account of their own if they ask for it themselves', () => {
    const given = { ...pods, serviceAccountName: 'operator', automountServiceAccountToken: true, enableServiceLinks: true };
    expect(podsOf(workload('Deployment', {}, given))).toMatchObject({
      automountServiceAccountToken: true,
      enableServiceLinks: true,
    });
    const silent = { ...pods, serviceAccountName: 'operator' };
    expect(podsOf(workload('Deployment', {}, silent))).toMatchObject({ automountServiceAccountToken: false });
  });

  it('that ask for more than containers without limits may have get that as their limit', () => {
    const asking = (cpu: string): JsonMap => ({ containers: [{ name: 'main', resources: { requests: { cpu } } }] });
    const budget = { cpu: 4 };
    const resourcesOf = (cpu: string): unknown => {
      const { containers } = podsOf(workload('Deployment', {}, asking(cpu)), {}, {}, { budget });
      return (containers as readonly { readonly resources: unknown }[])[0]?.resources;
    };
    expect(resourcesOf('2')).toEqual({ requests: { cpu: '2' }, limits: { cpu: '2' } });
    expect(resourcesOf('100m')).toEqual({ requests: { cpu: '100m' } });
  });
});

describe('a new version', () => {
  const claims = { ...pods, volumes: [{ name: 'data', persistentVolumeClaim: { claimName: 'data' } }] };
  const strategyOf = (strategy: JsonMap, ownPods: JsonMap = pods, facts: Partial<EnvironmentFacts> = {}): unknown =>
    (prepareOne(workload('Deployment', { strategy }, ownPods), {}, facts)['spec'] as JsonMap)['strategy'];

  it('of a Deployment is ready before the old one ends', () => {
    expect(strategyOf({})).toEqual({ type: 'RollingUpdate', rollingUpdate: { maxUnavailable: 0 } });
    expect(strategyOf({ type: 'RollingUpdate', rollingUpdate: { maxUnavailable: 1, maxSurge: 0 } })).toEqual({
      type: 'RollingUpdate',
      rollingUpdate: { maxUnavailable: 0, maxSurge: 1 },
    });
  });

  it('leaves time to those who still ask the old one, unless it says itself what it does before its end', () => {
    const serve = { ...object('v1', 'Service'), spec: { selector: { app: 'web' } } };
    const waits = (more: JsonMap, container: JsonMap = {}, others = [serve]) => {
      const containers = [{ name: 'main', image: 'nginx:1', ...container }];
      const prepared = prepare([workload('Deployment', {}, { ...more, containers }), ...others]);
      const [main] = listAt(prepared.at(-1)?.object, 'spec', 'template', 'spec', 'containers');
      return fieldAt(main, 'lifecycle');
    };
    const sleep = (seconds: number) => ({ preStop: { sleep: { seconds } } });
    const own = { preStop: { exec: { command: ['drain'] } } };
    expect(waits({})).toEqual(sleep(2));
    expect(waits({ terminationGracePeriodSeconds: 3 })).toEqual(sleep(1));
    expect(waits({ terminationGracePeriodSeconds: 1 })).toBeUndefined();
    expect(waits({}, { lifecycle: own })).toEqual(own);
    expect(waits({}, {}, [])).toBeUndefined();
  });

  it('of a Deployment with a volume for one pod starts after the old one', () => {
    const recreate = { type: 'Recreate' };
    expect(strategyOf({ type: 'Recreate' })).toEqual(recreate);
    expect(strategyOf({}, claims)).toEqual(recreate);
    expect(strategyOf({}, claims, { accessModesOf: () => ['ReadWriteOnce'] })).toEqual(recreate);
    expect(strategyOf({}, claims, { accessModesOf: () => ['ReadWriteMany'] })).toMatchObject({ type: 'RollingUpdate' });
  });

  it('has five minutes, unless the manifest says otherwise', () => {
    expect(prepareOne(workload('Deployment'))['spec']).toMatchObject({ progressDeadlineSeconds: 300, revisionHistoryLimit: 1 });
    expect(prepareOne(workload('Deployment', { progressDeadlineSeconds: 30, revisionHistoryLimit: 9 }))['spec']).toMatchObject({
      progressDeadlineSeconds: 30,
      revisionHistoryLimit: 1,
    });
  });

  it('leaves no volume behind, and no Job goes by itself', () => {
    expect(prepareOne(workload('StatefulSet'))['spec']).toMatchObject({
      persistentVolumeClaimRetentionPolicy: { whenDeleted: 'Delete', whenScaled: 'Retain' },
    });
    expect(prepareOne(workload('Job', { ttlSecondsAfterFinished: 0 }))['spec']).not.toHaveProperty('ttlSecondsAfterFinished');
  });
});

describe('values of strangers', () => {
  const fails = (act: () => unknown): string | undefined => {
    try {
      act();
      return undefined;
    } catch (error) {
      return isEphError(error) ? error.code : String(error);
    }
  };
  const outcome = (values: JsonMap, generated: JsonMap): string | undefined =>
    fails(() => {
      const component = resolvedComponent('web', values, { generated });
      prepareObjects(component, parseKubernetesValues(component), factsOf());
    });
  const json = fc.jsonValue({ maxDepth: 5 }) as fc.Arbitrary<JsonValue>;
  const kinds = [
    'Deployment.apps',
    'StatefulSet.apps',
    'Job.batch',
    'CronJob.batch',
    'Pod.',
    'Secret.',
    'PersistentVolumeClaim.',
  ];
  const hostile = fc
    .record({
      kind: fc.constantFrom(...kinds),
      name: fc.constantFrom('a', 'b', 'eph-env-x'),
      metadata: fc.dictionary(fc.constantFrom('labels', 'annotations', 'namespace', '__proto__'), json),
      more: fc.dictionary(fc.constantFrom('spec', 'data', 'stringData', 'status', '__proto__'), json),
      spec: fc.dictionary(fc.constantFrom('template', 'strategy', 'volumeClaimTemplates', 'jobTemplate'), json),
    })
    .map(({ kind, name, metadata, more, spec }): JsonMap => {
      const [own = '', group = ''] = kind.split('.');
      const apiVersion = group === '' ? 'v1' : `${group}/v1`;
      return { spec, ...more, apiVersion, kind: own, metadata: { ...metadata, name } };
    });

  it('are refused with a sentence or prepared, whatever they are', () => {
    const values = fc.oneof(
      fc.dictionary(fc.constantFrom('objects', 'entry', 'secretEnv', 'volatile', 'secrets', 'copies', 'hook'), json),
      fc.record({ objects: fc.array(hostile, { maxLength: 4 }) }),
      fc.record({
        objects: fc.array(hostile, { maxLength: 4 }),
        volatile: fc.array(fc.constantFrom('/0/spec', '/0/data', '/1/metadata/labels')),
      }),
    ) as fc.Arbitrary<JsonMap>;
    fc.assert(
      fc.property(
        values,
        fc.dictionary(fc.constantFrom('/0/spec', '/0/data', '/1/metadata/labels'), json),
        (given, generated) => {
          expect([undefined, 'component.refused']).toContain(outcome(given, generated));
        },
      ),
      { numRuns: 3000 },
    );
  });

  it('are refused where they are nested without end', () => {
    const nested = (depth: number): JsonValue => JSON.parse('['.repeat(depth) + ']'.repeat(depth)) as JsonValue;
    expect(outcome({ objects: [object('v1', 'ConfigMap', { data: nested(200) })] }, {})).toBe('component.refused');
    expect(outcome({ objects: [] }, { '/0': nested(200) })).toBe('component.refused');
  });
});
