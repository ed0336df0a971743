import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { printFault } from '../spec/document.ts';
import { environmentConfigLimitBytes, parseEnvironmentConfig } from './environment-config.ts';
import type { ConfigScope } from './labels.ts';

const parse = (text: string, scope?: ConfigScope) =>
  parseEnvironmentConfig(new TextEncoder().encode(text), 'dev/env.yaml', scope);

const read = (text: string, scope?: ConfigScope) => {
  const parsed = parse(text, scope);
  return parsed.ok ? parsed.value : faultsOf(text, scope);
};

const faultsOf = (text: string, scope?: ConfigScope): readonly string[] => {
  const parsed = parse(text, scope);
  return parsed.ok ? [] : parsed.faults.map(printFault);
};

const cluster = (payload: string, labels = 'eph.io/type: cluster'): string =>
  [
    'apiVersion: apiextensions.crossplane.io/v1beta1',
    'kind: EnvironmentConfig',
    'metadata:',
    '  name: cluster',
    `  labels: { ${labels} }`,
    payload,
  ].join('\n');

const project = (payload: string, labels = 'eph.io/type: project, eph.io/repository: acme, eph.io/project: api'): string =>
  cluster(payload, labels);

const seedCluster = `apiVersion: apiextensions.crossplane.io/v1alpha1
kind: EnvironmentConfig
metadata:
  name: Cluster
  labels:
    forge.projectcatalyst.io/type: cluster
spec:
  environment:
    name: dev
    domain: dev.us-east-1.projectcatalyst.io
    region: us-east-1
  defaults:
    Deployment:
      replicas: 1  # Lower for dev
    Network:
      tlsEnabled: false  # Disable TLS in dev
`;

const seedDefaults = `apiVersion: apiextensions.crossplane.io/v1alpha1
kind: EnvironmentConfig
metadata:
  name: Cluster
  labels:
    forge.projectcatalyst.io/type: cluster
spec:
  # Environment identification
  environment:
    name: <env-name>
    domain: <env-domain>
    region: <region>

  # Cluster-wide defaults per XRD kind
  defaults:
    Deployment:
      replicas: 3
      resources:
        requests:
          cpu: "100m"
          memory: "128Mi"
    Network:
      tlsEnabled: true
`;

const seedProject = `apiVersion: apiextensions.crossplane.io/v1alpha1
kind: EnvironmentConfig
metadata:
  name: acme-services-api
  labels:
    forge.projectcatalyst.io/type: project
    forge.projectcatalyst.io/project: api
spec:
  overrides:
    api-deployment:  # Specific XR instance name
      replicas: 10   # Override for this deployment
      resources:
        requests:
          cpu: "500m"
`;

describe('documents as they have been written so far', () => {
  it('speak of the cluster', () => {
    expect(read(seedCluster)).toEqual({
      type: 'cluster',
      payload: ['spec'],
      environment: { name: 'dev', domain: 'dev.us-east-1.projectcatalyst.io', region: 'us-east-1' },
      defaults: { Deployment: { replicas: 1 }, Network: { tlsEnabled: false } },
      platform: {},
      policy: undefined,
    });
    expect(read(seedDefaults)).toMatchObject({
      defaults: {
        Deployment: { replicas: 3, resources: { requests: { cpu: '100m', memory: '128Mi' } } },
        Network: { tlsEnabled: true },
      },
    });
  });

  it('speak of a project, and leave its repository to the path', () => {
    expect(read(seedProject, { type: 'project', repository: 'acme-services', project: 'api' })).toEqual({
      type: 'project',
      payload: ['spec'],
      repository: undefined,
      project: 'api',
      overrides: { 'api-deployment': { replicas: 10, resources: { requests: { cpu: '500m' } } } },
    });
  });

  it('hold their payload in spec.data, with all standard fields', () => {
    expect(
      read(
        cluster(`spec:
  data:
    environment: { name: prod, domain: example.org, region: eu, tier: prod }
    defaults:
      Deployment: { replicas: 2, autoscaling: { enabled: true, minReplicas: 1, maxReplicas: 9 } }
      Network: { tlsEnabled: true, ingressClass: nginx, certificateIssuer: letsencrypt }
      Database: { engine: postgres, version: "17", instanceClass: small, storageGB: 20, backupRetentionDays: 7 }
    platform:
      registry: registry.example.org
      objectStorage: { endpoint: https://s3.example.org, bucket: eph }
      secretBackend: { type: vault, endpoint: https://vault.example.org }
      observability: { metricsEndpoint: https://metrics.example.org, logsEndpoint: https://logs.example.org }`),
      ),
    ).toMatchObject({
      payload: ['spec', 'data'],
      environment: { tier: 'prod' },
      defaults: { Database: { storageGB: 20 }, Network: { ingressClass: 'nginx' } },
      platform: { registry: 'registry.example.org', secretBackend: { type: 'vault' } },
    });
  });
});

describe('a document', () => {
  it('holds its payload in data', () => {
    expect(read(cluster('data: { platform: { outputs: { keycloak: { issuerUrl: "https://id.example.org" } } } }'))).toMatchObject(
      {
        payload: ['data'],
        platform: { outputs: { keycloak: { issuerUrl: 'https://id.example.org' } } },
      },
    );
    expect(read(project('data: { overrides: { web: { replicas: 2 } } }'))).toMatchObject({
      repository: 'acme',
      project: 'api',
      overrides: { web: { replicas: 2 } },
    });
  });

  it('removes keys with null, at any depth', () => {
    expect(
      read(
        cluster(
          'data: { defaults: { Deployment: { replicas: ~, env: { A: ~ }, resources: { limits: { cpu: null } }, ready: { http: ~, tcp: true } } } }',
        ),
      ),
    ).toMatchObject({
      defaults: {
        Deployment: { replicas: null, env: { A: null }, resources: { limits: { cpu: null } }, ready: { http: null, tcp: true } },
      },
    });
    expect(read(project('data: { overrides: { web: { a: { b: null } } } }'))).toMatchObject({
      overrides: { web: { a: { b: null } } },
    });
  });

  it('may say nothing about a kind or a component', () => {
    expect(read(cluster('data: { defaults: { Deployment: } }'))).toMatchObject({ defaults: {} });
    expect(read(cluster('data: { defaults: }'))).toMatchObject({ defaults: {} });
    expect(read(project('data: { overrides: { web: } }'))).toMatchObject({ overrides: {} });
    expect(read(project('data: { overrides: }'))).toMatchObject({ overrides: {} });
    expect(read(cluster('data: {}'))).toMatchObject({ type: 'cluster', defaults: {} });
  });

  it('keeps variables as they were written', () => {
    const env = 'env: { VERSION: 1.0, ON: yes, BIG: 12345678901234567890, FLAG: true }';
    const written = { VERSION: '1.0', ON: 'yes', BIG: '12345678901234567890', FLAG: 'true' };
    expect(read(cluster(`data: { defaults: { Deployment: { ${env} } } }`))).toMatchObject({
      defaults: { Deployment: { env: written } },
    });
    expect(read(project(`spec: { data: { overrides: { web: { ${env} } } } }`))).toMatchObject({
      overrides: { web: { env: written } },
    });
  });

  it('may speak of kinds that Eph does not know', () => {
    expect(read(cluster('data: { defaults: { Queue: { brokers: 3, nested: { list: [1, { a: ~ }] } } } }'))).toMatchObject({
      defaults: { Queue: { brokers: 3, nested: { list: [1, { a: null }] } } },
    });
  });

  it('may carry labels and annotations of others', () => {
    expect(
      read(
        cluster('data: {}', 'eph.io/type: cluster, app.kubernetes.io/name: x').replace(
          '  labels',
          '  annotations: { a/b: c }\n  labels',
        ),
      ),
    ).toMatchObject({ type: 'cluster' });
  });

  it('knows where its keys stand', () => {
    const parsed = parse(seedProject);
    expect(parsed.ok && parsed.places.at(['spec', 'overrides', 'api-deployment', 'resources', 'requests', 'cpu'])).toEqual({
      line: 14,
      column: 11,
    });
  });
});

describe('faults', () => {
  it('come all at once, with line, column, path and a suggestion', () => {
    expect(
      faultsOf(`apiVersion: apiextensions.crossplane.io/v1
kind: EnvironmentConfg
metadata:
  name: Dev Cluster
  labels: { eph.io/typ: cluster }
data:
  enviroment: { name: dev }
  defaults:
    Deployment: { replica: 3, resources: { requests: { cpu: lots } } }
    deployments: {}
  platform: { outputs: { Keycloak: {}, mail: { port: 25 } } }
`),
    ).toEqual([
      'dev/env.yaml:1:1: apiVersion: must be "apiextensions.crossplane.io/v1beta1" or "apiextensions.crossplane.io/v1alpha1"; did you mean "apiextensions.crossplane.io/v1beta1"?',
      'dev/env.yaml:2:1: kind: must be "EnvironmentConfig"',
      'dev/env.yaml:4:3: metadata.name: must be lower-case letters, digits, dashes and dots',
      'dev/env.yaml:5:13: metadata.labels.eph.io/typ: unknown label; did you mean "eph.io/type"?',
      'dev/env.yaml:7:3: data.enviroment: unknown key; did you mean "environment"?',
      'dev/env.yaml:9:19: data.defaults.Deployment.replica: unknown key; did you mean "replicas"?',
      'dev/env.yaml:9:56: data.defaults.Deployment.resources.requests.cpu: must be an amount such as 100m, 2, 128Mi or 4Gi',
      'dev/env.yaml:10:5: data.defaults.deployments: unknown kind; did you mean "Deployment"?',
      expect.stringContaining('dev/env.yaml:11:26: data.platform.outputs.Keycloak: must be lower-case letters'),
      'dev/env.yaml:11:48: data.platform.outputs.mail.port: must be text; put it in quotes',
    ]);
  });

  it.each<readonly [string, string, string]>([
    ['nothing', '', 'dev/env.yaml:1:1: the file is empty; it needs apiVersion, kind, metadata and data'],
    ['something else', 'version: "1.0"\n', 'dev/env.yaml:1:1: apiVersion: is required'],
    ['no payload', cluster(''), 'dev/env.yaml:1:1: data: is required'],
    ['a misspelt payload', cluster('dta: {}'), 'dev/env.yaml:6:1: dta: unknown key; did you mean "data"?'],
    ['two payloads', cluster('data: {}\nspec: {}'), 'dev/env.yaml:7:1: spec: data is given, too; keep everything in data'],
    [
      'a payload in two places',
      cluster('spec: { data: {}, environment: {} }'),
      'dev/env.yaml:6:19: spec.environment: spec.data is given, too; keep everything in it',
    ],
    ['no type', cluster('data: {}', ''), 'dev/env.yaml:5:3: metadata.labels: needs the label eph.io/type: cluster or project'],
    [
      'another type',
      cluster('data: {}', 'eph.io/type: node'),
      'dev/env.yaml:5:13: metadata.labels.eph.io/type: must be "cluster" or "project"',
    ],
    [
      'two types',
      cluster('data: {}', 'eph.io/type: cluster, forge.projectcatalyst.io/type: project'),
      'dev/env.yaml:5:35: metadata.labels.forge.projectcatalyst.io/type: differs from eph.io/type; keep one of them',
    ],
    [
      'a type that is no text',
      cluster('data: {}', 'eph.io/type: 7'),
      'dev/env.yaml:5:13: metadata.labels.eph.io/type: must be text; put it in quotes',
    ],
    [
      'no project',
      cluster('data: {}', 'eph.io/type: project'),
      'dev/env.yaml:5:3: metadata.labels: needs the label eph.io/project: whose overrides these are',
    ],
    [
      'a project that leaves the folder',
      cluster('data: {}', 'eph.io/type: project, eph.io/project: ../../x'),
      'dev/env.yaml:5:35: metadata.labels.eph.io/project: must be letters, digits, dashes',
    ],
    [
      'overrides for the cluster',
      cluster('data: { overrides: {} }'),
      'dev/env.yaml:6:9: data.overrides: belongs in a document with the label eph.io/type: project',
    ],
    [
      'defaults of a project',
      project('spec: { defaults: {} }'),
      'dev/env.yaml:6:9: spec.defaults: belongs in a document with the label eph.io/type: cluster',
    ],
    ['overrides that are no map', project('data: { overrides: [1] }'), 'data.overrides: must be a map of keys and values'],
    ['an override that is no map', project('data: { overrides: { web: 3 } }'), 'data.overrides.web: must be a map'],
    [
      'a number that JSON cannot hold',
      project('data: { overrides: { web: { deep: [{ down: .inf }] } } }'),
      'dev/env.yaml:6:38: data.overrides.web.deep.0.down: must be a finite number',
    ],
    ['a limit that is none', cluster('data: { policy: { colour: red } }'), 'dev/env.yaml:6:19: data.policy.colour: unknown key'],
    [
      'a name that JavaScript gives a meaning',
      project('data: { overrides: { __proto__: { a: 1 } } }'),
      'data.overrides.__proto__: is not allowed as a name',
    ],
    ['a second document', `${cluster('data: {}')}\n---\n${seedCluster}`, 'the file must hold one document'],
    ['a tab', cluster('data:\n\tdefaults: {}'), 'indent with spaces'],
    ['a key given twice', cluster('data: { environment: {}, environment: {} }'), 'data.environment: is given twice; keep one'],
  ])('name the place of %s', (_, text, fault) => {
    expect(faultsOf(text)[0]).toContain(fault);
  });

  it('tell of labels that disagree with the path', () => {
    const scope = { type: 'project', repository: 'acme', project: 'web' } as const;
    expect(faultsOf(project('data: {}'), scope)).toEqual([
      'dev/env.yaml:5:60: metadata.labels.eph.io/project: must be "web", as in the path of the file',
    ]);
    expect(faultsOf(project('data: {}', 'eph.io/type: project, eph.io/repository: other, eph.io/project: web'), scope)).toEqual([
      'dev/env.yaml:5:35: metadata.labels.eph.io/repository: must be "acme", as in the path of the file',
    ]);
    expect(faultsOf(seedCluster, scope)).toEqual([
      'dev/env.yaml:6:5: metadata.labels.forge.projectcatalyst.io/type: must be "project", as in the path of the file',
    ]);
    expect(faultsOf(seedProject, { type: 'cluster' })).toEqual([
      'dev/env.yaml:6:5: metadata.labels.forge.projectcatalyst.io/type: must be "cluster", as in the path of the file',
    ]);
  });

  it('do not depend on what the file is made of', () => {
    expect(faultsOf(`# ${'x'.repeat(environmentConfigLimitBytes)}`)[0]).toContain('at most 262144 are read');
    expect(parseEnvironmentConfig(Uint8Array.of(0xff, 0xfe), 'x').ok).toBe(false);
    const bomb = [
      'a: &a [x, x]',
      ...'bcdefghijk'.split('').map((one, index) => `${one}: &${one} [*${'abcdefghij'[index]}, *${'abcdefghij'[index]}]`),
    ];
    expect(faultsOf(bomb.join('\n')).length).toBeGreaterThan(0);
  });
});

describe('any document', () => {
  const key = fc.oneof(
    fc.constantFrom(
      'data',
      'spec',
      'metadata',
      'labels',
      'eph.io/type',
      'defaults',
      'overrides',
      'Deployment',
      'constructor',
      'toString',
    ),
    fc.string({ maxLength: 8 }),
  );
  const { value } = fc.letrec((tie) => ({
    value: fc.oneof(
      { maxDepth: 6 },
      fc.constantFrom(null, 'cluster', 'project', 'EnvironmentConfig', 'apiextensions.crossplane.io/v1beta1', 0, true, ''),
      fc.array(tie('value'), { maxLength: 3 }),
      fc.dictionary(key, tie('value'), { maxKeys: 4 }),
    ),
  }));

  it('is read or has faults, and never throws', () => {
    fc.assert(
      fc.property(value, value, fc.constantFrom('cluster', 'project', 'x'), (payload, labels, type) => {
        const text = JSON.stringify({
          apiVersion: 'apiextensions.crossplane.io/v1beta1',
          kind: 'EnvironmentConfig',
          metadata: { name: 'x', labels: { 'eph.io/type': type, ...(labels as object) } },
          data: payload,
        });
        const parsed = parse(text, { type: 'cluster' });
        expect(parsed.ok || parsed.faults.length > 0).toBe(true);
        expect(Object.prototype).not.toHaveProperty('polluted');
      }),
      { numRuns: 2_000 },
    );
  });
});
