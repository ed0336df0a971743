import {
  type ConfigurationLayers,
  commitSha,
  type Failure,
  type JsonMap,
  type Layer,
  type LayerName,
  type ObservedComponent,
  type ResolvedComponent,
} from '@eph/contract';
import { describe, expect, it } from 'vitest';
import { createComponentInput, createLargeFile, fakeProvider, parseSound } from './component-input.fake.ts';
import { type ComponentInput, type ComputedComponents, computeComponents } from './components.ts';
import { whereIs } from './merged-component.ts';
import { SharedValues } from './shared-values.ts';

const commit = commitSha('1'.repeat(40));

const file = `version: "1.0"
name: shop
environment:
  env:
    STAGE: environment
  resources:
    cpu_limit: "2"
process:
  services:
    web:
      command: run web
      entry: true
      env:
        LEVEL: developer
    api:
      command: run api
`;

const input = (text: string, changes: Partial<ComponentInput> = {}): ComponentInput =>
  createComponentInput(parseSound(text), changes);

const layer = (name: LayerName, document: string, root: string, values: JsonMap): Layer => ({
  source: {
    layer: name,
    file: document,
    commit: '2'.repeat(40),
    place: (path) => ({ path: [root, ...path].join('.'), line: 10 + path.length, column: 1 + 2 * path.length }),
  },
  values,
});

const configured = (
  defaults: JsonMap,
  overrides: { readonly [component: string]: JsonMap } = {},
  outputs: ConfigurationLayers['platform']['outputs'] = {},
): ConfigurationLayers => {
  const cluster = [layer('cluster', 'dev/env.yaml', 'data.defaults.Deployment', defaults)];
  const own = new Map(
    Object.entries(overrides).map(([name, values]) => [
      name,
      [layer('override', 'dev/apps/shop/shop/env.yaml', `data.overrides.${name}`, values)],
    ]),
  );
  return {
    defaultsOf: (kind) => (kind === 'Deployment' ? cluster : []),
    overridesOf: (component) => own.get(component) ?? [],
    overridden: [...own.keys()],
    platform: { outputs },
  };
};

const componentOf = ({ components, faults }: ComputedComponents, name: string): ResolvedComponent => {
  expect(faults).toEqual([]);
  const found = components.find((one) => one.state === 'resolved' && one.component.name === name);
  if (found?.state !== 'resolved') throw new Error(`${name} is not resolved: ${JSON.stringify(components)}`);
  return found.component;
};

const reasonOf = ({ components, faults }: ComputedComponents, name: string): string => {
  expect(faults).toEqual([]);
  const found = components.find((one) => one.state === 'waiting' && one.name === name);
  if (found?.state !== 'waiting') throw new Error(`${name} does not wait: ${JSON.stringify(components)}`);
  return found.reason;
};

const running = (component: ResolvedComponent): ObservedComponent => ({
  name: component.name,
  provider: component.provider,
  entry: component.entry,
  dependsOn: component.dependsOn,
  current: { revision: component.revision, commit, health: 'ready', message: '', since: '' },
  next: null,
  retiring: false,
  upstream: null,
  outputs: { url: `http://127.0.0.1/${component.name}` },
});

const faultsOf = (of: ComponentInput): readonly Failure[] => {
  const { components, faults } = computeComponents(of);
  expect(components).toEqual([]);
  return faults;
};

describe('the values of a component', () => {
  const layers = configured(
    {
      env: { STAGE: 'cluster', LEVEL: 'cluster', REGION: 'cluster' },
      ready: { timeout: '5s' },
      directory: 'src',
      autoscaling: { maxReplicas: 3 },
    },
    { web: { env: { LEVEL: 'override', EPH_COMMIT: null, STAGE: null }, directory: null } },
  );

  it('come from all layers, each over the ones below', () => {
    const computed = computeComponents(input(file, { layers }));
    expect(componentOf(computed, 'web').values).toEqual({
      command: 'run web',
      cpu: 2,
      env: {
        EPH_PROJECT: 'shop',
        EPH_ENVIRONMENT: 'shop-calm-bay-1234',
        EPH_REF: 'preview/a',
        LEVEL: 'override',
        REGION: 'cluster',
      },
      secretEnv: { EPH_URL: [{ url: true }] },
      ready: { kind: 'tcp' },
      readyTimeoutSeconds: 5,
    });
    expect(componentOf(computed, 'api').values).toMatchObject({
      command: 'run api',
      directory: 'src',
      env: { STAGE: 'environment', LEVEL: 'cluster', REGION: 'cluster', EPH_COMMIT: commit },
    });
  });

  it('that the provider does not use are merged, and move no revision', () => {
    const unused = { resources: { requests: { memory: '1Gi' } }, autoscaling: { enabled: true } };
    const plain = computeComponents(input(file));
    const more = computeComponents(input(file, { layers: configured({}, { web: unused }) }));
    expect(componentOf(more, 'web').revision).toBe(componentOf(plain, 'web').revision);
    expect(more.merged.find(({ declared }) => declared.name === 'web')).toMatchObject({
      declared: { kind: { name: 'Deployment' } },
      values: { replicas: 1, resources: { limits: { cpu: '2' }, requests: { memory: '1Gi' } }, autoscaling: { enabled: true } },
    });
  });

  it('change only for the component that is overridden', () => {
    const plain = computeComponents(input(file));
    const more = computeComponents(input(file, { layers: configured({}, { web: { env: { LEVEL: 'override' } } }) }));
    expect(componentOf(more, 'web').revision).not.toBe(componentOf(plain, 'web').revision);
    expect(componentOf(more, 'api').revision).toBe(componentOf(plain, 'api').revision);
  });

  it.each<readonly [string, JsonMap, JsonMap, object]>([
    ['the operator wins', { http: '/health' }, { tcp: true }, { kind: 'tcp' }],
    ['the developer wins over defaults', { none: true }, {}, { kind: 'none' }],
    ['the last one that says so', { tcp: true, timeout: '7s' }, { http: '/x' }, { kind: 'http', path: '/x' }],
  ])('tell readiness in one way: %s', (_, developer, override, ready) => {
    const text = `${file}      ready: ${JSON.stringify(developer)}\n`;
    const layers = configured({ ready: { http: '/cluster', timeout: '9s' } }, { api: { ready: override } });
    expect(componentOf(computeComponents(input(text, { layers })), 'api').values).toMatchObject({ ready });
  });

  it('know where they stand', () => {
    const { merged } = computeComponents(input(file, { layers }));
    const where = (path: readonly string[]) =>
      merged.flatMap((one) => (one.declared.name === 'web' ? [whereIs(one, path)] : []))[0];
    expect(where(['autoscaling', 'maxReplicas'])).toBe('dev/env.yaml:12');
    expect(where(['resources', 'limits', 'cpu'])).toBe('eph.yaml:7');
    expect(where(['env', 'LEVEL'])).toBe('dev/apps/shop/shop/env.yaml:12');
    expect(where(['command'])).toBe('eph.yaml:11');
    expect(where(['ready', 'tcp'])).toBeUndefined();
    expect(where(['nothing', 'there'])).toBeUndefined();
  });
});

describe('values that cannot be', () => {
  it.each<readonly [string, JsonMap, string, string]>([
    [
      'more copies than its provider runs',
      { replicas: 3 },
      'config.invalid',
      'dev/apps/shop/shop/env.yaml:11:3: data.overrides.web.replicas: must be 1, because `process` runs one copy of each service',
    ],
    ['a type', { replicas: 'many' }, 'config.invalid', 'dev/apps/shop/shop/env.yaml:11:3: data.overrides.web.replicas: must be'],
    [
      'a misspelt key',
      { replica: 2 },
      'config.invalid',
      'dev/apps/shop/shop/env.yaml:11:3: data.overrides.web.replica: unknown key; did you mean "replicas"?',
    ],
    [
      'a misspelt key inside',
      { resources: { limits: { cpus: '1' } } },
      'config.invalid',
      'dev/apps/shop/shop/env.yaml:13:7: data.overrides.web.resources.limits.cpus: unknown key; did you mean "cpu"?',
    ],
    [
      'two ways to be ready',
      { ready: { http: '/', none: true } },
      'config.invalid',
      'dev/apps/shop/shop/env.yaml:11:3: data.overrides.web.ready: choose one of http, tcp and none',
    ],
    [
      'a command that is taken away',
      { command: null },
      'config.invalid',
      'dev/apps/shop/shop/env.yaml:11:3: data.overrides.web.command: is required',
    ],
    [
      'a limit of the developer under a request of the operator',
      { resources: { requests: { cpu: '3' } } },
      'config.invalid',
      'data.overrides.web.resources.requests.cpu: must not be more than limits.cpu',
    ],
    [
      'a slip in a reference',
      { env: { API: 'outputs/api' } },
      'config.invalid',
      'dev/apps/shop/shop/env.yaml:12:5: data.overrides.web.env.API: outputs/api is no reference: it has no key',
    ],
    ['a map for a variable', { env: { API: { a: 1 } } }, 'config.invalid', 'data.overrides.web.env.API: must be text'],
    ['a scalar for the variables', { env: 7 }, 'config.invalid', 'data.overrides.web.env: must be a map'],
  ])('are a fault of whoever said it, with the place: %s', (_, override, code, message) => {
    const [fault, ...others] = faultsOf(input(file, { layers: configured({}, { web: override }) }));
    expect(fault).toMatchObject({ code, disposition: 'stall', message: expect.stringContaining(message) });
    expect(others).toEqual([]);
  });

  it('are one fault where they are said for all components', () => {
    const faults = faultsOf(input(file, { layers: configured({ env: { 'not a name': 'x' } }) }));
    expect(faults.map((fault) => fault.message)).toEqual([
      expect.stringContaining('dev/env.yaml:12:5: data.defaults.Deployment.env.not a name: is not a variable name'),
    ]);
  });

  it('are a fault of the developer where eph.yaml says it', () => {
    const text = file.replace('LEVEL: developer', 'LEVEL: outputs/api/url/more');
    expect(faultsOf(input(text))).toMatchObject([
      {
        code: 'spec.invalid',
        message: expect.stringContaining('eph.yaml:14:9: process.services.web.env.LEVEL: outputs/api/url/'),
      },
    ]);
  });

  it('are all told at once', () => {
    const layers = configured({}, { web: { replicas: -1, directory: 1 }, api: { nothing: true } });
    expect(faultsOf(input(file, { layers }))).toHaveLength(3);
  });

  it('are nothing at all: a file whose components nobody makes removes nothing', () => {
    const text = 'version: "1.0"\nname: shop\nkubernetes:\n  manifests: [./k8s]\n';
    expect(faultsOf(input(text))).toMatchObject([{ code: 'feature.unavailable', disposition: 'stall' }]);
  });
});

describe('references', () => {
  const withEnv = (env: { readonly [name: string]: string }): string =>
    file.replace(
      'LEVEL: developer',
      Object.entries(env)
        .map(([name, value]) => `${name}: ${JSON.stringify(value)}`)
        .join('\n        '),
    );

  it('are looked for after the layers are merged', () => {
    const text = withEnv({ API: 'outputs/api/url' });
    const hidden = computeComponents(input(text, { layers: configured({}, { web: { env: { API: 'http://fixed' } } }) }));
    expect(componentOf(hidden, 'web')).toMatchObject({ dependsOn: [], values: { env: { API: 'http://fixed' } } });
    const added = configured({}, { web: { env: { API: 'outputs/api/url' } } });
    expect(reasonOf(computeComponents(input(file, { layers: added })), 'web')).toBe('outputs/api/url: api is not ready yet');
    const api = componentOf(computeComponents(input(file)), 'api');
    const observed = [running(api)];
    const resolved = computeComponents(input(file, { layers: added, observed }));
    expect(componentOf(resolved, 'web')).toMatchObject({ dependsOn: ['api'], values: { env: { API: 'http://127.0.0.1/api' } } });
  });

  it('to all components are left out where they point at the component itself', () => {
    const text = file.replace('STAGE: environment', 'API: outputs/api/url');
    const api = componentOf(computeComponents(input(text)), 'api');
    expect(api.values['env']).not.toHaveProperty('API');
    expect(api.dependsOn).toEqual([]);
    const cluster = configured({ env: { API: 'outputs/api/url' } });
    expect(componentOf(computeComponents(input(file, { layers: cluster })), 'api').dependsOn).toEqual([]);
    const own = configured({}, { api: { env: { API: 'outputs/api/url' } } });
    expect(faultsOf(input(file, { layers: own }))).toMatchObject([
      { code: 'reference.cycle', message: 'components need each other in a circle: api → api' },
    ]);
  });

  it('find the platform where the environment has no such component', () => {
    const text = withEnv({ ISSUER: 'outputs/keycloak/issuer', AGAIN: 'platform::outputs/keycloak/issuer' });
    const layers = configured({}, {}, { keycloak: { issuer: 'https://login' } });
    expect(componentOf(computeComponents(input(text, { layers })), 'web')).toMatchObject({
      dependsOn: [],
      values: { env: { ISSUER: 'https://login', AGAIN: 'https://login' } },
    });
    expect(reasonOf(computeComponents(input(text)), 'web')).toBe(
      'outputs/keycloak/issuer: neither this environment nor the platform has a component keycloak; there is: web, api',
    );
  });

  it('reach other environments, which are named', () => {
    const text = withEnv({ OTHER: 'acme-web::outputs/api/url', SAME: 'acme-web::outputs/api/url', P: 'platform::outputs/x/y' });
    const outputsOf = (namespace: string) =>
      namespace === 'acme-web' ? { outputs: { api: { url: 'http://other' } } } : undefined;
    const layers = configured({}, {}, { x: { y: 'z' } });
    const computed = computeComponents(input(text, { outputsOf, layers }));
    expect(componentOf(computed, 'web').values['env']).toMatchObject({ OTHER: 'http://other', SAME: 'http://other', P: 'z' });
    expect(computed.namespaces).toEqual(['acme-web']);
    expect(reasonOf(computeComponents(input(text, { layers })), 'web')).toContain('there is no environment');
  });

  it('to private values wait for a provider that holds some', () => {
    const text = withEnv({ PASSWORD: 'connections/api/password' });
    expect(reasonOf(computeComponents(input(text)), 'web')).toBe('connections/api/password: api is not ready yet');
    const observed = [running(componentOf(computeComponents(input(text)), 'api'))];
    expect(reasonOf(computeComponents(input(text, { observed })), 'web')).toBe(
      'connections/api/password: provider process holds no secrets yet',
    );
  });

  it('to private values are handed on as they are where the provider holds some', () => {
    const text = withEnv({ PASSWORD: 'secrets/api/login/password' });
    const holder = [fakeProvider('process', 'process', true)];
    const compute = (observed: readonly ObservedComponent[]) =>
      computeComponents(createComponentInput(parseSound(text), { observed }, holder));
    const observed = [running(componentOf(compute([]), 'api'))];
    expect(componentOf(compute(observed), 'web').values['env']).toMatchObject({
      PASSWORD: { secretKeyRef: { component: 'api', name: 'api-login', key: 'password' } },
    });
  });

  it.each([
    ['acme-web::secrets/api/key', 'reference.refused', 'only outputs do'],
    ['shop-calm-bay-1234::outputs/api/url', 'reference.refused', 'write outputs/api/url'],
    ['shop-pr-7::outputs/api/url', 'reference.refused', 'write outputs/api/url'],
    ['mirror::outputs/api/url', 'reference.cycle', 'refers back'],
  ])('such as %s are a fault with its place', (text, code, message) => {
    const outputsOf = () => ({ outputs: {}, refersBack: true });
    const [fault] = faultsOf(input(withEnv({ OTHER: text }), { outputsOf, aliases: ['shop-pr-7'] }));
    expect(fault).toMatchObject({ code, disposition: 'stall', message: expect.stringContaining(message) });
    expect(fault?.message).toContain('eph.yaml:14:9: process.services.web.env.OTHER: ');
  });
});

describe('variables', () => {
  const variables = {
    REGION: { value: 'eu-west-1', secret: false },
    DB_PASSWORD: { value: 'hunter2hunter2', secret: true },
    TRICK: { value: 'outputs/api/url ${DB_PASSWORD}', secret: false },
  };
  const valueOf = (text: string, changes: Partial<ComponentInput> = {}): unknown => {
    const yaml = file.replace('LEVEL: developer', () => `X: ${JSON.stringify(text)}`);
    const { env } = componentOf(computeComponents(input(yaml, { variables, ...changes })), 'web').values;
    return (env as JsonMap)['X'];
  };

  it.each([
    ['of the server', '${REGION}', 'eu-west-1'],
    ['with a default', '${NONE:-fallback}', 'fallback'],
    ['of the environment', '${environment_name}/x', 'shop-calm-bay-1234/x'],
    ['that are text', '$${REGION}', '${REGION}'],
    ['whose value looks like more', '${TRICK}', 'outputs/api/url ${DB_PASSWORD}'],
    ['behind a backslash', '\\outputs/api/url', 'outputs/api/url'],
  ])('%s are put in', (_, text, value) => {
    expect(valueOf(text)).toBe(value);
  });

  it('that are secret are handed on by name, since providers write down what they are given', () => {
    const yaml = file.replace('LEVEL: developer', 'X: postgres://u:${DB_PASSWORD}@${REGION}.db');
    const component = componentOf(computeComponents(input(yaml, { variables })), 'web');
    expect(component.values).toMatchObject({
      secretEnv: { X: ['postgres://u:', { secret: 'DB_PASSWORD' }, '@', 'eu-west-1', '.db'] },
    });
    expect(component.values['env']).not.toHaveProperty('X');
    expect(JSON.stringify(component)).not.toContain('hunter2');
  });

  it('that name the URL are handed on without it, since it may change while the component stays', () => {
    const yaml = file.replace('LEVEL: developer', 'X: ${environment_url:0:4}+${environment_url}/${REGION}');
    const component = componentOf(computeComponents(input(yaml, { variables })), 'web');
    expect(component.values).toMatchObject({
      secretEnv: { X: [{ url: true, slice: { start: 0, length: 4 } }, '+', { url: true }, '/', 'eu-west-1'] },
    });
    expect(JSON.stringify(component)).not.toContain('localhost');
  });

  it('that nobody set are a fault of whoever wrote them', () => {
    const yaml = file.replace('LEVEL: developer', 'X: ${NONE}');
    expect(faultsOf(input(yaml, { variables }))).toMatchObject([
      { code: 'spec.invalid', message: expect.stringContaining('eph.yaml:14:9: process.services.web.env.X: ${NONE} is not') },
    ]);
    const layers = configured({ env: { X: '${NONE}' } });
    expect(faultsOf(input(file, { variables, layers }))).toMatchObject([
      {
        code: 'config.invalid',
        message: expect.stringContaining('dev/env.yaml:12:5: data.defaults.Deployment.env.X: ${NONE} is not'),
      },
    ]);
  });

  it.each(['preview/${DB_PASSWORD}', 'outputs/api/url', '\\outputs/api/url', '$${REGION}'])(
    'a branch called %s is what EPH_REF says, and nothing else',
    (name) => {
      const { source } = input(file);
      const of = input(file, { variables, source: { ...source, ref: { kind: 'branch', name } } });
      expect(componentOf(computeComponents(of), 'web').values['env']).toMatchObject({ EPH_REF: name });
    },
  );
});

describe('what environments share', () => {
  const parsed = parseSound(file);
  const at = (configuration: ConfigurationLayers) => ({ commit, configuration, choice: 'process' });

  it('serves all environments of the file, while the configuration stays', () => {
    const shared = new SharedValues();
    const configuration = configured({ directory: 'c' });
    const first = shared.resolve(parsed, at(configuration));
    expect(shared.resolve(parsed, { ...at(configuration), commit: '3'.repeat(40) })).toBe(first);
  });

  it('is kept for components that a change does not concern', () => {
    const shared = new SharedValues();
    const before = configured({ directory: 'c' }, { web: { directory: 'd' }, api: { directory: 'e' } });
    const [webBefore, apiBefore] = shared.resolve(parsed, at(before)).components;
    const changed = [layer('override', 'dev/apps/shop/shop/env.yaml', 'data.overrides.web', { directory: 'f' })];
    const after = { ...before, overridesOf: (name: string) => (name === 'web' ? changed : before.overridesOf(name)) };
    const [webAfter, apiAfter] = shared.resolve(parsed, at(after)).components;
    expect(apiAfter).toBe(apiBefore);
    expect(webAfter).not.toBe(webBefore);
    expect(webAfter?.values['directory']).toBe('f');
  });

  it('is not kept with its faults, which may move to another line', () => {
    const shared = new SharedValues();
    const faulty = configured({ directory: 9 });
    expect(shared.resolve(parsed, at(faulty)).faults).toHaveLength(1);
    expect(shared.resolve(parsed, at(configured({ directory: 'c' }))).faults).toEqual([]);
    expect(shared.resolve(parsed, at(faulty)).faults).toHaveLength(1);
  });
});

describe('very many components', () => {
  const needing = (count: number, needOf: (index: number) => string | undefined): ComponentInput =>
    createComponentInput(
      createLargeFile(count, (index) => {
        const reference = needOf(index);
        return { values: { command: 'run', env: reference === undefined ? {} : { A: reference } } };
      }),
    );

  it('in a chain of ten thousand references are put in order, also from its far end', { timeout: 120_000 }, () => {
    const { components, faults } = computeComponents(
      needing(10_000, (index) => (index === 9_999 ? undefined : `outputs/c${index + 1}/url`)),
    );
    expect(faults).toEqual([]);
    expect(components[0]).toMatchObject({ state: 'resolved', component: { name: 'c9999' } });
    expect(components.at(-1)).toMatchObject({ state: 'waiting', name: 'c0', reason: 'outputs/c1/url: c1 waits itself' });
  });

  it('that need each other in a circle are one fault', { timeout: 60_000 }, () => {
    const circle = needing(1_000, (index) => `outputs/c${(index + 1) % 1_000}/url`);
    expect(faultsOf(circle)).toMatchObject([{ code: 'reference.cycle', message: expect.stringContaining('c0 → c1 → c2 →') }]);
  });
});
