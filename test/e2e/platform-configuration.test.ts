import { readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { configViewSchema, type EnvironmentView } from '@eph/contract';
import { describe, expect, it } from 'vitest';
import { eventually } from './eventually.ts';
import { clusterFile, greeting, projectFile } from './platform-files.ts';
import type { RunningEphd } from './running-ephd.ts';
import { app, oneService, run, spec } from './sample-app.ts';
import { type Files, SampleRepository } from './sample-repository.ts';
import { Site } from './site.ts';

/** Two projects, `shop` and `news`, and the repository that configures both. */
class Town implements AsyncDisposable {
  readonly site: Site;
  readonly news: SampleRepository;
  readonly platform: SampleRepository;

  private constructor(site: Site, news: SampleRepository, platform: SampleRepository) {
    this.site = site;
    this.news = news;
    this.platform = platform;
  }

  static async create(): Promise<Town> {
    const site = await Site.create();
    const news = await SampleRepository.create(site.folder, 'news');
    return new Town(site, news, await SampleRepository.create(site.folder, 'platform'));
  }

  async start(
    more: Readonly<Record<string, unknown>> = {},
    project: Readonly<Record<string, unknown>> = {},
  ): Promise<RunningEphd> {
    const config = join(this.site.folder, 'ephd.yaml');
    const projects = [
      { name: 'shop', location: 'shop.git', ...project },
      { name: 'news', location: 'news.git' },
    ];
    const configuration = { repository: 'platform.git', environment: 'test' };
    await writeFile(config, JSON.stringify({ projects, configuration, ...more }));
    return this.site.start({ projects: [], args: ['--config', config] });
  }

  configure(...files: Files[]): Promise<string> {
    return this.platform.push('main', Object.assign({}, ...files) as Files);
  }

  async greetingAt(name: string): Promise<string | undefined> {
    const { status, body } = await this.site.visit(name);
    return status === 200 ? (JSON.parse(body) as { greeting?: string }).greeting : undefined;
  }

  untilGreets(name: string, greetingText: string): Promise<boolean> {
    return eventually(`${name} says ${greetingText}`, async () => (await this.greetingAt(name)) === greetingText);
  }

  condition(environment: EnvironmentView, type: string): EnvironmentView['conditions'][number] | undefined {
    return environment.conditions.find((one) => one.type === type);
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.site[Symbol.asyncDispose]();
  }
}

const newsApp: Files = { ...app(), 'eph.yaml': spec(oneService, { name: 'news' }) };

describe('the configuration repository', () => {
  it('gives every layer its say, and a change updates exactly what it concerns', async () => {
    await using town = await Town.create();
    const { site } = town;
    await town.configure(clusterFile(greeting('from the platform')));
    await town.start();
    const shop = await site.untilReady('preview/shop', await site.repository.push('preview/shop', app()));
    const news = await site.untilReady('preview/news', await town.news.push('preview/news', newsApp));
    expect([await town.greetingAt(shop.name), await town.greetingAt(news.name)]).toEqual([
      'from the platform',
      'from the platform',
    ]);

    const before = site.services().find((one) => one.environment === news.id);
    await town.configure(
      clusterFile(greeting('from the platform')),
      projectFile('shop', { web: { env: { GREETING: 'from the operator' } } }),
    );
    await town.untilGreets(shop.name, 'from the operator');
    expect(site.services().find((one) => one.environment === news.id)).toEqual(before);

    await town.configure(clusterFile(greeting('from the new platform')));
    await town.untilGreets(shop.name, 'from the new platform');
    await town.untilGreets(news.name, 'from the new platform');
  });

  it('lets the developer win over the platform and the operator win over the developer', async () => {
    await using town = await Town.create();
    const { site } = town;
    const web = { command: run('answer.mjs'), env: { GREETING: 'from the developer' } };
    await town.configure(clusterFile(greeting('from the platform')));
    await town.start();
    const commit = await site.repository.push('preview/a', app({ web }));
    const { name, id } = await site.untilReady('preview/a', commit);
    expect(await town.greetingAt(name)).toBe('from the developer');

    const platform = await town.configure(
      clusterFile(greeting('from the platform')),
      projectFile('shop', { web: { env: { GREETING: 'from the operator' } } }),
    );
    await town.untilGreets(name, 'from the operator');
    const config = await site.read(`/api/v1/environments/${id}/config`, configViewSchema);
    expect(config.configuration).toEqual({ state: 'current', commit: platform, fault: null });
    const value = config.components[0]?.values.find((one) => one.path.join('.') === 'env.GREETING');
    expect(value).toMatchObject({
      value: 'from the operator',
      origin: { layer: 'override', file: 'test/apps/shop/shop/env.yaml', line: 16, commit: platform },
      below: [
        { value: 'from the developer', origin: { layer: 'developer', file: 'eph.yaml', line: 1, commit } },
        { value: 'from the platform', origin: { layer: 'cluster', file: 'test/env.yaml', commit: platform } },
      ],
    });
  });

  it('that is broken changes nothing: the last good reading stays in force, and the fault names file and line', async () => {
    await using town = await Town.create();
    const { site } = town;
    await town.configure(clusterFile(greeting('good')));
    await town.start();
    const { name } = await site.untilReady('preview/a', await site.repository.push('preview/a', app()));
    const before = site.services();

    await town.platform.push('main', { 'test/env.yaml': 'apiVersion: x\nkind: [\n' });
    const marked = await site.until('preview/a', 'marked', (one) => town.condition(one, 'ConfigurationStale') !== undefined);
    expect(town.condition(marked, 'ConfigurationStale')).toMatchObject({ status: 'True', reason: 'ConfigInvalid' });
    expect(town.condition(marked, 'ConfigurationStale')?.message).toMatch(/test\/env\.yaml:\d+:\d+: /);
    expect(marked.phase).toBe('Ready');
    expect(site.services()).toEqual(before);

    // A new commit goes on with what was good.
    await site.untilReady('preview/a', await site.repository.push('preview/a', app()));
    expect(await town.greetingAt(name)).toBe('good');

    await town.configure(clusterFile(greeting('better')));
    await town.untilGreets(name, 'better');
    await site.until('preview/a', 'no longer marked', (one) => town.condition(one, 'ConfigurationStale') === undefined);
  });

  it('that is broken when ephd starts leaves what runs as it is, and nothing new is made', async () => {
    await using town = await Town.create();
    const { site } = town;
    await town.configure(clusterFile(greeting('good')));
    const ephd = await town.start();
    await site.untilReady('preview/a', await site.repository.push('preview/a', app()));
    await ephd.stop();
    const before = site.services();

    await town.platform.push('main', { 'test/env.yaml': 'data: [' });
    await town.start();
    const stalled = await site.until('preview/a', 'stalled', (one) => town.condition(one, 'Stalled')?.status === 'True');
    expect(stalled.summary).toMatch(/test\/env\.yaml:\d+:\d+: /);
    await site.repository.push('preview/b', app());
    await site.until('preview/b', 'stalled', (one) => one.phase === 'Failed' && one.components.length === 0);
    expect(site.services()).toEqual(before);

    await town.configure(clusterFile(greeting('good again')));
    await site.until('preview/b', 'ready', (one) => one.phase === 'Ready');
    await site.until('preview/a', 'ready', (one) => one.phase === 'Ready');
  });

  it('without a file for the cluster is a stall that says what to add', async () => {
    await using town = await Town.create();
    const { site } = town;
    await town.platform.push('main', { 'README.md': 'nothing here' });
    await town.start();
    await site.repository.push('preview/a', app());
    const stalled = await site.until('preview/a', 'stalled', (one) => one.phase === 'Failed');
    expect(stalled.summary).toContain('test/env.yaml');
    expect(town.condition(stalled, 'Stalled')).toMatchObject({ status: 'True', reason: 'ConfigMissing' });
    expect(site.services()).toEqual([]);
  });

  it('that cannot be reached keeps the last good reading', async () => {
    await using town = await Town.create();
    const { site } = town;
    await town.configure(clusterFile(greeting('good')));
    await town.start();
    const { name } = await site.untilReady('preview/a', await site.repository.push('preview/a', app()));
    await town.platform.hide();
    await site.api('/hooks/git', { method: 'POST' });
    await site.untilReady('preview/a', await site.repository.push('preview/a', app()));
    expect(await town.greetingAt(name)).toBe('good');
    await town.platform.unhide();
    await town.configure(clusterFile(greeting('back')));
    await town.untilGreets(name, 'back');
  });

  it('with one bad file holds up no other project', async () => {
    await using town = await Town.create();
    const { site } = town;
    await town.configure(clusterFile(greeting('one')));
    await town.start();
    const shop = await site.untilReady('preview/shop', await site.repository.push('preview/shop', app()));
    const news = await site.untilReady('preview/news', await town.news.push('preview/news', newsApp));
    await town.configure(clusterFile(greeting('two')), { 'test/apps/shop/shop/env.yaml': 'kind: nonsense\n' });
    await town.untilGreets(news.name, 'two');
    const marked = await site.until('preview/shop', 'marked', (one) => town.condition(one, 'ConfigurationStale') !== undefined);
    expect(town.condition(marked, 'ConfigurationStale')?.message).toContain('test/apps/shop/shop/env.yaml:1:1');
    await town.untilGreets(shop.name, 'two');
  });
});

describe('variables of the server', () => {
  it('reach the service that names them, and a secret reaches nobody else', async () => {
    await using town = await Town.create();
    const { site } = town;
    const secret = 'sesame-open-4711';
    await town.configure(clusterFile());
    const ephd = await town.start({}, { variables: { AUTH: 'https://auth.test', TOKEN: { value: secret, secret: true } } });
    const web = { command: run('answer.mjs'), env: { GREETING: '${AUTH}/${REALM:-guests}', PASS: 'Bearer ${TOKEN}' } };
    const { name, id } = await site.untilReady('preview/a', await site.repository.push('preview/a', app({ web })));
    expect(await town.greetingAt(name)).toBe('https://auth.test/guests');
    expect(site.services()[0]?.variables['PASS']).toBe(`Bearer ${secret}`);

    const config = await site.api(`/api/v1/environments/${id}/config`);
    expect(config.status).toBe(200);
    const told = [config.body, (await site.api('/api/v1/environments')).body, (await site.api('/api/v1/events')).body];
    expect(told.join('\n')).not.toContain(secret);
    expect(JSON.stringify(ephd.lines)).not.toContain(secret);
    expect(await readEverything(site.dataFolder)).not.toContain(secret);
  });

  it('are only those that the operator gave', async () => {
    await using town = await Town.create();
    const { site } = town;
    await town.configure(clusterFile());
    await town.start({}, { variables: { AUTH: 'x' } });
    await site.repository.push('preview/a', app({ web: { command: run('answer.mjs'), env: { GREETING: '${HOME}' } } }));
    const stalled = await site.until('preview/a', 'stalled', (one) => one.phase === 'Failed');
    expect(stalled.summary).toContain('${HOME}');
    expect(stalled.summary).toContain('AUTH');
  });
});

describe('policy', () => {
  it('holds back what would be one environment too many until there is room', async () => {
    await using town = await Town.create();
    const { site } = town;
    await town.configure(clusterFile());
    await town.start({ policy: { environments: { per_project: 1 } } });
    await site.untilReady('preview/a', await site.repository.push('preview/a', app()));
    const commit = await site.repository.push('preview/b', app());
    const waiting = await site.until('preview/b', 'waits', (one) => one.summary.includes('per_project'));
    expect(waiting.summary).toContain('ephd.yaml');
    expect(waiting.components).toEqual([]);
    await site.repository.delete('preview/a');
    await site.untilReady('preview/b', commit);
  });

  it('of the cluster binds every project, and names who set it', async () => {
    await using town = await Town.create();
    const { site } = town;
    await town.configure(clusterFile({ policy: { resources: { per_component: { cpu: '2' } } } }));
    await town.start();
    await site.repository.push('preview/a', app({ web: { command: run('answer.mjs'), resources: { limits: { cpu: '3' } } } }));
    const stalled = await site.until('preview/a', 'stalled', (one) => one.phase === 'Failed');
    expect(stalled.summary).toMatch(/3.*2.*test\/env\.yaml:\d+/s);
  });
});

describe('what this version does not do yet', () => {
  it('is shown beside an environment that works without it', async () => {
    await using town = await Town.create();
    const { site } = town;
    await town.configure(clusterFile());
    await town.start();
    const commit = await site.repository.push('preview/a', {
      ...app(),
      'eph.yaml': spec(oneService, { environment: { idle_timeout: '4h' }, advanced: { regions: ['eu-west-1'] } }),
    });
    const ready = await site.untilReady('preview/a', commit);
    expect(town.condition(ready, 'Unsupported')).toMatchObject({ status: 'True', reason: 'NotAvailableYet' });
    expect(town.condition(ready, 'Unsupported')?.message).toMatch(/environment\.idle_timeout.*advanced\.regions/s);
  });

  it('and was to protect the environment keeps it from being started', async () => {
    await using town = await Town.create();
    const { site } = town;
    await town.configure(clusterFile());
    await town.start();
    await site.repository.push('preview/a', {
      ...app(),
      'eph.yaml': spec(oneService, { security: { environment_access: { default: 'protected' } } }),
    });
    const stalled = await site.until('preview/a', 'stalled', (one) => one.phase === 'Failed');
    expect(town.condition(stalled, 'Stalled')).toMatchObject({ status: 'True', reason: 'FeatureUnavailable' });
    expect(site.services()).toEqual([]);
  });
});

describe('references across environments', () => {
  it('reach outputs of another environment and of the platform, and follow them', async () => {
    await using town = await Town.create();
    const { site } = town;
    await town.configure(clusterFile({ platform: { outputs: { keycloak: { issuerUrl: 'https://login.test' } } } }));
    await town.start();
    const env = { API: 'news-preview-news::outputs/web/url', GREETING: 'outputs/keycloak/issuerUrl' };
    const commit = await site.repository.push('preview/a', app({ web: { command: run('answer.mjs'), env } }));
    const waiting = await site.until('preview/a', 'waits', (one) => one.summary.includes('news-preview-news'));
    expect(waiting.phase).not.toBe('Failed');
    const newsCommit = await town.news.push('preview/news', newsApp);
    await site.untilReady('preview/news', newsCommit);
    const { name } = await site.untilReady('preview/a', commit);
    const answer = JSON.parse((await site.visit(name, { path: '/forwarded' })).body) as { greeting: string; api: unknown };
    expect(answer).toMatchObject({ greeting: 'https://login.test', api: { commit: newsCommit } });

    const newer = await town.news.push('preview/news', newsApp);
    await site.untilReady('preview/news', newer);
    await eventually('the new address is used', async () => {
      const { body, status } = await site.visit(name, { path: '/forwarded' });
      return status === 200 && (JSON.parse(body) as { api: { commit: string } }).api.commit === newer;
    });
  });
});

/** Every byte that ephd keeps, except what Git brought. */
const readEverything = async (folder: string): Promise<string> => {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  const files = entries.filter((entry) => entry.isFile());
  return (await Promise.all(files.map((file) => readFile(join(file.parentPath, file.name), 'latin1')))).join('\n');
};
