import {
  type CommitSha,
  type ConfigurationView,
  EphError,
  environmentConfigLimitBytes,
  type Failure,
  failure,
  projectId,
  type SourceRef,
} from '@eph/contract';
import { describe, expect, it } from 'vitest';
import { Configuration } from './configuration.ts';
import { FakeForge, FakeRepository } from './forge.fake.ts';
import { ConfigurationReader, type ProjectKey } from './read-configuration.ts';

const main: SourceRef = { kind: 'branch', name: 'main' };
const { signal } = new AbortController();

const document = (labels: string, data: string): string =>
  `apiVersion: apiextensions.crossplane.io/v1beta1\nkind: EnvironmentConfig\nmetadata: { name: x, labels: { ${labels} } }\ndata: ${data}\n`;

const cluster = (data: string): string => document('eph.io/type: cluster', data);

const overrides = (data: string, project = 'shop'): string =>
  document(`eph.io/type: project, eph.io/repository: acme, eph.io/project: ${project}`, `{ overrides: ${data} }`);

const shop: ProjectKey = { repository: 'acme', project: 'shop' };
const blog: ProjectKey = { repository: 'acme', project: 'blog' };
const shopFile = 'dev/apps/acme/shop/env.yaml';
const blogFile = 'dev/apps/acme/blog/env.yaml';
const rulesFile = 'dev/access.yaml';

const plain = { 'dev/env.yaml': cluster('{ defaults: { Deployment: { replicas: 3 } } }') };

/** A configuration repository, what is made of it, and a list of what was asked of the repository. */
class Desk {
  readonly repository = new FakeRepository(projectId('configuration'));
  readonly asked: string[] = [];
  /** Thrown instead of an answer, for the head or for a path. */
  readonly trouble = new Map<string, Error>();
  readonly configuration: Configuration;
  readonly reader: ConfigurationReader;
  onRead: (path: string) => unknown = () => {};
  readonly #forge: FakeForge;

  constructor(files: { readonly [path: string]: string } | undefined = plain, projects: readonly ProjectKey[] = [shop, blog]) {
    if (files !== undefined) this.push(files);
    const ask = (what: string): Promise<void> => {
      this.asked.push(what);
      this.onRead(what);
      const trouble = this.trouble.get(what);
      return trouble === undefined ? Promise.resolve() : Promise.reject(trouble);
    };
    this.#forge = new (class extends FakeForge {
      override async readFile(commit: CommitSha, path: string, limitBytes: number): Promise<Uint8Array | undefined> {
        await ask(path);
        return await super.readFile(commit, path, limitBytes);
      }
    })(projectId('configuration'), this.repository, {
      disturb: (operation) => (operation === 'source' ? ask('head') : Promise.resolve()),
    });
    this.reader = new ConfigurationReader({ forge: this.#forge, name: '/srv/platform.git', branch: 'main', environment: 'dev' });
    this.reader.setProjects(projects);
    this.configuration = new Configuration({ documents: [], reader: this.reader });
  }

  push(files: { readonly [path: string]: string }): CommitSha {
    return this.repository.push(main, files);
  }

  /** What a project is told after a fresh look. */
  async look({ repository, project }: ProjectKey = shop): Promise<ConfigurationView> {
    await this.configuration.refresh(signal);
    return this.configuration.layersFor(repository, project);
  }

  view({ repository, project }: ProjectKey = shop): ConfigurationView {
    return this.configuration.layersFor(repository, project);
  }
}

const messages = (view: { readonly faults: readonly Failure[] }): readonly string[] => view.faults.map((fault) => fault.message);

const defaultsIn = (view: ConfigurationView, kind = 'Deployment'): readonly unknown[] =>
  'layers' in view ? view.layers.defaultsOf(kind).map((layer) => layer.values) : ['nothing is said'];

const overridesIn = (view: ConfigurationView, component = 'web'): readonly unknown[] =>
  'layers' in view ? view.layers.overridesOf(component).map((layer) => layer.values) : ['nothing is said'];

describe('the configuration repository', () => {
  it('speaks to everybody and to one project', async () => {
    const desk = new Desk({ ...plain, [shopFile]: overrides('{ web: { replicas: 10 } }') });
    const commit = desk.repository.refs.get('branch:main')?.commit;
    const view = await desk.look();
    expect(view).toMatchObject({ state: 'current', commit, faults: [] });
    expect(defaultsIn(view)).toEqual([{ replicas: 3 }]);
    expect(overridesIn(view)).toEqual([{ replicas: 10 }]);
    expect(overridesIn(view, 'api')).toEqual([]);
    expect(defaultsIn(desk.view(blog))).toEqual([{ replicas: 3 }]);
    expect(overridesIn(desk.view(blog))).toEqual([]);
  });

  it('says where each value stands', async () => {
    const desk = new Desk({ ...plain, [shopFile]: overrides('\n  { web: { replicas: 10 } }') });
    const view = await desk.look();
    if (!('layers' in view)) throw new Error('nothing is said');
    const [layer] = view.layers.defaultsOf('Deployment');
    expect(layer?.source).toMatchObject({ layer: 'cluster', file: 'dev/env.yaml', commit: view.commit });
    expect(layer?.source.place(['replicas'])).toEqual({ path: 'data.defaults.Deployment.replicas', line: 4, column: 35 });
    expect(layer?.source.place(['colour'])).toBeUndefined();
    const [override] = view.layers.overridesOf('web');
    expect(override?.source).toMatchObject({ layer: 'override', file: shopFile, commit: view.commit });
    expect(override?.source.place(['replicas'])?.path).toBe('data.overrides.web.replicas');
  });

  it('says more than values', async () => {
    const desk = new Desk({
      'dev/env.yaml': cluster(
        '{ environment: { name: dev, domain: dev.example.org }, platform: { registry: r.example.org, outputs: { id: { url: u } } }, policy: { replicas: 4 } }',
      ),
    });
    const view = await desk.look();
    expect(view).toMatchObject({
      environment: { name: 'dev', domain: 'dev.example.org' },
      platform: { registry: 'r.example.org' },
      layers: { platform: { outputs: { id: { url: 'u' } } } },
      policies: [{ setBy: 'dev/env.yaml', commit: view.commit }],
    });
    if (!('policies' in view)) throw new Error('nothing is said');
    expect(view.policies[0]?.placeOf(['replicas'])).toMatchObject({ line: 4 });
  });

  it('is asked only for files of projects that are configured', async () => {
    const strangers = Object.fromEntries(
      Array.from({ length: 500 }, (_, index) => [`dev/apps/acme/p${index}/env.yaml`, 'not: even: yaml']),
    );
    const desk = new Desk({ ...plain, ...strangers });
    expect(await desk.look()).toMatchObject({ state: 'current' });
    expect(desk.asked.toSorted()).toEqual([rulesFile, blogFile, shopFile, 'dev/env.yaml', 'head']);
  });

  it.each(['..', '.', 'a/b', '', '-', 'a\\b', '~', 'a b'])('has no folder called %j', (name) => {
    expect(() => new Desk(plain, [{ repository: name, project: 'shop' }])).toThrow('cannot name a folder');
    expect(() => new Desk(plain, [{ repository: 'acme', project: name }])).toThrow('cannot name a folder');
  });

  it('knows no project that it was not told of', () => {
    expect(() => new Desk().view({ repository: 'acme', project: 'other' })).toThrow('acme/other is not configured');
  });

  it('says when something may have changed', () => {
    const repository = new FakeRepository(projectId('configuration'));
    const forge = new FakeForge(projectId('configuration'), repository);
    const reader = new ConfigurationReader({ forge, name: 'x', branch: 'main', environment: 'dev' });
    let woken = 0;
    new Configuration({ documents: [], reader }).watch(() => (woken += 1), signal);
    forge.nudge();
    expect(woken).toBe(1);
  });
});

describe('a project that joins later', () => {
  it('has its file read by the next reading, and no other file is read again', async () => {
    const desk = new Desk({ ...plain, [shopFile]: overrides('{ web: { replicas: 10 } }') }, [blog]);
    const before = await desk.look(blog);
    desk.asked.length = 0;
    desk.reader.setProjects([blog, shop]);
    expect(desk.view(shop)).toMatchObject({ state: 'unreadable', faults: [] });
    expect(desk.configuration.state.state).toBe('current');
    expect(overridesIn(await desk.look(shop))).toEqual([{ replicas: 10 }]);
    expect(desk.asked).toEqual(['head', shopFile]);
    expect(desk.view(blog)).toMatchObject({ state: 'current', mark: before.mark });
  });

  it('and leaves takes its faults along', async () => {
    const desk = new Desk({ ...plain, [shopFile]: 'no: [' });
    await desk.look();
    expect(desk.configuration.state.state).toBe('last-good');
    desk.reader.setProjects([blog]);
    expect(desk.configuration.state).toMatchObject({ state: 'current', faults: [] });
  });
});

describe('rules of access', () => {
  const viewers = 'rules:\n  - { who: { group: team }, role: viewer }\n';
  const listIn = ({ reader: { rules } }: Desk) => (rules.state === 'read' ? rules.document : undefined);

  it('are not known before the first reading', () => {
    expect(new Desk().reader.rules).toEqual({ state: 'unread', faults: [] });
  });

  it('are none where there is no file', async () => {
    const desk = new Desk();
    await desk.look();
    expect(desk.reader.rules).toEqual({ state: 'read', document: undefined, faults: [] });
  });

  it('come with their file and line', async () => {
    const desk = new Desk({ ...plain, [rulesFile]: viewers });
    await desk.look();
    expect(desk.reader.rules).toMatchObject({
      document: [{ who: [{ group: 'team' }], role: 'viewer', place: 'dev/access.yaml:2' }],
    });
  });

  it('stay the same list while they are equal, and change no environment', async () => {
    const desk = new Desk({ ...plain, [rulesFile]: viewers });
    const view = await desk.look();
    const before = listIn(desk);
    desk.push({ ...plain, [rulesFile]: `${viewers}# more\n` });
    expect((await desk.look()).mark).toBe(view.mark);
    expect(listIn(desk)).toBe(before);
    desk.push({ ...plain, [rulesFile]: viewers.replace('viewer', 'operator') });
    expect((await desk.look()).mark).toBe(view.mark);
    expect(desk.reader.rules).toMatchObject({ document: [{ role: 'operator' }] });
  });

  it('stay in force while the file is at fault, which concerns no environment', async () => {
    const desk = new Desk({ ...plain, [rulesFile]: viewers });
    await desk.look();
    desk.push({ ...plain, [rulesFile]: viewers.replace('viewer', 'admin') });
    expect(await desk.look()).toMatchObject({ state: 'current', faults: [] });
    const fault = 'dev/access.yaml:2:29: rules.0.role: admin is given only by access.rules in the file of ephd';
    expect(desk.reader.rules).toMatchObject({
      document: [{ role: 'viewer' }],
      faults: [{ code: 'config.invalid', message: fault }],
    });
    expect(desk.configuration.state).toMatchObject({ state: 'last-good', faults: [{ message: fault }] });
  });

  it('are not known where the file is at fault right after the start', async () => {
    const desk = new Desk({ ...plain, [rulesFile]: 'rules: [' });
    expect(await desk.look()).toMatchObject({ state: 'current' });
    expect(desk.reader.rules).toMatchObject({ state: 'unread', faults: [{ code: 'config.invalid' }] });
  });

  it('end with their file', async () => {
    const desk = new Desk({ ...plain, [rulesFile]: viewers });
    await desk.look();
    desk.push(plain);
    await desk.look();
    expect(desk.reader.rules).toEqual({ state: 'read', document: undefined, faults: [] });
  });
});

describe('while nothing moves', () => {
  it('no file is read twice, and the same object is handed out', async () => {
    const desk = new Desk();
    const view = await desk.look();
    desk.asked.length = 0;
    expect(await desk.look()).toBe(view);
    expect(desk.view()).toBe(view);
    expect(desk.asked).toEqual(['head']);
  });

  it('what is missing or bad is not read again either', async () => {
    const desk = new Desk({ ...plain, [shopFile]: 'bad' });
    await desk.look();
    desk.asked.length = 0;
    await desk.look();
    expect(desk.asked).toEqual(['head']);
  });

  it('readers that ask at the same time get the same answer', async () => {
    const desk = new Desk();
    const [one, two] = await Promise.all([desk.look(), desk.look()]);
    expect(one).toBe(two);
    expect(desk.asked.filter((what) => what === 'dev/env.yaml')).toHaveLength(1);
  });
});

describe('a new commit', () => {
  it('is in force at once', async () => {
    const desk = new Desk();
    await desk.look();
    desk.push({
      'dev/env.yaml': cluster('{ defaults: { Deployment: { replicas: 5 } } }'),
      [shopFile]: overrides('{ web: { a: 1 } }'),
    });
    const view = await desk.look();
    expect(defaultsIn(view)).toEqual([{ replicas: 5 }]);
    expect(overridesIn(view)).toEqual([{ a: 1 }]);
  });

  it('that takes a file of a project away takes its overrides away', async () => {
    const desk = new Desk({ ...plain, [shopFile]: overrides('{ web: { a: 1 } }') });
    await desk.look();
    desk.push(plain);
    const view = await desk.look();
    expect(view.state).toBe('current');
    expect(overridesIn(view)).toEqual([]);
  });

  it('leaves what it does not change the same object, at its new place', async () => {
    const kinds = '{ defaults: { Deployment: { replicas: 3 }, Network: { tlsEnabled: true } } }';
    const desk = new Desk({ 'dev/env.yaml': cluster(kinds), [shopFile]: overrides('{ web: { a: { b: 1 } }, api: { c: 2 } }') });
    const before = await desk.look();
    const commit = desk.push({
      'dev/env.yaml': `# moved down\n${cluster(kinds.replace('true', 'false'))}`,
      [shopFile]: overrides('{ api: { c: 3 }, web: { a: { b: 1 } } }'),
    });
    const after = await desk.look();
    expect(defaultsIn(after)[0]).toBe(defaultsIn(before)[0]);
    expect(defaultsIn(after, 'Network')).toEqual([{ tlsEnabled: false }]);
    expect(overridesIn(after)[0]).toBe(overridesIn(before)[0]);
    expect(overridesIn(after, 'api')).toEqual([{ c: 3 }]);
    const source = 'layers' in after ? after.layers.defaultsOf('Deployment')[0]?.source : undefined;
    expect(source?.commit).toBe(commit);
    expect(source?.place(['replicas'])).toMatchObject({ line: 5 });
  });

  it('changes the mark of those it concerns, and of nobody else', async () => {
    const desk = new Desk();
    const marks = [(await desk.look(shop)).mark, desk.view(blog).mark];
    const marksNow = (): readonly string[] => [desk.view(shop).mark, desk.view(blog).mark];

    desk.push({ ...plain, 'README.md': 'hello' });
    await desk.look();
    expect(marksNow()).toEqual(marks);

    desk.push({ 'dev/env.yaml': `# a remark\n${plain['dev/env.yaml']}` });
    await desk.look();
    expect(marksNow()).toEqual(marks);

    desk.push({ ...plain, [shopFile]: overrides('{ web: { a: 1 } }') });
    await desk.look();
    expect(marksNow()[0]).not.toBe(marks[0]);
    expect(marksNow()[1]).toBe(marks[1]);

    const [shopMark] = marksNow();
    desk.push({ 'dev/env.yaml': cluster('{ environment: { name: dev } }'), [shopFile]: overrides('{ web: { a: 1 } }') });
    await desk.look();
    expect(marksNow()[0]).not.toBe(shopMark);
    expect(marksNow()[1]).not.toBe(marks[1]);
  });
});

describe('a bad file', () => {
  it('leaves the last good reading in force, and the fault names its line', async () => {
    const desk = new Desk();
    const before = await desk.look();
    desk.push({ 'dev/env.yaml': cluster('\n  defaults:\n    Deployment: { replicas: many }') });
    const view = await desk.look();
    expect(view.state).toBe('last-good');
    expect(view.faults).toEqual([
      failure('config.invalid', 'dev/env.yaml:6:19: data.defaults.Deployment.replicas: must be a whole number'),
    ]);
    expect(defaultsIn(view)[0]).toBe(defaultsIn(before)[0]);
    expect(view.mark).not.toBe(before.mark);
    expect(desk.view(blog).state).toBe('last-good');
    expect('layers' in view && view.layers.defaultsOf('Deployment')[0]?.source.commit).toBe(before.commit);
  });

  it('of one project concerns no other', async () => {
    const desk = new Desk({ ...plain, [shopFile]: overrides('{ web: { a: 1 } }') });
    await desk.look();
    const untouched = desk.view(blog);
    desk.push({ ...plain, [shopFile]: overrides('{ web: [1] }'), [blogFile]: overrides('{ web: { b: 2 } }', 'blog') });
    const view = await desk.look();
    expect(view.state).toBe('last-good');
    expect(messages(view)).toEqual(['dev/apps/acme/shop/env.yaml:4:22: data.overrides.web: must be a map of keys and values']);
    expect(overridesIn(view)).toEqual([{ a: 1 }]);
    expect(desk.view(blog)).toMatchObject({ state: 'current', faults: [] });
    expect(overridesIn(desk.view(blog))).toEqual([{ b: 2 }]);
    expect(untouched.state).toBe('current');
    expect(desk.configuration.state).toMatchObject({ state: 'last-good', faults: view.faults });
  });

  it('is mended by the next commit', async () => {
    const desk = new Desk();
    const before = await desk.look();
    desk.push({ 'dev/env.yaml': 'bad' });
    await desk.look();
    desk.push(plain);
    const view = await desk.look();
    expect(view).toMatchObject({ state: 'current', faults: [] });
    expect(defaultsIn(view)[0]).toBe(defaultsIn(before)[0]);
  });

  it('right after the start lets nobody know how anything should be', async () => {
    const desk = new Desk({ 'dev/env.yaml': 'bad' });
    const view = await desk.look();
    expect(view).toMatchObject({ state: 'unreadable', faults: [{ code: 'config.invalid', disposition: 'stall' }] });
    expect(view).not.toHaveProperty('layers');
  });

  it('of one project right after the start leaves the others alone', async () => {
    const desk = new Desk({ ...plain, [shopFile]: 'bad' });
    expect(await desk.look()).toMatchObject({ state: 'unreadable' });
    expect(desk.view(blog)).toMatchObject({ state: 'current' });
    expect(desk.configuration.state).toMatchObject({ state: 'last-good', faults: [{ code: 'config.invalid' }] });
  });

  it.each<readonly [string, string]>([
    ['speaks of another project', overrides('{}', 'blog')],
    ['speaks of the cluster', plain['dev/env.yaml']],
    ['is no YAML', 'a: b: c'],
    ['is too large', `# ${'x'.repeat(environmentConfigLimitBytes)}`],
    ['holds names with a meaning', overrides('{ __proto__: { a: 1 } }')],
  ])('is one that %s', async (_, text) => {
    const desk = new Desk({ ...plain, [shopFile]: overrides('{ web: { a: 1 } }') });
    await desk.look();
    desk.push({ ...plain, [shopFile]: text });
    const view = await desk.look();
    expect(view.state).toBe('last-good');
    expect(view.faults[0]?.code).toBe('config.invalid');
    expect(messages(view)[0]).toMatch(/^dev\/apps\/acme\/shop\/env\.yaml:\d+:\d+: /);
    expect(overridesIn(view)).toEqual([{ a: 1 }]);
  });

  it('is also what is no file at all', async () => {
    const desk = new Desk();
    desk.trouble.set(shopFile, new EphError('spec.invalid', 'it is a symbolic link'));
    expect(messages(await desk.look())).toEqual(['dev/apps/acme/shop/env.yaml:1:1: it is a symbolic link']);
    expect(desk.view(blog).state).toBe('current');
  });
});

describe('what is missing', () => {
  it('the file of the cluster: nobody makes up defaults', async () => {
    const desk = new Desk({ 'prod/env.yaml': plain['dev/env.yaml'] });
    const view = await desk.look();
    expect(view).toMatchObject({ state: 'missing', faults: [{ code: 'config.missing', disposition: 'stall' }] });
    expect(view).not.toHaveProperty('layers');
    expect(messages(view)[0]).toContain('/srv/platform.git has no dev/env.yaml at commit');
    expect(messages(view)[0]).toContain('configuration.environment');
  });

  it('the branch', async () => {
    const desk = new Desk(undefined);
    desk.repository.delete(main);
    const view = await desk.look();
    expect(view).toMatchObject({ state: 'missing', commit: null, faults: [{ code: 'config.missing' }] });
    expect(messages(view)[0]).toContain(
      '/srv/platform.git has no branch main; push it, or name another with configuration.branch',
    );
  });

  it('stalls also those who knew better before, until it is back', async () => {
    const desk = new Desk();
    const before = await desk.look();
    desk.repository.delete(main);
    expect(await desk.look()).toMatchObject({ state: 'missing' });
    desk.asked.length = 0;
    desk.repository.point(main, before.commit as CommitSha);
    const view = await desk.look();
    expect(view).toMatchObject({ state: 'current' });
    expect(defaultsIn(view)).toEqual([{ replicas: 3 }]);
    expect(desk.asked).toEqual(['head']);
    desk.push({});
    expect(await desk.look()).toMatchObject({ state: 'missing' });
    desk.push({ 'dev/env.yaml': 'bad' });
    expect(await desk.look()).toMatchObject({ state: 'unreadable' });
  });
});

describe('a repository that does not answer', () => {
  const away = new EphError('forge.unreachable', 'no answer');

  it('leaves the last good reading in force, and is marked', async () => {
    const desk = new Desk();
    const before = await desk.look();
    desk.trouble.set('head', away);
    const view = await desk.look();
    expect(view).toMatchObject({ state: 'last-good', commit: before.commit });
    expect(view.faults).toEqual([
      failure('config.unreadable', 'the configuration repository /srv/platform.git could not be read: no answer'),
    ]);
    expect(defaultsIn(view)[0]).toBe(defaultsIn(before)[0]);
    expect(await desk.look()).toBe(view);
    desk.trouble.clear();
    desk.asked.length = 0;
    expect(await desk.look()).toMatchObject({ state: 'current', faults: [] });
    expect(desk.asked).toEqual(['head']);
  });

  it('right after the start lets nobody know how anything should be', async () => {
    const desk = new Desk();
    expect(desk.view()).toMatchObject({ state: 'unreadable', faults: [{ code: 'config.unreadable', disposition: 'retry' }] });
    desk.trouble.set('head', away);
    expect(await desk.look()).toMatchObject({ state: 'unreadable', commit: null, faults: [{ code: 'config.unreadable' }] });
    desk.trouble.clear();
    expect(await desk.look()).toMatchObject({ state: 'current' });
  });

  it('in the middle of a look is asked again for what is not known yet, and for nothing else', async () => {
    const desk = new Desk();
    await desk.look();
    desk.push({ ...plain, [shopFile]: overrides('{ web: { a: 1 } }'), [blogFile]: overrides('{ web: { b: 1 } }', 'blog') });
    desk.trouble.set(shopFile, away);
    expect(await desk.look()).toMatchObject({ state: 'last-good', faults: [{ code: 'config.unreadable' }] });
    expect(overridesIn(desk.view(blog))).toEqual([{ b: 1 }]);
    desk.trouble.clear();
    desk.asked.length = 0;
    expect(overridesIn(await desk.look())).toEqual([{ a: 1 }]);
    expect(desk.asked).toEqual(['head', shopFile]);
  });

  it('in the middle of a look is forgiven once the file turns out to be what it was', async () => {
    const desk = new Desk({ ...plain, [shopFile]: overrides('{ web: { a: 1 } }') });
    const before = await desk.look();
    const commit = desk.push({ ...plain, [shopFile]: overrides('{ web: { a: 1 } }'), 'README.md': 'hello' });
    desk.trouble.set(shopFile, away);
    const marked = await desk.look();
    expect(marked.state).toBe('last-good');
    expect(await desk.look()).toBe(marked);
    desk.trouble.clear();
    const view = await desk.look();
    expect(view).toMatchObject({ state: 'current', commit, faults: [] });
    expect(overridesIn(view)[0]).toBe(overridesIn(before)[0]);
  });

  it('shows what nobody foresaw as the bug it is', async () => {
    const desk = new Desk();
    desk.trouble.set('dev/env.yaml', new Error('out of memory'));
    expect(await desk.look()).toMatchObject({ state: 'unreadable', faults: [{ code: 'internal', disposition: 'bug' }] });
  });

  it('is not blamed for a look that was called off', async () => {
    const desk = new Desk();
    const view = await desk.look();
    desk.trouble.set('head', away);
    const calledOff = new AbortController();
    calledOff.abort();
    await desk.configuration.refresh(calledOff.signal);
    expect(desk.view()).toBe(view);
  });

  it('takes over all files of a commit or none', async () => {
    const desk = new Desk();
    const view = await desk.look();
    desk.push({
      'dev/env.yaml': cluster('{ defaults: { Deployment: { replicas: 9 } } }'),
      [shopFile]: overrides('{ web: { a: 1 } }'),
    });
    const calledOff = new AbortController();
    desk.onRead = (path) => path === shopFile && calledOff.abort();
    await desk.configuration.refresh(calledOff.signal);
    expect(desk.view()).toBe(view);
    const next = await desk.look();
    expect([defaultsIn(next), overridesIn(next)]).toEqual([[{ replicas: 9 }], [{ a: 1 }]]);
  });
});
