import { type ConfigurationLayers, noConfiguration, policySchema } from '@eph/contract';
import { describe, expect, it } from 'vitest';
import { createComponentInput, fakeProvider, parseSound } from './component-input.fake.ts';
import { computeComponents } from './components.ts';
import { checkPolicy } from './policy.ts';
import { type PolicyInput, policyFactsOf } from './policy-facts.ts';

const both = [fakeProvider('process'), fakeProvider('kubernetes')];

const read = (text: string, layers: ConfigurationLayers = noConfiguration): PolicyInput => {
  const file = parseSound(text);
  const input = createComponentInput(file, { layers }, both);
  return { file, providers: input.providers, components: computeComponents(input).merged };
};

const whole = `version: "1.0"
name: shop
providers: { primary: process, fallback: kubernetes }
environment:
  subdomain_template: "{name}.{base_domain}"
  base_domain: "\${DOMAIN:-preview.example.com}"
  ttl: 7d
  idle_timeout: 4h
  resources:
    cpu_limit: "2"
    memory_request: 128Mi
  images:
    - name: api
      repository: ghcr.io/org/api
      tag: v1
process:
  services:
    web:
      command: run
      resources: { limits: { cpu: "4" } }
kubernetes:
  manifests: [./k8s]
  images:
    - name: api
      newName: "{registry}/{project}/api"
database:
  instances:
    - name: main
      type: postgres
services:
  - name: redis
    type: internal
    image: redis:7
  - name: auth
    type: external
    endpoint: "\${AUTH:-https://auth.example.com}"
hooks:
  post_create:
    - name: warm
      command: [warm]
      timeout: 10m
    - name: other
      command: [other]
`;

const strict = {
  max_ttl: '1h',
  max_idle_timeout: '1h',
  hook_timeout: '1m',
  resources: { per_component: { cpu: '1', memory: '1Mi' } },
  replicas: 1,
  registries: ['registry.example.com'],
  providers: ['docker-compose'],
  kinds: ['Network'],
  hosts: ['*.allowed.com'],
};

const messages = (input: PolicyInput, limits: unknown = strict): readonly string[] => {
  const policy = { limits: policySchema.parse(limits), setBy: 'ephd.yaml', commit: null, placeOf: () => undefined };
  return checkPolicy([policy], policyFactsOf(input)).map(({ message }) => message.replace(/; the limit .*/s, ''));
};

const values = { name: 'shop-1', project: 'shop', registry: 'ghcr.io/org', base_domain: 'platform.example.com' };

describe('the facts of an eph.yaml', () => {
  it('are everything that a policy can limit, each with its line', () => {
    expect(messages({ ...read(whole), values })).toEqual([
      'environment.ttl is 7d (eph.yaml:7)',
      'environment.idle_timeout is 4h (eph.yaml:8)',
      'hooks.post_create.0.timeout is 10m (eph.yaml:41)',
      'web.resources.limits.cpu is 4 (eph.yaml:20)',
      'redis.resources.limits.cpu is 2 (eph.yaml:10)',
      'web.resources.requests.memory is 128Mi (eph.yaml:11)',
      'redis.resources.requests.memory is 128Mi (eph.yaml:11)',
      'environment.images.0.repository is ghcr.io/org/api (eph.yaml:14)',
      'kubernetes.images.0.newName is ghcr.io/org/shop/api (eph.yaml:25)',
      'redis.image is redis:7 (eph.yaml:33)',
      'providers.primary is process (eph.yaml:3)',
      'the kind of web is Deployment (eph.yaml:18)',
      'the kind of main is Database (eph.yaml:28)',
      'the kind of redis is Deployment (eph.yaml:31)',
      'environment.subdomain_template is shop-1.preview.example.com (eph.yaml:5)',
      'services.1.endpoint is auth.example.com (eph.yaml:36)',
    ]);
  });

  it('leave out what cannot be rendered yet', () => {
    const found = messages({ ...read(whole) });
    expect(found.filter((one) => /newName|subdomain/.test(one))).toEqual([]);
    expect(found).toHaveLength(14);
  });

  it('show no secret and no password', () => {
    const variables = {
      AUTH: { value: 'https://hunter2.internal.evil.com', secret: true },
      DOMAIN: { value: 'evil.com', secret: false },
    };
    const found = messages({ ...read(whole), values, variables }, { hosts: ['*.allowed.com'] });
    expect(found).toEqual([
      'environment.subdomain_template is shop-1.evil.com (eph.yaml:5)',
      'services.1.endpoint is a secret (eph.yaml:36)',
    ]);
    const open = read(whole.replace('https://auth.example.com', 'https://user:hunter2@evil.com'));
    expect(messages({ ...open, values }, { hosts: ['*.example.com'] })).not.toEqual([]);
    expect(messages({ ...open, values }, { hosts: ['*.example.com'] }).join(' ')).not.toContain('hunter2');
  });

  it('of a small file are few, and its section names the provider', () => {
    const small = read('version: "1.0"\nname: shop\nprocess:\n  services:\n    web: { command: run }\n');
    expect(messages(small)).toEqual(['providers.primary is process (eph.yaml:3)', 'the kind of web is Deployment (eph.yaml:5)']);
  });

  it('hold what is given to all components before these are known', () => {
    const manifests = read(
      'version: "1.0"\nname: shop\nprovider: kubernetes\nkubernetes: { manifests: [./k8s] }\nenvironment: { resources: { cpu_limit: 2 } }\n',
    );
    expect(messages(manifests)).toEqual([
      'each component.resources.limits.cpu is 2 (eph.yaml:5)',
      'providers.primary is kubernetes (eph.yaml:3)',
    ]);
  });
});

describe('the facts of merged components', () => {
  const scaled = (enabled: boolean) =>
    read(whole, {
      ...noConfiguration,
      overridesOf: (name) =>
        name === 'web'
          ? [
              {
                source: {
                  layer: 'override',
                  file: 'env.yaml',
                  commit: null,
                  place: (path) => ({ path: path.join('.'), line: path.length, column: 1 }),
                },
                values: {
                  resources: { requests: { cpu: 3 }, limits: { memory: '2Mi' } },
                  autoscaling: { enabled, minReplicas: 0, maxReplicas: 9 },
                },
              },
            ]
          : [],
    });

  it('are those of all layers, with the place of the highest', () => {
    expect(messages(scaled(true)).filter((one) => one.includes('web'))).toEqual([
      'web.autoscaling.maxReplicas is 9 (env.yaml:2)',
      'web.resources.requests.cpu is 3 (env.yaml:3)',
      'web.resources.limits.cpu is 4 (eph.yaml:20)',
      'web.resources.requests.memory is 128Mi (eph.yaml:11)',
      'web.resources.limits.memory is 2Mi (env.yaml:3)',
      'the kind of web is Deployment (eph.yaml:18)',
    ]);
  });

  it('leave out a scale that is switched off', () => {
    expect(messages(scaled(false)).join('\n')).not.toContain('autoscaling');
  });
});
