import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { printFault } from './document.ts';
import { type ParsedSpec, parseSpec } from './parse.ts';
import type { Spec } from './schema.ts';

const read = (name: string): string => readFileSync(join(import.meta.dirname, 'fixtures', `${name}.yaml`), 'utf8');

const parse = (text: string): ParsedSpec => parseSpec(new TextEncoder().encode(text));

const specOf = (text: string): Spec => {
  const parsed = parse(text);
  if (!parsed.ok) throw new Error(parsed.faults.map(printFault).join('\n'));
  return parsed.spec;
};

const faultsOf = (text: string): readonly string[] => {
  const parsed = parse(text);
  return parsed.ok ? [] : parsed.faults.map(printFault);
};

/** Completes a fragment to a file. */
const around = (fragment: string): string =>
  `version: "1.0"\nname: shop\nprocess: { services: { web: { command: run } } }\n${fragment}`;

const indent = (text: string): string => text.replaceAll(/^(?=.)/gm, '  ');

describe('the complete file', () => {
  const complete = read('complete');

  it('is sound as it stands', () => {
    const spec = specOf(complete);
    expect(spec.providers).toEqual({ primary: 'kubernetes', fallback: 'docker-compose' });
    expect(spec.triggers.map((trigger) => trigger.type)).toEqual(['pr_label', 'pr_comment', 'auto']);
    expect(spec.environment).toMatchObject({
      ttl: 259_200,
      idle_timeout: 14_400,
      resources: { cpu_limit: '2', memory_limit: '4Gi' },
    });
    expect(spec.environment.images?.map((image) => image.name)).toEqual(['api', 'frontend', 'database-migrator']);
    expect(spec.kubernetes?.manifests).toMatchObject([{ path: './k8s/base' }, { kustomization: './k8s/overlays/preview' }]);
    expect(spec.hooks?.post_create?.[1]).toMatchObject({ name: 'run-smoke-tests', timeout: 600, continueOnError: true });
    expect(spec.advanced).toEqual({});
  });

  it('names everything in it that is not available yet, each with its place', () => {
    const parsed = parse(complete);
    expect(parsed.ok && parsed.guards).toEqual([]);
    expect(parsed.ok && parsed.notices.map(({ path, line }) => `${line} ${path}`)).toEqual([
      '30 environment.subdomain_template',
      '31 environment.base_domain',
      '34 environment.alias_template',
      '38 environment.idle_timeout',
      '39 environment.wake_on_access',
      '43 environment.resources.cpu_request',
      '45 environment.resources.memory_request',
      '133 kubernetes.ingress',
      '139 docker-compose',
      '159 database.enabled',
      '193 services',
      '267 networking.tls.enabled',
      '271 hooks',
      '307 observability.tracing.enabled',
      '312 observability.logs',
    ]);
  });
});

describe('what the complete file offers as comments', () => {
  it.each<readonly [string, string, object]>([
    [
      'a snapshot for a database',
      `database:
  instances:
    - name: main
      type: postgres
      template:
        snapshot:
          source: "\${DB_SNAPSHOT_ID}"
          max_age: 7d
`,
      { database: { instances: [{ template: { strategy: 'snapshot', snapshot: { max_age: 604_800 } } }] } },
    ],
    [
      'secrets from Vault',
      `secrets:
  provider: vault
  vault:
    path: "secret/data/preview/{environment_name}"
    role: "preview-environments"
`,
      { secrets: { provider: 'vault', vault: { role: 'preview-environments' } } },
    ],
    ['secrets from AWS', 'secrets: { provider: aws-secrets-manager }\n', { secrets: { provider: 'aws-secrets-manager' } }],
    [
      'a password',
      `security:
  environment_access:
    protection:
      type: basic
      basic_auth:
        username: preview
        password: "\${PREVIEW_PASSWORD}"
`,
      { security: { environment_access: { protection: { type: 'basic', basic_auth: { username: 'preview' } } } } },
    ],
    [
      'a login',
      `security:
  environment_access:
    protection:
      type: oauth
      oauth:
        provider: github
        allowed_orgs: ["mycompany"]
        allowed_teams: ["developers"]
`,
      { security: { environment_access: { protection: { oauth: { provider: 'github', allowed_orgs: ['mycompany'] } } } } },
    ],
    [
      'ranges of addresses',
      'security: { environment_access: { allowed_ips: [192.0.2.0/24, "2001:db8::/32"] } }\n',
      { security: { environment_access: { allowed_ips: ['192.0.2.0/24', '2001:db8::/32'] } } },
    ],
    [
      'paths',
      'networking: { routing: { strategy: path, path_prefix: "/preview/{name}" } }\n',
      { networking: { routing: { strategy: 'path', path_prefix: '/preview/{name}' } } },
    ],
    [
      'a header',
      'networking: { routing: { strategy: header, header: "X-Eph-Environment" } }\n',
      { networking: { routing: { strategy: 'header', header: 'X-Eph-Environment' } } },
    ],
    [
      'regions and careful updates',
      `advanced:
  regions:
    - us-west-2
    - eu-west-1
  canary:
    enabled: true
    analysis:
      metrics:
        - name: error-rate
          threshold: 5
`,
      { advanced: { regions: ['us-west-2', 'eu-west-1'], canary: { analysis: { metrics: [{ threshold: 5 }] } } } },
    ],
  ])('is sound: %s', (_, fragment, expected) => {
    expect(specOf(around(fragment))).toMatchObject(expected);
  });
});

describe('the file of the repository that tests itself', () => {
  const dogfooding = read('dogfooding');

  it('names its triggers twice, and that is all that is wrong with it', () => {
    expect(faultsOf(dogfooding)).toEqual(['eph.yaml:15:1: triggers: is given twice; keep one']);
  });

  it('is sound with one of them', () => {
    const spec = specOf(dogfooding.replace(/triggers:\n.*\n.*\n\n/, ''));
    expect(spec).toMatchObject({
      providers: { primary: 'kubernetes' },
      triggers: [{ type: 'pr_label', wait_for_checks: ['docker-build'] }],
      environment: { name_template: 'eph-{words}-{number}', subdomain_template: '{name}.dogfood.eph.dev' },
      kubernetes: { manifests: [{ path: './deploy/eph-controller.yaml' }, { path: './deploy/eph-webhook-handler.yaml' }] },
      database: { instances: [{ name: 'state', template: { strategy: 'seed' } }] },
    });
    expect(spec.environment).not.toHaveProperty('name');
    expect(spec).not.toHaveProperty('provider');
  });

  it('may disturb itself', () => {
    expect(specOf(around(read('chaos'))).testing?.chaos).toMatchObject([{ name: 'chaos-monkey' }, { name: 'consistency-check' }]);
  });
});

describe('the file for testing inside', () => {
  it('is sound as it stands', () => {
    expect(specOf(read('internal-testing'))).toMatchObject({
      providers: { primary: 'kubernetes' },
      environment: { name_template: 'eph-{words}-{number}', subdomain_template: '{name}.test.eph.dev' },
      kubernetes: {
        namespace_template: 'eph-test-{words}-{number}',
        manifests: [{ path: './deploy/eph-controller.yaml' }],
        secrets: [{ name: 'eph-test-credentials', data: { DNS_DOMAIN_PATTERN: '*.test.eph.dev' } }],
      },
      hooks: { post_create: [{ timeout: 900 }] },
    });
  });
});

describe('a fragment', () => {
  it.each([
    ['git-triggers', { triggers: [{ labels: ['preview', 'demo'] }, { patterns: ['preview/*'] }, { patterns: ['demo/*'] }] }],
    ['wait-for-checks', { triggers: [{ type: 'pr_label', wait_for_checks: ['docker-build'] }] }],
    ['convention-tags', { environment: { images: [{ tag_template: '{ref_type}-{ref_name}-{commit_sha:0:7}' }] } }],
  ])('of a file, %s, is sound in a whole one', (name, expected) => {
    expect(specOf(around(read(name)))).toMatchObject(expected);
  });

  it('that belongs elsewhere says where', () => {
    const scanning = read('registry-scanning');
    expect(faultsOf(around(scanning))).toEqual([
      'eph.yaml:4:1: images: unknown key; did you mean "environment.images" or "kubernetes.images"?',
    ]);
    expect(specOf(around(`environment:\n${indent(scanning)}`)).environment.images).toMatchObject([{ max_age: 604_800 }]);
  });

  it('alone lacks what every file has', () => {
    expect(faultsOf(read('git-triggers'))).toEqual([
      'eph.yaml:2:1: version: is required: "1.0"',
      'eph.yaml:2:1: name: is required',
      'eph.yaml:2:1: process: is required, or kubernetes, or docker-compose',
    ]);
  });
});
