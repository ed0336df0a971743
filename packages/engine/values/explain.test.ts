import {
  type ConfigurationLayers,
  commitSha,
  configViewSchema,
  type JsonMap,
  type Layer,
  type LayerName,
  registerSecret,
} from '@eph/contract';
import { describe, expect, it } from 'vitest';
import { createComponentInput, fakeProvider, parseSound } from './component-input.fake.ts';
import type { ComponentInput } from './components.ts';
import { type ExplainedComponent, explainComponents } from './explain.ts';

const commit = commitSha('1'.repeat(40));
const configCommit = '2'.repeat(40);

const input = (text: string, changes: Partial<ComponentInput> = {}): ComponentInput =>
  createComponentInput(parseSound(text), changes);

const layer = (name: LayerName, file: string, root: string, values: JsonMap): Layer => ({
  source: {
    layer: name,
    file,
    commit: configCommit,
    place: (path) => ({ path: [root, ...path].join('.'), line: 10 + path.length, column: 1 + 2 * path.length }),
  },
  values,
});

const configured = (defaults: JsonMap, web: JsonMap = {}): ConfigurationLayers => ({
  defaultsOf: () => [layer('cluster', 'dev/env.yaml', 'data.defaults.Deployment', defaults)],
  overridesOf: (name) => (name === 'web' ? [layer('override', 'dev/apps/shop/shop/env.yaml', 'data.overrides.web', web)] : []),
  overridden: ['web'],
  platform: { outputs: {} },
});

const file = `version: "1.0"
name: shop
environment:
  env: { STAGE: environment }
  resources: { cpu_limit: "2" }
process:
  services:
    web:
      command: [node, server.js]
      env:
        LEVEL: developer
        API: outputs/api/url
      ready: { http: /healthz, timeout: 90s }
    api:
      command: run api
`;

const withEnv = (env: string): string => file.replace('LEVEL: developer', () => env);

const valueAt = (components: readonly ExplainedComponent[], path: string) =>
  components
    .find((one) => path.startsWith(`${one.name}.`))
    ?.values.find((one) => one.path.join('.') === path.slice(path.indexOf('.') + 1));

const explain = (text: string, path: string, changes: Partial<ComponentInput> = {}) =>
  valueAt(explainComponents(input(text, changes)), path);

const origins = {
  builtIn: (path: string) => ({ layer: 'default', file: null, line: null, column: null, commit: null, path }),
  cluster: (path: string, line: number, column: number) => ({
    layer: 'cluster',
    file: 'dev/env.yaml',
    line,
    column,
    commit: configCommit,
    path: `data.defaults.Deployment.${path}`,
  }),
  developer: (path: string, line: number, column: number) => ({
    layer: 'developer',
    file: 'eph.yaml',
    line,
    column,
    commit,
    path,
  }),
  override: (path: string, line: number, column: number) => ({
    layer: 'override',
    file: 'dev/apps/shop/shop/env.yaml',
    line,
    column,
    commit: configCommit,
    path: `data.overrides.web.${path}`,
  }),
};

describe('every value', () => {
  const layers = configured(
    {
      replicas: 3,
      env: { LEVEL: 'cluster', STAGE: 'cluster' },
      ready: { http: '/cluster' },
      resources: { limits: { cpu: '1' } },
    },
    { replicas: 10, env: { LEVEL: 'override' } },
  );
  const components = explainComponents(input(file, { layers }));

  it('of every component is there once, with its kind and provider', () => {
    expect(components.map(({ name, kind, provider }) => ({ name, kind, provider }))).toEqual([
      { name: 'web', kind: 'Deployment', provider: 'process' },
      { name: 'api', kind: 'Deployment', provider: 'process' },
    ]);
    expect(components[0]?.values.map(({ path }) => path.join('.')).toSorted()).toEqual([
      'command',
      'env.API',
      'env.EPH_COMMIT',
      'env.EPH_ENVIRONMENT',
      'env.EPH_PROJECT',
      'env.EPH_REF',
      'env.EPH_URL',
      'env.LEVEL',
      'env.STAGE',
      'ready.http',
      'ready.timeout',
      'replicas',
      'resources.limits.cpu',
    ]);
  });

  it('is as the API says it', () => {
    expect(() => configViewSchema.shape.components.parse(components)).not.toThrow();
  });

  it('tells its layer, file, line and commit, and what the layers below say', () => {
    expect(valueAt(components, 'web.env.LEVEL')).toEqual({
      path: ['env', 'LEVEL'],
      value: 'override',
      secret: false,
      used: true,
      reference: null,
      origin: origins.override('env.LEVEL', 12, 5),
      below: [
        { value: 'developer', origin: origins.developer('process.services.web.env.LEVEL', 11, 9) },
        { value: 'cluster', origin: origins.cluster('env.LEVEL', 12, 5) },
      ],
    });
    expect(valueAt(components, 'web.replicas')).toMatchObject({
      value: 10,
      used: false,
      below: [
        { value: 3, origin: origins.cluster('replicas', 11, 3) },
        { value: 1, origin: origins.builtIn('replicas') },
      ],
    });
    expect(valueAt(components, 'web.command')).toMatchObject({
      value: ['node', 'server.js'],
      origin: origins.developer('process.services.web.command', 9, 7),
      below: [],
    });
  });

  it('of the whole environment stands where the environment says it', () => {
    expect(valueAt(components, 'api.env.STAGE')?.origin).toEqual(origins.developer('environment.env.STAGE', 4, 10));
    expect(valueAt(components, 'api.resources.limits.cpu')).toMatchObject({
      value: '2',
      used: true,
      origin: origins.developer('environment.resources.cpu_limit', 5, 16),
      below: [{ value: '1', origin: origins.cluster('resources.limits.cpu', 13, 7) }],
    });
  });

  it('that is built in has no file', () => {
    expect(valueAt(components, 'web.env.EPH_URL')).toEqual({
      path: ['env', 'EPH_URL'],
      value: 'http://shop-calm-bay-1234.localhost',
      secret: false,
      used: true,
      reference: null,
      origin: origins.builtIn('env.EPH_URL'),
      below: [],
    });
    expect(explain(withEnv('EPH_URL: http://mine'), 'web.env.EPH_URL')).toMatchObject({
      value: 'http://mine',
      below: [{ value: 'http://shop-calm-bay-1234.localhost', origin: { layer: 'default', file: null } }],
    });
  });

  it('of readiness is the way that holds, over the ways that do not', () => {
    expect(valueAt(components, 'web.ready.http')).toMatchObject({
      value: '/healthz',
      below: [
        { value: '/cluster', origin: origins.cluster('ready.http', 12, 5) },
        { value: true, origin: origins.builtIn('ready.tcp') },
      ],
    });
    expect(valueAt(components, 'api.ready.http')).toMatchObject({ value: '/cluster' });
    expect(valueAt(components, 'web.ready.tcp')).toBeUndefined();
  });

  it('is told also where values are not sound', () => {
    const faulty = configured({ replicas: 'many', nonsense: { a: [1] } }, { env: { LEVEL: 'outputs/api' } });
    const told = explainComponents(input(file, { layers: faulty }));
    expect(valueAt(told, 'web.replicas')).toMatchObject({ value: 'many', origin: { layer: 'cluster' } });
    expect(valueAt(told, 'web.nonsense.a')).toMatchObject({ value: [1], used: false });
    expect(valueAt(told, 'web.env.LEVEL')).toMatchObject({ value: 'outputs/api', reference: null });
  });

  it('that was removed is not there, and a removal further down is told', () => {
    const removed = configured({ env: { STAGE: null, LEVEL: 'cluster' } }, { env: { LEVEL: null } });
    const told = explainComponents(input(file, { layers: removed }));
    expect(valueAt(told, 'web.env.LEVEL')).toBeUndefined();
    expect(valueAt(told, 'web.env.STAGE')?.below).toEqual([{ value: null, origin: origins.cluster('env.STAGE', 12, 5) }]);
  });
});

describe('a reference', () => {
  const seen = {
    name: 'api',
    outputs: { url: 'http://127.0.0.1:1' },
  } as unknown as ComponentInput['observed'][number];

  it('is shown with what it stands for', () => {
    expect(explain(file, 'web.env.API', { observed: [seen] })).toMatchObject({
      value: 'http://127.0.0.1:1',
      reference: 'outputs/api/url',
      secret: false,
      used: true,
    });
  });

  it('has no value while it waits', () => {
    expect(explain(file, 'web.env.API')).toMatchObject({ value: null, reference: 'outputs/api/url' });
  });

  it('that is left out is not used', () => {
    const text = file.replace('STAGE: environment', 'API: outputs/api/url');
    expect(explain(text, 'api.env.API')).toMatchObject({ value: null, reference: 'outputs/api/url', used: false });
  });

  it.each([
    ['connections/api/password', true],
    ['secrets/api/login/password', true],
    ['configs/api/settings/host', false],
  ])('to a private value is all that is shown of it: %s', (text, secret) => {
    for (const holdsSecrets of [true, false])
      expect(
        valueAt(
          explainComponents(
            createComponentInput(parseSound(withEnv(`PASSWORD: ${text}`)), {}, [
              fakeProvider('process', 'process', holdsSecrets),
            ]),
          ),
          'web.env.PASSWORD',
        ),
      ).toMatchObject({ value: text, reference: text, secret });
  });
});

describe('a secret', () => {
  const variables = {
    DSN: { value: 'correct horse battery staple', secret: true },
    REGION: { value: 'eu-west-1', secret: false },
  };

  it.each(['DSN: ${DSN}', 'MIXED: a ${DSN} b', 'DSN: "${DSN}"'])('of the server is masked: %s', (env) => {
    const name = env.split(':')[0] ?? '';
    const told = explainComponents(input(withEnv(env), { variables }));
    expect(valueAt(told, `web.env.${name}`)).toMatchObject({ value: '••••••', secret: true, reference: null });
    expect(JSON.stringify(told)).not.toContain('correct horse');
  });

  it('of the server is masked also where an upper layer hides it', () => {
    const layers = configured({}, { env: { DSN: 'plain' } });
    const told = explainComponents(input(withEnv('DSN: ${DSN}'), { variables, layers }));
    expect(valueAt(told, 'web.env.DSN')).toMatchObject({ value: 'plain', below: [{ value: '${DSN}' }] });
    expect(JSON.stringify(told)).not.toContain('correct horse');
  });

  it.each([
    'DB_PASSWORD',
    'PGPASS_TOKEN',
    'DB_PASS',
    'API_KEY',
    'apiKey',
    'STRIPE_KEY',
    'SECRET_KEY_BASE',
    'GITHUB_TOKEN',
    'private_key',
    'AWS_CREDENTIALS',
    'PASSPHRASE',
  ])('is known by the name %s, in every layer', (name) => {
    const layers = configured({ env: { [name]: 'cluster-hunter2' } }, { env: { [name]: 'override-hunter2' } });
    const told = explainComponents(input(withEnv(`${name}: developer-hunter2`), { layers }));
    expect(valueAt(told, `web.env.${name}`)).toMatchObject({
      value: '••••••',
      secret: true,
      below: [{ value: '••••••' }, { value: '••••••' }],
    });
    expect(JSON.stringify(told)).not.toContain('hunter2');
  });

  it.each(['COMPASS', 'KEYBOARD', 'MONKEY', 'LEVEL', 'REGION'])('is not suspected behind the name %s', (name) => {
    expect(explain(withEnv(`${name}: plain`), `web.env.${name}`)).toMatchObject({ value: 'plain', secret: false });
  });

  it('in an address, or one that somebody registered, is stripped from whatever holds it', () => {
    registerSecret('registered-secret-value');
    const told = explainComponents(
      input(
        withEnv('DATABASE: postgres://ann:s3cret@db/x\n        NOTE: see registered-secret-value').replace(
          'run api',
          'run --url=https://u:s3cret@x',
        ),
      ),
    );
    expect(valueAt(told, 'web.env.DATABASE')?.value).toBe('postgres://***@db/x');
    expect(valueAt(told, 'web.env.NOTE')?.value).toBe('see ***');
    expect(JSON.stringify(told)).not.toMatch(/s3cret|registered-secret/);
  });

  it('is masked inside of what was replaced whole', () => {
    const layers = configured({ nonsense: { password: 'hunter2', list: ['https://u:hunter2@x'] } }, { nonsense: 1 });
    const told = explainComponents(input(file, { layers }));
    expect(valueAt(told, 'web.nonsense')).toMatchObject({
      value: 1,
      below: [{ value: { password: '••••••', list: ['https://***@x'] } }],
    });
  });
});
