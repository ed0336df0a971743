import { describe, expect, it } from 'vitest';
import { printFault } from './document.ts';
import { type ParsedSpec, parseSpec } from './parse.ts';
import type { Spec } from './schema.ts';

const parse = (text: string): ParsedSpec => parseSpec(new TextEncoder().encode(text));

const head = 'version: "1.0"\nname: shop\n';
const run = 'process: { services: { web: { command: run } } }\n';
const manifests = 'kubernetes: { manifests: [./deploy] }\n';

const specOf = (text: string): Spec => {
  const parsed = parse(head + text);
  if (!parsed.ok) throw new Error(parsed.faults.map(printFault).join('\n'));
  return parsed.spec;
};

const faultsOf = (text: string): readonly string[] => {
  const parsed = parse(head + text);
  return parsed.ok ? [] : parsed.faults.map((fault) => printFault(fault).slice('eph.yaml:'.length));
};

describe('the provider', () => {
  it.each([
    ['the one that is named', `providers: { primary: kubernetes }\n${manifests}${run}`, { primary: 'kubernetes' }],
    ['the one that is named for short', `provider: kubernetes\n${manifests}`, { primary: 'kubernetes' }],
    ['the one whose section is there', manifests, { primary: 'kubernetes' }],
    ['Docker Compose without further words', 'docker-compose: {}\n', { primary: 'docker-compose' }],
    ['process', run, { primary: 'process' }],
    ['one that the server knows by name', `provider: staging\n${run}`, { primary: 'staging' }],
    [
      'two',
      `providers: { primary: process, fallback: docker-compose }\n${run}docker-compose: {}\n`,
      { primary: 'process', fallback: 'docker-compose' },
    ],
  ])('is %s', (_, text, expected) => {
    expect(specOf(text).providers).toEqual(expected);
  });

  it.each<readonly [string, string, readonly string[]]>([
    [
      'named in two ways',
      `provider: process\nproviders: { primary: process }\n${run}`,
      ['3:1: provider: excludes providers; keep one of them'],
    ],
    [
      'without its section',
      `provider: kubernetes\n${run}`,
      ['1:1: kubernetes: is required, because kubernetes is to make the environment'],
    ],
    [
      'with a fallback without section',
      `providers: { primary: process, fallback: docker-compose }\n${run}`,
      ['1:1: docker-compose: is required, because docker-compose is to make the environment'],
    ],
    [
      'its own fallback',
      `providers: { primary: process, fallback: process }\n${run}`,
      ['3:32: providers.fallback: must be another provider than primary'],
    ],
    ['not told from another', run + manifests, ['1:1: providers: is required, as there are the sections process and kubernetes']],
    [
      'one of the server, and there is nothing to make',
      'provider: staging\n',
      ['1:1: process: is required, or kubernetes, or docker-compose'],
    ],
    ['misspelt in its section', 'kuberntes: { manifests: [a] }\n', ['3:1: kuberntes: unknown key; did you mean "kubernetes"?']],
  ])('is a fault when it is %s', (_, text, expected) => {
    expect(faultsOf(text)).toEqual(expected);
  });
});

describe('a short form', () => {
  it.each<readonly [string, string, object]>([
    ['environment.name', `environment: { name: "{project}-x" }\n${run}`, { environment: { name_template: '{project}-x' } }],
    [
      'environment.domain',
      `environment: { domain: "{name}.x.dev" }\n${run}`,
      { environment: { subdomain_template: '{name}.x.dev' } },
    ],
    [
      'kubernetes.namespace',
      'kubernetes: { namespace: "a-{name}", manifests: [a] }\n',
      { kubernetes: { namespace_template: 'a-{name}' } },
    ],
    [
      'a manifest',
      'kubernetes: { manifests: [./a, { path: b }] }\n',
      { kubernetes: { manifests: [{ path: './a' }, { path: 'b' }] } },
    ],
    ['a pattern', `triggers: [{ type: git_tag, pattern: v* }]\n${run}`, { triggers: [{ type: 'git_tag', patterns: ['v*'] }] }],
  ])('of %s means the long one', (_, text, expected) => {
    expect(specOf(text)).toMatchObject(expected);
  });

  it('leaves nothing of itself', () => {
    const spec = specOf(
      `provider: process\nenvironment: { name: a, domain: b }\ntriggers: [{ type: git_tag, pattern: v* }]\n${run}`,
    );
    expect(Object.keys(spec)).not.toContain('provider');
    expect(spec.environment).toEqual({ name_template: 'a', subdomain_template: 'b' });
    expect(spec.triggers).toEqual([{ type: 'git_tag', patterns: ['v*'] }]);
  });

  it('has the place of the long one', () => {
    const parsed = parse(`${head}environment:\n  name: a\n${run}`);
    expect(parsed.ok && parsed.places.at(['environment', 'name_template'])).toEqual({ line: 4, column: 3 });
    expect(parsed.ok && parsed.places.at(['environment', 'subdomain_template'])).toBeUndefined();
  });
});

describe('keys that do not go together', () => {
  const database = (template: string): string =>
    `${run}database: { instances: [{ name: main, type: postgres, template: ${template} }] }\n`;
  const image = (keys: string): string => `${run}environment: { images: [{ name: a, repository: r.io/a, ${keys} }] }\n`;
  const security = (protection: string): string => `${run}security: { environment_access: { protection: ${protection} } }\n`;

  it.each([
    ['name', 'name_template', `environment: { name: a, name_template: b }\n${run}`, 'environment.name'],
    ['domain', 'subdomain_template', `environment: { domain: a, subdomain_template: b }\n${run}`, 'environment.domain'],
    [
      'namespace',
      'namespace_template',
      'kubernetes: { namespace: a, namespace_template: b, manifests: [a] }\n',
      'kubernetes.namespace',
    ],
    ['pattern', 'patterns', `triggers: [{ type: git_tag, pattern: a, patterns: [b] }]\n${run}`, 'triggers.0.pattern'],
    ['path', 'kustomization', 'kubernetes: { manifests: [{ path: a, kustomization: b }] }\n', 'kubernetes.manifests.0.path'],
    ['tag', 'tag_template', image('tag: v1, tag_template: v2'), 'environment.images.0.tag'],
    ['tag', 'tag_pattern', image('tag: v1, tag_pattern: "v*"'), 'environment.images.0.tag'],
    ['tag', 'fallback_tag', image('tag: v1, fallback_tag: latest'), 'environment.images.0.tag'],
    ['tag', 'tag_source', image('tag: v1, tag_source: git_note'), 'environment.images.0.tag'],
    ['vault', 'kubernetes', `${run}secrets: { vault: { path: a }, kubernetes: { secrets: [a] } }\n`, 'secrets.vault'],
    [
      'oauth',
      'basic_auth',
      security('{ oauth: { provider: github }, basic_auth: { username: a, password: "${P}" } }'),
      'security.environment_access.protection.oauth',
    ],
    [
      'snapshot',
      'seed',
      database('{ seed: { scripts: [a] }, snapshot: { source: b } }'),
      'database.instances.0.template.snapshot',
    ],
  ])('%s and %s are named both', (_, second, text, path) => {
    expect(faultsOf(text)).toEqual([expect.stringMatching(new RegExp(`: ${path}: excludes ${second}; keep one of them$`))]);
  });

  it.each([
    ['networking.routing.path_prefix', 'strategy: path', `${run}networking: { routing: { path_prefix: /a } }\n`],
    [
      'networking.routing.path_prefix',
      'strategy: path',
      `${run}networking: { routing: { strategy: header, path_prefix: /a } }\n`,
    ],
    ['networking.routing.header', 'strategy: header', `${run}networking: { routing: { strategy: path, header: X } }\n`],
    ['database.instances.0.template.seed', 'strategy: seed', database('{ strategy: empty, seed: { scripts: [a] } }')],
    ['database.instances.0.template.snapshot', 'strategy: snapshot', database('{ strategy: branch, snapshot: { source: a } }')],
    ['environment.images.0.git_note_ref', 'tag_source: git_note', image('git_note_ref: a, tag_template: b')],
    [
      'secrets.kubernetes',
      'provider: kubernetes',
      `${run}secrets: { provider: aws-secrets-manager, kubernetes: { secrets: [a] } }\n`,
    ],
    [
      'security.environment_access.protection.basic_auth',
      'type: basic',
      security('{ type: none, basic_auth: { username: a, password: "${P}" } }'),
    ],
  ])('%s says that it needs %s', (path, needed, text) => {
    expect(faultsOf(text)).toEqual([expect.stringMatching(new RegExp(`: ${path}: means something only with ${needed}$`))]);
  });

  it.each([
    ['database.instances.0.template.seed', 'strategy: seed', database('{ strategy: seed }')],
    ['database.instances.0.template.snapshot', 'strategy: snapshot', database('{ strategy: snapshot }')],
    ['environment.images.0.fallback_tag', 'fallback_behavior: use-fallback', image('fallback_behavior: use-fallback')],
    ['secrets.vault', 'provider: vault', `${run}secrets: { provider: vault }\n`],
    ['security.environment_access.protection.basic_auth', 'type: basic', security('{ type: basic }')],
    ['security.environment_access.protection.oauth', 'type: oauth', security('{ type: oauth }')],
  ])('%s is missed with %s', (path, selector, text) => {
    expect(faultsOf(text)).toEqual([expect.stringMatching(new RegExp(`: ${path}: is required with ${selector}$`))]);
  });

  it.each([
    [
      'environment: { resources: { cpu_request: 2, cpu_limit: 500m } }',
      'environment.resources.cpu_request: must not be more than cpu_limit',
    ],
    [
      'environment: { resources: { memory_request: 2Gi, memory_limit: 1000Mi } }',
      'environment.resources.memory_request: must not be more than memory_limit',
    ],
  ])('amounts in the wrong order: %s', (text, message) => {
    expect(faultsOf(`${text}\n${run}`)).toEqual([expect.stringMatching(new RegExp(`: ${message}$`))]);
  });

  it('names given twice', () => {
    expect(faultsOf(`${run}services: [{ name: a, type: internal, image: a }, { name: a, type: internal, image: b }]\n`)).toEqual([
      '4:1: services: two entries have the same name',
    ]);
    expect(faultsOf(`${run}services: [{ name: web, type: internal, image: a }]\n`)).toEqual([
      '4:12: services.0: there is a component web in process already',
    ]);
    expect(
      faultsOf(
        `${run}services: [{ name: a, type: internal, image: a }]\ndatabase: { instances: [{ name: a, type: postgres }] }\n`,
      ),
    ).toEqual(['4:12: services.0: there is a component a in database already']);
  });
});

describe('a value', () => {
  it.each([
    ['0', 'must be from 1 to 65535'],
    ['65536', 'must be from 1 to 65535'],
    ['1.5', 'must be the number or the name of a port'],
  ])('of kubernetes.entry.port is refused: %s', (port, message) => {
    expect(faultsOf(`kubernetes: { manifests: [a], entry: { service: web, port: ${port} } }\n`)).toEqual([
      expect.stringContaining(`kubernetes.entry.port: ${message}`),
    ]);
  });

  const placed = (key: string, value: string): string => {
    const steps = key.split('.');
    const nested = steps.reduceRight((inner, step) => (step === '*' ? `[${inner}]` : `{ ${step}: ${inner} }`), value);
    return `${nested.slice(2, -2)}\n`;
  };

  it.each([
    ['environment.ttl', '3 days', 'must be a duration such as 30s, 5m, 72h or 7d'],
    ['environment.ttl', '72', 'must be a duration such as 30s, 5m, 72h or 7d'],
    ['environment.ttl', '0h', 'must be longer than zero'],
    ['environment.ttl', '53w', 'must be at most 365d'],
    ['environment.resources.cpu_limit', '2 cores', 'must be an amount such as 100m, 2, 128Mi or 4Gi'],
    ['environment.resources.memory_limit', '4GB', 'must be an amount such as 100m, 2, 128Mi or 4Gi'],
    ['environment.resources.memory_limit', '[1]', 'must be an amount such as 100m, 2, 128Mi or 4Gi'],
    ['environment.wake_on_access', '"yes"', 'must be true or false'],
    ['environment.subdomain_template', '"{nme}.x"', /^\{nme\} is not known here; did you mean \{name\}/],
    ['environment.base_domain', '"${EPH"', /not closed/],
    ['environment.env', '{ A: "${unknown}" }', /^\$\{unknown\} is not known here/],
    [
      'security.environment_access.allowed_ips',
      '[10.0.0.1]',
      'must be a range of addresses such as 192.0.2.0/24 or 2001:db8::/32',
    ],
    [
      'security.environment_access.allowed_ips',
      '[10.0.0.0/33]',
      'must be a range of addresses such as 192.0.2.0/24 or 2001:db8::/32',
    ],
    ['security.environment_access.default', 'privat', 'must be "public" or "protected"'],
    [
      'security.environment_access.protection.basic_auth',
      '{ username: a, password: hunter2 }',
      /^must come from the server, such as/,
    ],
    ['kubernetes.manifests', '[]', 'must not be empty'],
    ['kubernetes.manifests', '[5]', 'must be text or a map of keys and values; put it in quotes'],
    ['kubernetes.manifests', '[/etc]', 'must be a path inside the repository, such as ./deploy/app.yaml'],
    ['kubernetes.manifests', '[../other]', 'must be a path inside the repository, such as ./deploy/app.yaml'],
    ['kubernetes.manifests', '["https://x.dev/a.yaml"]', 'must be a path inside the repository, such as ./deploy/app.yaml'],
    ['kubernetes.manifests', '[{ paht: a }]', 'unknown key; did you mean "path"?'],
    [
      'kubernetes.manifests',
      '[{ chart: a, patches: [{ target: { kind: A }, patch: b }] }]',
      'means something only with kustomization',
    ],
    ['kubernetes.manifests', '[{ path: a, values: { b: c } }]', 'means something only with chart'],
    ['kubernetes.manifests', '[{ path: a, chart: b }]', 'excludes chart; keep one of them'],
    [
      'kubernetes.manifests',
      '[{ chart: a, value_files: [../b] }]',
      'must be a path inside the repository, such as ./deploy/app.yaml',
    ],
    ['kubernetes.manifests', '[{}]', 'is required, or kustomization, or chart'],
    ['docker-compose.scale', '{ web: -1 }', 'must not be negative'],
    ['docker-compose.scale', '{ web: 1.5 }', 'must be a whole number'],
    ['docker-compose.scale', '{ web: 1e9 }', 'must be at most 1000'],
    ['database.instances', '[{ name: a, type: postgres, version: 15 }]', 'must be text; put it in quotes'],
    ['database.instances', '[{ name: a, type: postgre }]', 'must be "postgres"'],
    ['services', '[{ name: a, type: internal, endpoint: "https://a" }]', /^(is required|unknown key)/],
    ['services', '[{ name: a, type: external, endpoint: auth }]', 'must be an address such as https://auth.example.com'],
    ['networking.routing', '{ strategy: header, header: "X Y" }', 'must be the name of a header, such as X-Eph-Environment'],
    ['hooks.post_create', '[{ name: a, command: [./x, "{enviroment_url}"] }]', /^\{enviroment_url\} is not known here/],
    ['hooks.post_create', '[{ name: a, command: ./x, timeout: 25h }]', 'must be at most 1d'],
    ['testing.chaos', '[{ name: a, schedule: hourly, action: x }]', 'must be five fields of a schedule, such as */10 * * * *'],
    ['triggers', '[{ type: git_branch, patterns: ["release-[12]"] }]', /^must be a ref name; /],
    ['triggers', '[{ type: git_branch, patterns: ["{a,b}"] }]', /^must be a ref name; /],
    ['triggers', '[{ type: git_branch }]', 'is required, or pattern'],
    ['triggers', '[{ type: pr_label }]', 'is required'],
    ['triggers', '[{ type: git_tag, pattern: [a] }]', 'must be text'],
  ])('of %s is refused: %s', (key, value, message) => {
    const section = key.split('.')[0];
    const provider = section === 'kubernetes' || section === 'docker-compose' ? '' : run;
    const parsed = parse(head + provider + placed(key, value));
    const faults = parsed.ok ? [] : parsed.faults;
    expect(faults[0]?.path.startsWith(key)).toBe(true);
    expect(faults[0]?.message).toMatch(typeof message === 'string' ? new RegExp(`^${RegExp.escape(message)}$`) : message);
  });

  it('is taken as it stands where braces and dollars are text', () => {
    const spec = specOf(
      `${run}hooks: { post_create: [{ name: a, command: "awk '{print $1}' && echo $HOME" }] }\nenvironment: { env: { JSON: '{"a":1}', SHELL: "$\${HOME}" } }\n`,
    );
    expect(spec.environment.env).toEqual({ JSON: '{"a":1}', SHELL: '$${HOME}' });
  });

  it('that looks like a number stays as it was written in annotations and variables', () => {
    const spec = specOf(
      'kubernetes: { manifests: [a], ingress: { annotations: { a/b: 1.0 } }, secrets: [{ name: s, data: { V: 007 } }] }\nobservability: { metrics: { annotations: { p: 9090 } } }\n',
    );
    expect(spec.kubernetes?.ingress?.annotations).toEqual({ 'a/b': '1.0' });
    expect(spec.kubernetes?.secrets?.[0]?.data).toEqual({ V: '007' });
    expect(spec.observability?.metrics?.annotations).toEqual({ p: '9090' });
  });
});
