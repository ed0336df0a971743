import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { rootCertificates } from 'node:tls';
import { inspect } from 'node:util';
import { parseAccessFile, parseEnvironmentConfig, projectId, redact } from '@eph/contract';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Config, folderOfProvider, readConfig } from './config.ts';

let folder = '';
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'eph-config-'));
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const read = (args: readonly string[], environment: Record<string, string> = {}): ReturnType<typeof readConfig> =>
  readConfig(args, { INIT_CWD: folder, ...environment });

const write = (name: string, content: string): string => {
  const path = join(folder, name);
  writeFileSync(path, content);
  return path;
};

const faultsOf = (args: readonly string[], environment?: Record<string, string>): string => {
  try {
    read(args, environment);
  } catch (error) {
    return (error as Error).message;
  }
  return 'no fault';
};

describe('configuration', () => {
  it('needs nothing but a project', () => {
    expect(read(['--project', 'shop.git'], { XDG_DATA_HOME: '/data' })).toMatchObject({
      dataFolder: '/data/eph',
      api: { host: '127.0.0.1', port: 7070 },
      gateway: { port: 7080, domain: 'localhost' },
      databaseUrl: undefined,
      deletionBound: { atLeast: 5, share: 0.2 },
      projects: [{ id: 'shop', location: join(folder, 'shop.git') }],
    });
  });

  it.each([
    ['/srv/git/My Shop.git', 'my-shop', '/srv/git/My Shop.git'],
    ['/srv/shop/.git', 'shop', '/srv/shop/.git'],
    ['https://git.example.com/team/blog.git', 'blog', 'https://git.example.com/team/blog.git'],
    ['git@example.com:team/blog.git', 'blog', 'git@example.com:team/blog.git'],
    ['git@example.com:blog.git', 'blog', 'git@example.com:blog.git'],
  ])('names %s %s', (location, id, resolved) => {
    expect(read(['--project', location])).toMatchObject({ projects: [{ id, location: resolved }] });
  });

  it('lets a flag win over a variable and a variable over the file', () => {
    const file = write(
      'layers.yaml',
      'api: { port: 1 }\ngateway: { port: 2 }\nlog_level: warn\nprojects: [{ name: a, location: a.git }]\n',
    );
    expect(read(['--config', file, '--port', '11'], { EPH_PORT: '12', EPH_GATEWAY_PORT: '22' })).toMatchObject({
      api: { port: 11 },
      gateway: { port: 22 },
      logLevel: 'warn',
      projects: [{ id: 'a', location: join(folder, 'a.git') }],
    });
  });

  it('takes paths of the file from the folder of the file, and those of flags from where the command was typed', () => {
    mkdirSync(join(folder, 'etc'));
    const file = write('etc/ephd.yaml', 'data: var\nprojects: [{ name: a, location: ../a.git }]\n');
    expect(read(['--config', 'etc/ephd.yaml'])).toMatchObject({
      dataFolder: join(folder, 'etc/var'),
      projects: [{ location: join(folder, 'a.git') }],
    });
    expect(read(['--config', file, '--data', 'here'])).toMatchObject({ dataFolder: join(folder, 'here') });
  });

  it('reports all faults at once', () => {
    const file = write('bad.yaml', 'api: { prt: 1 }\nworkers: many\nprojects: [{ name: "No Name", location: "" }]\n');
    expect(faultsOf(['--config', file, '--port', 'x'], { EPH_LOG_LEVEL: 'loud' }).split('\n')).toEqual([
      'the configuration has faults:',
      `  - ${file}:1:8: api.prt: unknown key; did you mean "port"?`,
      `  - ${file}:2:1: workers: must be a whole number from 1 to 256`,
      `  - ${file}:3:14: projects.0.name: must be lower-case letters, digits and dashes`,
      `  - ${file}:3:31: projects.0.location: must not be empty`,
      '  - --port "x": must be a port number',
      '  - EPH_LOG_LEVEL "loud": must be one of debug, info, warn, error, silent',
    ]);
  });

  it.each([
    ['empty', '# nothing\n', 'ephd.yaml:1:1: the file is empty; put projects or organisations in it, or leave --config out'],
    ['no YAML', 'api: [', 'ephd.yaml:1:'],
    ['a list', '- a\n', 'ephd.yaml:1:1: the file must be a map of keys and values'],
  ])('names the place in a file that is %s', (_, content, sentence) => {
    write('ephd.yaml', content);
    expect(faultsOf(['--config', 'ephd.yaml'])).toContain(sentence);
  });

  it.each([
    [['--project', 'a.git', '--port', 'x'], '--port "x": must be a port number'],
    [['--project', 'a.git', '--gateway-port', '65536'], '--gateway-port "65536": must be a whole number from 0 to 65535'],
    [['--project', 'a.git', '--log-level', 'loud'], '--log-level "loud": must be one of debug, info, warn, error, silent'],
    [['--projects', 'a.git'], '--projects'],
    [['--project', 'a/shop', '--project', 'b/shop'], 'two projects are called shop'],
    [['--project', '/'], 'no name can be made of it'],
    [['--config', 'missing.yaml'], 'missing.yaml'],
    [[], 'no project'],
  ])('explains what is wrong with %j', (args, sentence) => {
    expect(faultsOf(args)).toContain(sentence);
  });

  it('answers --help', () => {
    expect(read(['--help'])).toBe('help');
  });
});

const project = 'projects: [{ name: shop, location: shop.git }]\n';

const readFile = (content: string, environment?: Record<string, string>): Config => {
  const config = read(['--config', write('ephd.yaml', content)], environment);
  if (config === 'help') throw new Error('help');
  return config;
};

const faultsIn = (content: string, environment?: Record<string, string>): readonly string[] => {
  write('ephd.yaml', content);
  return faultsOf(['--config', 'ephd.yaml'], environment)
    .split('\n')
    .slice(1)
    .map((fault) => fault.replace('  - ', ''));
};

const document = (labels: string, data: string): string =>
  `    - apiVersion: apiextensions.crossplane.io/v1beta1
      kind: EnvironmentConfig
      metadata: { name: x, labels: { ${labels} } }
      data: ${data}
`;

const forCluster = (data: string): string => document('eph.io/type: cluster', data);
const forProject = (name: string, data = '{}'): string =>
  document(`eph.io/type: project, eph.io/repository: acme, eph.io/project: ${name}`, data);

describe('the API', () => {
  it('listens on loopback and trusts nobody, unless the file says otherwise', () => {
    const plain = { host: '127.0.0.1', port: 7070, tls: undefined, url: undefined, allowedOrigins: [], trustedProxies: [] };
    expect(readFile(project).api).toEqual(plain);
    const content = `api:
  host: "::"
  tls: { certificate: tls/cert.pem, key: /etc/eph/key.pem }
  url: https://eph.example.com
  allowed_origins: [https://portal.example.com, "http://localhost:5173"]
  trusted_proxies: [10.0.0.0/8, 192.0.2.7, "fd00::/8"]
${project}`;
    expect(readFile(content).api).toEqual({
      host: '::',
      port: 7070,
      tls: { certificate: join(folder, 'tls/cert.pem'), key: '/etc/eph/key.pem' },
      url: 'https://eph.example.com',
      allowedOrigins: ['https://portal.example.com', 'http://localhost:5173'],
      trustedProxies: ['10.0.0.0/8', '192.0.2.7', 'fd00::/8'],
    });
    for (const host of ['localhost', '127.0.0.2', '"::1"']) expect(faultsIn(`api: { host: ${host} }\n${project}`)).toEqual([]);
  });

  it('does not listen elsewhere without TLS, nor on every address without the one that people use', () => {
    const open = 'ephd.yaml:1:8: api.host: other machines can reach this address, and without TLS';
    for (const host of ['10.0.0.5', 'eph.example.com', 'localhost.example.com', '128.0.0.1', '"::ffff:10.0.0.5"'])
      expect(faultsIn(`api: { host: ${host}, url: https://eph.example.com }\n${project}`), host).toEqual([
        expect.stringContaining(open),
      ]);
    for (const host of ['0.0.0.0', '"::"'])
      expect(faultsIn(`api: { host: ${host}, tls: { certificate: a, key: b } }\n${project}`), host).toEqual([
        'ephd.yaml:1:8: api.host: is every address of this machine, so set url, the one that people use',
      ]);
  });

  it('is refused with the line where nobody could use it so', () => {
    const content = `api:
  host: not a host
  tls: { certificate: cert.pem }
  url: http://eph.example.com
  allowed_origins: ["*", https://portal.example.com/, portal.example.com, "null"]
  trusted_proxies: [10.0.0.0/33, proxy.example.com]
${project}`;
    const origin = 'must be an origin such as https://eph.example.com, without a path and a slash at the end';
    const proxy = 'must be an address or a range such as 10.20.0.0/16';
    expect(faultsIn(content)).toEqual([
      'ephd.yaml:2:3: api.host: must be an address such as 0.0.0.0, or a name',
      'ephd.yaml:3:3: api.tls.key: is required',
      'ephd.yaml:4:3: api.url: must begin with https: tokens are sent to it',
      ...[21, 26, 55, 75].map((column, index) => `ephd.yaml:5:${column}: api.allowed_origins.${index}: ${origin}`),
      `ephd.yaml:6:21: api.trusted_proxies.0: ${proxy}`,
      `ephd.yaml:6:34: api.trusted_proxies.1: ${proxy}`,
    ]);
  });
});

describe('links', () => {
  it('lead from comments to what the operator has', () => {
    const links = { logs: 'https://logs.example/{name}', dashboard: 'https://grafana.example/{id}' };
    expect(readFile(`links: ${JSON.stringify(links)}\n${project}`).links).toEqual(links);
    expect(readFile(project).links).toEqual({});
  });

  it('are refused with their line when nothing could be there', () => {
    expect(faultsIn(`links:\n  logs: https://logs.example/{branch}\n${project}`)).toEqual([
      'ephd.yaml:2:3: links.logs: {branch} is not a placeholder; use {id}, {name}, {project}',
    ]);
  });
});

describe('providers', () => {
  const names = (content: string): readonly string[] => readFile(content).providers.map(({ name, type }) => `${name} ${type}`);

  it('are named by the file, in its order; without the key there is one called process', () => {
    expect(names(`providers:\n  zebra: { type: process }\n  apple: { type: process }\n${project}`)).toEqual([
      'zebra process',
      'apple process',
    ]);
    expect(names(project)).toEqual(['process process']);
    expect(read(['--project', 'shop.git'])).toMatchObject({ providers: [{ name: 'process', type: 'process' }] });
  });

  it('have a data folder each, and the one called process keeps its own', () => {
    expect(['process', 'local'].map((name) => folderOfProvider('/data', name))).toEqual([
      '/data/process',
      '/data/providers/local',
    ]);
  });

  it('are refused with the line and what would be right', () => {
    const content = `providers:
  local: { tpye: process }
  staging: { type: nomad }
  Local: { type: process }
  7: { type: process }
  more: { type: process, folder: x }
${project}`;
    expect(faultsIn(content)).toEqual([
      'ephd.yaml:2:3: providers.local.type: is required: "process" or "kubernetes"',
      'ephd.yaml:3:14: providers.staging.type: must be "process" or "kubernetes"',
      'ephd.yaml:4:3: providers.Local: must be lower-case letters, digits and dashes, and begin with a letter',
      'ephd.yaml:5:3: providers.7: must be lower-case letters, digits and dashes, and begin with a letter',
      'ephd.yaml:6:26: providers.more.folder: unknown key; allowed here: type, tools, network, reach, limits',
    ]);
    const limits = `providers: { a: { type: process, limits: { memory: much, processes: 1 }, reach: [here], network: none } }\n${project}`;
    expect(faultsIn(limits)).toEqual([
      'ephd.yaml:1:44: providers.a.limits.memory: must be an amount such as 500m, 2 or 4Gi',
      'ephd.yaml:1:58: providers.a.limits.processes: must be at least 16',
      'ephd.yaml:1:82: providers.a.reach.0: must be a range such as 10.20.0.0/16',
      'ephd.yaml:1:89: providers.a.network: must be "own" or "shared"',
    ]);
    const cluster = `providers:
  a: { type: kubernetes, kubeconfig: staging.yaml, owner: Team, reached: vpn, pod_security: privileged, reach: [here] }
  b: { type: kubernetes, secrets: [{ namespace: eph, names: [] }] }
${project}`;
    expect(faultsIn(cluster)).toEqual([
      'ephd.yaml:2:26: providers.a.kubeconfig: must be a path that begins with /',
      'ephd.yaml:2:52: providers.a.owner: must be lower-case letters, digits and dashes',
      'ephd.yaml:2:65: providers.a.reached: must be "service" or "forward"',
      'ephd.yaml:2:79: providers.a.pod_security: must be "baseline" or "restricted"',
      'ephd.yaml:2:113: providers.a.reach.0: must be a range such as 10.20.0.0/16',
      'ephd.yaml:3:54: providers.b.secrets.0.names: must not be empty',
    ]);
    expect(faultsIn(`providers: {}\n${project}`)).toEqual([
      'ephd.yaml:1:1: providers: names no provider; without this key there is one called process',
    ]);
  });
});

describe('clusters', () => {
  it('are told apart by kubeconfig, context and owner', () => {
    const clusters = (...settings: readonly string[]): string =>
      `providers:\n${settings.map((one, index) => `  c${index}: { type: kubernetes${one} }\n`).join('')}${project}`;
    const sound = clusters('', ', owner: second', ', context: us', ', kubeconfig: /etc/eph/us, reach: [10.0.0.0/8, "fd00::/8"]');
    expect(readFile(sound).providers.map(({ type }) => type)).toEqual(Array(4).fill('kubernetes'));
    expect(faultsIn(clusters(', kubeconfig: /etc/eph/us', ', kubeconfig: /etc/eph/us, reached: forward'))).toEqual([
      'ephd.yaml:3:3: providers.c1: is the same cluster with the same owner as c0, so both would hold the same environments; keep one',
    ]);
  });
});

describe('projects', () => {
  it('are known by their name, and have nothing more unless told', () => {
    const plain = {
      id: 'shop',
      forge: undefined,
      forks: 'deny',
      baseBranches: [],
      trusted: false,
      network: 'shared',
      labels: [],
      comments: true,
      texts: {},
      repository: 'shop',
      team: undefined,
      variables: {},
    };
    expect(readFile(project).projects).toEqual([{ ...plain, location: join(folder, 'shop.git') }]);
    expect(read(['--project', 'shop.git'])).toMatchObject({
      projects: [{ ...plain, trusted: true }],
      configuration: { documents: [] },
    });
  });

  it('may live on a forge, whose token stands in a variable of ephd', () => {
    const text = `forges:
  work:
    type: gitea
    url: https://git.example.org/
    token: { from: GITEA_TOKEN }
    webhook_secret: { from: GITEA_HOOK }
projects:
  - name: shop
    forge: work
    location: acme/shop
    forks: approve
webhooks: { port: 7090 }
`;
    const config = readFile(text, { GITEA_TOKEN: 'topsecret-token', GITEA_HOOK: 'topsecret-hook' });
    expect(config).toMatchObject({
      webhooks: { host: '127.0.0.1', port: 7090 },
      projects: [
        { location: 'acme/shop', forks: 'approve', forge: { name: 'work', type: 'gitea', url: 'https://git.example.org' } },
      ],
    });
    expect(JSON.stringify(config)).not.toContain('topsecret');
    expect(() => readFile(text, { GITEA_TOKEN: 'x' })).toThrow('the variable GITEA_HOOK');
    expect(() => readFile(text.replace('forge: work', 'forge: wrok'), { GITEA_TOKEN: 'x', GITEA_HOOK: 'y' })).toThrow(
      'there is no forge wrok here; did you mean work?',
    );
    expect(() => readFile(text.replace('acme/shop', '/srv/shop.git'), { GITEA_TOKEN: 'x', GITEA_HOOK: 'y' })).toThrow(
      'must be owner/repository on a forge',
    );
  });

  it('cannot live on a forge whose webhooks would reach the route of registries', () => {
    const forge = '{ type: gitea, url: "https://git.example.org", token: { from: T } }';
    expect(faultsIn(`forges: { registry: ${forge} }\n${project}`, { T: 'x' })).toEqual([
      'ephd.yaml:1:11: forges.registry: is taken: registries send their webhooks to /webhooks/registry',
    ]);
  });

  it('may be all that an organisation has', () => {
    const text = `forges:
  work: { type: gitea, url: https://git.example.org, token: { from: GITEA_TOKEN } }
organisations:
  - forge: work
    owner: acme
  - forge: work
    owner: fruit
    include: [shop-*]
    exclude: ['*-old']
    forks: base
    base_branches: [release]
    comments: false
    team: fruit
    variables: { KEY: { from: GITEA_TOKEN } }
`;
    const given = { GITEA_TOKEN: 'topsecret-token' };
    const config = readFile(text, given);
    expect(config.projects).toEqual([]);
    expect(config.organisations).toMatchObject([
      { forge: { name: 'work' }, owner: 'acme', include: ['*'], exclude: [], forks: 'deny', comments: true, variables: {} },
      {
        owner: 'fruit',
        include: ['shop-*'],
        exclude: ['*-old'],
        forks: 'base',
        baseBranches: ['release'],
        comments: false,
        team: 'fruit',
      },
    ]);
    expect(config.organisations[1]?.variables['KEY']?.value).toBe('topsecret-token');
    expect(JSON.stringify(config)).not.toContain('topsecret');
    const faultOf = (from: string, to: string) => () => readFile(text.replace(from, to), given);
    expect(faultOf('owner: acme', 'owner: acme/shop')).toThrow(
      'organisations.0.owner: must be the name of an organisation or user',
    );
    expect(faultOf('owner: acme', 'owner: a b')).toThrow('organisations.0.owner');
    expect(faultOf('forge: work', 'forge: wrok')).toThrow('there is no forge wrok here; did you mean work?');
    expect(faultOf('shop-*', 'fruit/shop-*')).toThrow('in which there is no /');
    expect(faultOf('from: GITEA_TOKEN } }\n', 'from: NOBODY } }\n')).toThrow('the variable NOBODY');
    expect(faultOf('exclude', 'exlude')).toThrow('exlude');
    // A group of GitLab may be in another, and documents may be about what is not known yet.
    const onGitlab = text.replace('gitea, url', 'gitlab, url').replace('owner: acme', 'owner: acme/web');
    expect(readFile(onGitlab, given).organisations[0]?.owner).toBe('acme/web');
  });

  it('may be known by another name, belong to a team and have variables', () => {
    const config = readFile(
      `projects:
  - name: shop
    location: shop.git
    repository: acme
    team: fruit
    variables:
      API_URL: https://api.example.org
      REGION: { from: SHOP_REGION, secret: false }
      PLAIN: { value: "1.0" }
`,
      { SHOP_REGION: 'eu', OTHER: 'x' },
    );
    expect(config.projects).toMatchObject([
      {
        repository: 'acme',
        team: 'fruit',
        variables: {
          API_URL: { value: 'https://api.example.org', secret: false },
          REGION: { value: 'eu', secret: false },
          PLAIN: { value: '1.0', secret: false },
        },
      },
    ]);
    expect(Object.keys(config.projects[0]?.variables ?? {})).toEqual(['API_URL', 'REGION', 'PLAIN']);
  });

  it('are told which of their variables are wrong', () => {
    expect(
      faultsIn(`projects:
  - name: shop
    location: shop.git
    variables:
      api_url: x
      NUMBER: 1.0
      BOTH: { from: A, value: b }
      NEITHER: { secret: true }
      WRONG: { form: A }
`),
    ).toEqual([
      'ephd.yaml:5:7: projects.0.variables.api_url: is not a name for a variable of the server; use capitals, digits and _',
      'ephd.yaml:6:7: projects.0.variables.NUMBER: must be text or a map of keys and values; put it in quotes',
      'ephd.yaml:7:7: projects.0.variables.BOTH: give one of from, the name of a variable of ephd, and value',
      'ephd.yaml:8:7: projects.0.variables.NEITHER: give one of from, the name of a variable of ephd, and value',
      'ephd.yaml:9:7: projects.0.variables.WRONG: give one of from, the name of a variable of ephd, and value',
      'ephd.yaml:9:16: projects.0.variables.WRONG.form: unknown key; did you mean "from"?',
    ]);
    const missing = 'projects: [{ name: shop, location: shop.git, variables: { A: { from: SHOP_A }, B: { from: SHOP_B } } }]\n';
    expect(faultsIn(missing, { SHOP_B: '' })).toEqual([
      'ephd.yaml:1:59: projects.0.variables.A: ephd was started without a value for the variable SHOP_A; set it, or use value instead of from',
      'ephd.yaml:1:80: projects.0.variables.B: ephd was started without a value for the variable SHOP_B; set it, or use value instead of from',
    ]);
  });
});

describe('registries', () => {
  const shop = projectId('shop');

  it('are not configured unless told', () => {
    expect(readFile(project)).toMatchObject({ registries: new Map(), registryCredentials: undefined });
  });

  it('have credentials in variables of ephd, an authority, and projects', () => {
    write('authority.pem', rootCertificates[0] ?? '');
    const text = `registries:
  ghcr.io: { username: robot, password: { from: GHCR_TOKEN }, webhook_secret: { from: GHCR_HOOK }, projects: [shop, web-*] }
  registry.example.com:5000: { ca: authority.pem }
  "[fd00::7]:5000": { plain_http: true }
  docker.io: {}
registry_credentials: docker/config.json
${project}`;
    const config = readFile(text, { GHCR_TOKEN: 'topsecret-token', GHCR_HOOK: 'topsecret-hook' });
    const plain = { username: undefined, password: undefined, plainHttp: false, ca: undefined, webhookSecret: undefined };
    const isFor = expect.any(Function);
    expect(Object.fromEntries(config.registries)).toEqual({
      'ghcr.io': {
        ...plain,
        username: 'robot',
        password: expect.objectContaining({ secret: true }),
        webhookSecret: expect.objectContaining({ secret: true }),
        isFor,
      },
      'registry.example.com:5000': { ...plain, ca: expect.stringContaining('BEGIN CERTIFICATE'), isFor },
      '[fd00::7]:5000': { ...plain, plainHttp: true, isFor },
      'docker.io': { ...plain, isFor },
    });
    const ghcr = config.registries.get('ghcr.io');
    expect([ghcr?.password?.value, ghcr?.webhookSecret?.value]).toEqual(['topsecret-token', 'topsecret-hook']);
    expect(['shop', 'web-1', 'blog'].map((id) => ghcr?.isFor(projectId(id)))).toEqual([true, true, false]);
    expect(config.registries.get('docker.io')?.isFor(shop)).toBe(true);
    expect(config.registryCredentials).toBe(join(folder, 'docker/config.json'));
    expect(inspect(config, { depth: 9 })).not.toContain('topsecret');
  });

  it('are refused with the line and what would be right', () => {
    const content = `registries:
  https://ghcr.io: {}
  GHCR.io: {}
  registry.example.com:443: {}
  ghcr.io/acme: {}
  index.docker.io: {}
  a.example: { usrname: x }
  b.example: { username: x }
  c.example: { password: { from: NOBODY } }
  d.example: { username: x, password: plain }
  e.example: { plain_http: true, ca: x.pem }
  f.example: { projects: [Shop] }
${project}`;
    const form = 'must be a host as in the names of images, such as ghcr.io or registry.example.com:5000';
    expect(faultsIn(content)).toEqual([
      `ephd.yaml:2:3: registries.https://ghcr.io: ${form}`,
      `ephd.yaml:3:3: registries.GHCR.io: ${form}`,
      `ephd.yaml:4:3: registries.registry.example.com:443: ${form}`,
      `ephd.yaml:5:3: registries.ghcr.io/acme: ${form}`,
      'ephd.yaml:6:3: registries.index.docker.io: is Docker Hub, which is called docker.io in the names of images',
      'ephd.yaml:7:16: registries.a.example.usrname: unknown key; did you mean "username"?',
      'ephd.yaml:8:16: registries.b.example.username: needs a password beside it',
      'ephd.yaml:9:16: registries.c.example.password: needs a username beside it',
      'ephd.yaml:10:29: registries.d.example.password: must be a map of keys and values',
      'ephd.yaml:11:34: registries.e.example.ca: has no effect with plain_http; keep one of them',
      'ephd.yaml:12:27: registries.f.example.projects.0: must be the name of a project; * stands for anything, and ? for one character',
    ]);
  });

  it('are refused where something that they name is missing', () => {
    write('no.pem', 'nothing');
    const content = `registries:
  a.example: { username: x, password: { from: NOBODY } }
  b.example: { ca: none.pem }
  c.example: { ca: no.pem }
${project}`;
    expect(faultsIn(content)).toEqual([
      'ephd.yaml:2:29: registries.a.example.password: ephd was started without a value for the variable NOBODY; set it',
      `ephd.yaml:3:16: registries.b.example.ca: ${join(folder, 'none.pem')} cannot be used: there is no such file`,
      `ephd.yaml:4:16: registries.c.example.ca: ${join(folder, 'no.pem')} cannot be used: it is not a certificate in PEM`,
    ]);
  });
});

describe('images', () => {
  it('are waited for as long as the file says', () => {
    expect(readFile(project).images).toEqual({ fallbackAfterMs: 600_000, giveUpAfterMs: 1_800_000, freshForMs: 30_000 });
    expect(readFile(`images: { fallback_after: 90s, give_up_after: 1h30m, fresh_for: 500ms }\n${project}`).images).toEqual({
      fallbackAfterMs: 90_000,
      giveUpAfterMs: 5_400_000,
      freshForMs: 500,
    });
  });

  it.each([
    ['fallback_after: 10', 'images.fallback_after: must be a duration such as 30s, 5m, 72h or 7d'],
    ['give_up_after: 8d', 'images.give_up_after: must be at most 7d'],
    ['give_up_after: 9m', 'images.give_up_after: must not be shorter than fallback_after, which is 10m'],
    ['fallback_after: 31m', 'images.give_up_after: must not be shorter than fallback_after, which is 31m'],
    ['fresh_for: 0s', 'images.fresh_for: must be longer than zero'],
    ['fresh: 1s', 'images.fresh: unknown key'],
  ])('are refused with %s', (setting, fault) => {
    expect(faultsIn(`images: { ${setting} }\n${project}`)).toEqual([expect.stringContaining(fault)]);
  });
});

describe('a secret', () => {
  const secret = 'correct-horse-battery';
  const config = () =>
    readFile(
      'projects: [{ name: shop, location: a.git, variables: { TOKEN: { from: SHOP_TOKEN, secret: true }, KEY: { from: SHOP_TOKEN }, OWN: { value: own-secret-value, secret: true } } }]\n',
      { SHOP_TOKEN: secret },
    );

  it('is there for whoever asks for it', () => {
    const [shop] = config().projects;
    expect(shop?.variables['TOKEN']?.value).toBe(secret);
    expect(shop?.variables['OWN']?.value).toBe('own-secret-value');
    expect(Object.values(shop?.variables ?? {}).map((variable) => variable.secret)).toEqual([true, true, true]);
  });

  it('is not printed with the configuration, nor in any message', () => {
    const printed = [JSON.stringify(config()), inspect(config(), { depth: 10 }), redact(`refused: ${secret} own-secret-value`)];
    for (const text of printed) {
      expect(text).not.toContain(secret);
      expect(text).not.toContain('own-secret-value');
    }
  });

  it('is in no fault', () => {
    const content =
      'projects: [{ name: shop, location: a.git, variables: { A: { valeu: abcd-efgh-ijkl, secret: yes }, B: 12345678 } }]\n';
    expect(faultsIn(content).join('\n')).not.toMatch(/abcd-efgh|12345678/);
  });
});

describe('the configuration of the platform', () => {
  it('may come from a repository', () => {
    expect(readFile(`${project}configuration: { repository: platform.git, environment: dev }\n`).configuration).toEqual({
      repository: { location: join(folder, 'platform.git'), branch: 'main', environment: 'dev' },
      documents: [],
    });
    expect(
      readFile(`${project}configuration: { repository: "https://git.example.org/p.git", branch: live, environment: prod }\n`),
    ).toMatchObject({
      configuration: { repository: { location: 'https://git.example.org/p.git', branch: 'live', environment: 'prod' } },
    });
  });

  it('may stand in the file itself, which says where', () => {
    const { configuration } = readFile(
      `configuration:\n  documents:\n${forCluster('{ defaults: { Deployment: { env: { VERSION: 1.0 } } } }')}${forProject('shop', '{ overrides: { web: { replicas: 2 } } }')}projects: [{ name: shop, location: shop.git, repository: acme }]\n`,
    );
    expect(configuration).toMatchObject({
      repository: undefined,
      documents: [
        {
          file: 'ephd.yaml',
          commit: null,
          at: ['configuration', 'documents', 0],
          config: { defaults: { Deployment: { env: { VERSION: '1.0' } } } },
        },
        { config: { type: 'project', repository: 'acme', project: 'shop', overrides: { web: { replicas: 2 } } } },
      ],
    });
    const [, override] = configuration.documents;
    expect(override?.places.at([...override.at, ...override.config.payload, 'overrides', 'web', 'replicas'])).toEqual({
      line: 10,
      column: 35,
    });
  });

  it('has limits, which know their place', () => {
    const { policy } = readFile(`policy:\n  max_ttl: 7d\n  environments: { per_team: 3 }\n${project}`);
    expect(policy).toMatchObject({
      limits: { max_ttl: 604_800, environments: { per_team: 3 } },
      setBy: 'ephd.yaml',
      commit: null,
    });
    expect(policy?.placeOf(['environments', 'per_team'])).toEqual({ line: 3, column: 19 });
    expect(readFile(project).policy).toBeUndefined();
  });

  it.each<readonly [string, string, string]>([
    [
      'a repository without an environment',
      `${project}configuration: { repository: p.git }\n`,
      'ephd.yaml:2:1: configuration.environment: is required: the folder of the repository that holds env.yaml, such as dev',
    ],
    [
      'an environment without a repository',
      `${project}configuration: { environment: dev }\n`,
      'ephd.yaml:2:18: configuration.environment: needs a repository beside it',
    ],
    [
      'a branch without a repository',
      `${project}configuration: { branch: main }\n`,
      'ephd.yaml:2:18: configuration.branch: needs a repository beside it',
    ],
    [
      'an environment that leaves the repository',
      `${project}configuration: { repository: p.git, environment: ../x }\n`,
      'ephd.yaml:2:37: configuration.environment: must be letters, digits, dashes',
    ],
    [
      'a slip in a document',
      `${project}configuration:\n  documents:\n${forCluster('{ defaults: { Deployment: { replica: 3 } } }')}`,
      'ephd.yaml:7:41: configuration.documents.0.data.defaults.Deployment.replica: unknown key; did you mean "replicas"?',
    ],
    [
      'two documents for the cluster',
      `${project}configuration:\n  documents:\n${forCluster('{}')}${forCluster('{}')}`,
      'ephd.yaml:8:7: configuration.documents.1: is a second document for the cluster; keep one',
    ],
    [
      'a document of no repository',
      `${project}configuration:\n  documents:\n${document('eph.io/type: project, eph.io/project: shop', '{}')}`,
      'ephd.yaml:6:28: configuration.documents.0.metadata.labels: needs the label eph.io/repository: here no path says it',
    ],
    [
      'a document for a project that is not here',
      `projects: [{ name: shop, location: a, repository: acme }]\nconfiguration:\n  documents:\n${forProject('shopp')}`,
      'ephd.yaml:6:28: configuration.documents.0.metadata.labels: there is no project acme/shopp (repository/project) here; did you mean acme/shop?',
    ],
    [
      'an unknown limit',
      `${project}policy: { max_tll: 7d }\n`,
      'ephd.yaml:2:11: policy.max_tll: unknown key; did you mean "max_ttl"?',
    ],
  ])('is refused with %s', (_, content, fault) => {
    expect(faultsIn(content)).toEqual([expect.stringContaining(fault)]);
  });
});

describe('access', () => {
  const key = 'q83vEjRWeJCrze8SNFZ4kKvN7xI0VniQq83vEjRWeJA=';
  const other = 'EjRWeJCrze8SNFZ4kKvN7xI0VniQq83vEjRWeJCrze8=';
  const labelled = 'projects: [{ name: shop, location: shop.git, labels: [payments, web] }]\n';

  it('has no rules and keys in the data folder unless told', () => {
    expect(readFile(project).access).toEqual({ keys: undefined, rules: [] });
    expect(read(['--project', 'shop.git'])).toMatchObject({ access: { keys: undefined, rules: [] } });
  });

  it('has rules that know their place, and projects with labels', () => {
    const config = readFile(
      `access:\n  rules:\n    - { who: { group: ops }, role: admin }\n    - who: { ci: acme/shop }\n      role: viewer\n      except: [payments]\n${labelled}`,
    );
    expect(config.access.rules).toEqual([
      { who: [{ group: 'ops' }], role: 'admin', projects: undefined, labels: undefined, except: [], place: 'ephd.yaml:3' },
      {
        who: [{ ci: 'acme/shop' }],
        role: 'viewer',
        projects: undefined,
        labels: undefined,
        except: ['payments'],
        place: 'ephd.yaml:4',
      },
    ]);
    expect(config.projects).toMatchObject([{ id: 'shop', labels: ['payments', 'web'] }]);
  });

  it('has labels for all repositories of an organisation', () => {
    const text = `forges: { work: { type: gitea, url: "https://git.example.org", token: { from: T } } }
organisations: [{ forge: work, owner: acme, labels: [acme] }]
access: { rules: [{ who: { group: a }, role: viewer, labels: [acme] }] }
`;
    expect(readFile(text, { T: 'a-secret-token' }).organisations).toMatchObject([{ labels: ['acme'] }]);
  });

  it.each([
    [
      'rules: [{ who: { group: a }, role: viewer, labels: [paymens] }]',
      'no project here has the label paymens; did you mean payments?',
    ],
    ['rules: [{ who: { group: a }, deny: true, except: [x] }]', 'no project here has the label x; known are payments, web'],
    ['rules: [{ who: { group: a }, role: admin, projects: [shop] }]', 'must be left out: an admin has all projects'],
    ['rule: []', 'unknown key; did you mean "rules"?'],
    ['keys: abc', 'access.keys: must be a map of keys and values'],
    ['keys: { from: KEYS }', 'access.keys: ephd was started without a value for the variable KEYS; set it to one or two keys'],
  ])('refuses %s', (access, fault) => {
    expect(faultsIn(`access: { ${access} }\n${labelled}`)).toEqual([expect.stringContaining(fault)]);
  });

  it('takes keys from a variable, and shows them to nobody', () => {
    const config = readFile(`access: { keys: { from: KEYS } }\n${project}`, { KEYS: `${key} ${other}` });
    expect(config.access.keys?.value).toBe(`${key} ${other}`);
    expect(inspect(config, { depth: 9 })).not.toContain(key);
    expect(redact(`the second is ${other}`)).toBe('the second is ***');
    expect(read(['--project', 'shop.git'], { EPH_ACCESS_KEYS: key })).toMatchObject({ access: { keys: { value: key } } });
  });

  it.each(['short', `${key} ${key} ${key}`, key.slice(1), `${key} x`, key.replace('q', '*')])('refuses the keys %j', (keys) => {
    expect(faultsOf(['--project', 'a.git'], { EPH_ACCESS_KEYS: keys })).toContain(
      'EPH_ACCESS_KEYS must be one or two keys of 32 bytes',
    );
    const [fault = ''] = faultsIn(`access: { keys: { from: KEYS } }\n${project}`, { KEYS: keys });
    expect(fault).toContain('ephd.yaml:1:11: access.keys: the variable KEYS must be one or two keys of 32 bytes');
    expect(fault).not.toContain(keys);
  });

  it('needs keys from outside with a database', () => {
    const database = { DATABASE_URL: 'postgres://eph@db/eph' };
    const sentence = 'with a database, the keys of API tokens must not be in the data folder: set EPH_ACCESS_KEYS, or';
    expect(faultsOf(['--project', 'a.git'], database)).toContain(sentence);
    expect(faultsIn(`database_url: postgres://eph@db/eph\n${project}`)).toEqual([expect.stringContaining(sentence)]);
    expect(faultsOf(['--project', 'a.git'], { ...database, EPH_ACCESS_KEYS: key })).toBe('no fault');
    expect(readFile(`access: { keys: { from: KEYS } }\n${project}`, { ...database, KEYS: key })).toMatchObject({
      databaseUrl: database.DATABASE_URL,
    });
  });
});

describe('the examples of docs/configuration.md', () => {
  const page = readFileSync(join(import.meta.dirname, '../../docs/configuration.md'), 'utf8');
  const examples = [...page.matchAll(/```yaml\n# (\S+)\n(.*?)```/gs)].map(([, file = '', content = '']) => ({ file, content }));

  it('are there', () => {
    expect(examples.map(({ file }) => file)).toEqual(
      expect.arrayContaining(['ephd.yaml', 'dev/env.yaml', 'dev/apps/acme/shop/env.yaml']),
    );
  });

  it.each(examples.filter(({ file }) => file === 'ephd.yaml'))('hold for ephd: $content', ({ content }) => {
    expect(readFile(content, { SHOP_TOKEN: 'a-secret-token', SHOP_REGION: 'eu' }).projects).toHaveLength(1);
  });

  it.each(examples.filter(({ file }) => file !== 'ephd.yaml'))('hold for $file', ({ file, content }) => {
    const scope = file.includes('/apps/')
      ? ({ type: 'project', repository: 'acme', project: 'shop' } as const)
      : ({ type: 'cluster' } as const);
    expect(parseEnvironmentConfig(new TextEncoder().encode(content), file, scope)).toMatchObject({ ok: true });
  });
});

describe('the examples of docs/security.md', () => {
  const page = readFileSync(join(import.meta.dirname, '../../docs/security.md'), 'utf8');
  const examples = new Map(
    [...page.matchAll(/```yaml\n# (\S+)\n(.*?)```/gs)].map(([, file = '', content = '']) => [file, content]),
  );

  it('hold for ephd', () => {
    expect(readFile(examples.get('ephd.yaml') ?? '').access.rules).toHaveLength(4);
  });

  it('hold for the configuration repository', () => {
    const content = new TextEncoder().encode(examples.get('dev/access.yaml'));
    expect(parseAccessFile(content, 'dev/access.yaml')).toMatchObject({ ok: true, value: { rules: { length: 1 } } });
  });
});
