import { readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { configViewSchema, type EnvironmentView } from '@eph/contract';
import { describe, expect, it } from 'vitest';
import { EphdHarness } from './ephd-harness.ts';
import { eventually } from './eventually.ts';
import { clusterFile, greeting, projectFile } from './platform-files.ts';
import type { RunningEphd } from './running-ephd.ts';
import { app, oneService, run, spec } from './sample-app.ts';
import { type Files, SampleRepository } from './sample-repository.ts';

/** Two projects, `shop` and `news`, and the repository that configures both. */
class PlatformHarness implements AsyncDisposable {
  readonly harness: EphdHarness;
  readonly news: SampleRepository;
  readonly platform: SampleRepository;

  private constructor(harness: EphdHarness, news: SampleRepository, platform: SampleRepository) {
    this.harness = harness;
    this.news = news;
    this.platform = platform;
  }

  static async create(): Promise<PlatformHarness> {
    const harness = await EphdHarness.create();
    const news = await SampleRepository.create(harness.folder, 'news');
    return new PlatformHarness(harness, news, await SampleRepository.create(harness.folder, 'platform'));
  }

  async start(
    more: Readonly<Record<string, unknown>> = {},
    project: Readonly<Record<string, unknown>> = {},
  ): Promise<RunningEphd> {
    const config = join(this.harness.folder, 'ephd.yaml');
    const projects = [
      { name: 'shop', trusted: true, location: 'shop.git', ...project },
      { name: 'news', trusted: true, location: 'news.git' },
    ];
    const configuration = { repository: 'platform.git', environment: 'test' };
    await writeFile(config, JSON.stringify({ projects, configuration, ...more }));
    return this.harness.start({ projects: [], args: ['--config', config] });
  }

  configure(...files: Files[]): Promise<string> {
    return this.platform.push('main', Object.assign({}, ...files) as Files);
  }

  async greetingAt(name: string): Promise<string | undefined> {
    const { status, body } = await this.harness.visit(name);
    return status === 200 ? (JSON.parse(body) as { greeting?: string }).greeting : undefined;
  }

  untilGreets(name: string, greetingText: string): Promise<boolean> {
    return eventually(`${name} says ${greetingText}`, async () => (await this.greetingAt(name)) === greetingText);
  }

  condition(environment: EnvironmentView, type: string): EnvironmentView['conditions'][number] | undefined {
    return environment.conditions.find((one) => one.type === type);
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.harness[Symbol.asyncDispose]();
  }
}

const newsApp: Files = { ...app(), 'eph.yaml': spec(oneService, { name: 'news' }) };

describe('the configuration repository', () => {
  it('applies every layer, and a change updates exactly the affected environments', async () => {
    await using setup = await PlatformHarness.create();
    const { harness } = setup;
    await setup.configure(clusterFile(greeting('from the platform')));
    await setup.start();
    const shop = await harness.untilReady('preview/shop', await harness.repository.push('preview/shop', app()));
    const news = await harness.untilReady('preview/news', await setup.news.push('preview/news', newsApp));
    expect([await setup.greetingAt(shop.name), await setup.greetingAt(news.name)]).toEqual([
      'from the platform',
      'from the platform',
    ]);

    const before = harness.services().find((one) => one.environment === news.id);
    await setup.configure(
      clusterFile(greeting('from the platform')),
      projectFile('shop', { web: { env: { GREETING: 'from the operator' } } }),
    );
    await setup.untilGreets(shop.name, 'from the operator');
    expect(harness.services().find((one) => one.environment === news.id)).toEqual(before);

    await setup.configure(clusterFile(greeting('from the new platform')));
    await setup.untilGreets(shop.name, 'from the new platform');
    await setup.untilGreets(news.name, 'from the new platform');
  });

  it('gives the developer precedence over the platform, and the operator precedence over the developer', async () => {
    await using setup = await PlatformHarness.create();
    const { harness } = setup;
    const web = { command: run('answer.mjs'), env: { GREETING: 'from the developer' } };
    await setup.configure(clusterFile(greeting('from the platform')));
    await setup.start();
    const commit = await harness.repository.push('preview/a', app({ web }));
    const { name, id } = await harness.untilReady('preview/a', commit);
    expect(await setup.greetingAt(name)).toBe('from the developer');

    const platform = await setup.configure(
      clusterFile(greeting('from the platform')),
      projectFile('shop', { web: { env: { GREETING: 'from the operator' } } }),
    );
    await setup.untilGreets(name, 'from the operator');
    const config = await harness.read(`/api/v1/environments/${id}/config`, configViewSchema);
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

  it('that is broken changes nothing: the last good reading stays in effect, and the fault names file and line', async () => {
    await using setup = await PlatformHarness.create();
    const { harness } = setup;
    await setup.configure(clusterFile(greeting('good')));
    await setup.start();
    const { name } = await harness.untilReady('preview/a', await harness.repository.push('preview/a', app()));
    const before = harness.services();

    await setup.platform.push('main', { 'test/env.yaml': 'apiVersion: x\nkind: [\n' });
    const marked = await harness.until('preview/a', 'marked', (one) => setup.condition(one, 'ConfigurationStale') !== undefined);
    expect(setup.condition(marked, 'ConfigurationStale')).toMatchObject({ status: 'True', reason: 'ConfigInvalid' });
    expect(setup.condition(marked, 'ConfigurationStale')?.message).toMatch(/test\/env\.yaml:\d+:\d+: /);
    expect(marked.phase).toBe('Ready');
    expect(harness.services()).toEqual(before);

    // A new commit is deployed with the last good configuration.
    await harness.untilReady('preview/a', await harness.repository.push('preview/a', app()));
    expect(await setup.greetingAt(name)).toBe('good');

    await setup.configure(clusterFile(greeting('better')));
    await setup.untilGreets(name, 'better');
    await harness.until('preview/a', 'no longer marked', (one) => setup.condition(one, 'ConfigurationStale') === undefined);
  });

  it('that is broken when ephd starts leaves running environments alone, and no new one is created', async () => {
    await using setup = await PlatformHarness.create();
    const { harness } = setup;
    await setup.configure(clusterFile(greeting('good')));
    const ephd = await setup.start();
    await harness.untilReady('preview/a', await harness.repository.push('preview/a', app()));
    await ephd.stop();
    const before = harness.services();

    await setup.platform.push('main', { 'test/env.yaml': 'data: [' });
    await setup.start();
    const stalled = await harness.until('preview/a', 'stalled', (one) => setup.condition(one, 'Stalled')?.status === 'True');
    expect(stalled.summary).toMatch(/test\/env\.yaml:\d+:\d+: /);
    await harness.repository.push('preview/b', app());
    await harness.until('preview/b', 'stalled', (one) => one.phase === 'Failed' && one.components.length === 0);
    expect(harness.services()).toEqual(before);

    await setup.configure(clusterFile(greeting('good again')));
    await harness.until('preview/b', 'ready', (one) => one.phase === 'Ready');
    await harness.until('preview/a', 'ready', (one) => one.phase === 'Ready');
  });

  it('without a file for the cluster stalls environments and says what to add', async () => {
    await using setup = await PlatformHarness.create();
    const { harness } = setup;
    await setup.platform.push('main', { 'README.md': 'nothing here' });
    await setup.start();
    await harness.repository.push('preview/a', app());
    const stalled = await harness.until('preview/a', 'stalled', (one) => one.phase === 'Failed');
    expect(stalled.summary).toContain('test/env.yaml');
    expect(setup.condition(stalled, 'Stalled')).toMatchObject({ status: 'True', reason: 'ConfigMissing' });
    expect(harness.services()).toEqual([]);
  });

  it('that cannot be reached keeps the last good reading', async () => {
    await using setup = await PlatformHarness.create();
    const { harness } = setup;
    await setup.configure(clusterFile(greeting('good')));
    await setup.start();
    const { name } = await harness.untilReady('preview/a', await harness.repository.push('preview/a', app()));
    await setup.platform.hide();
    await harness.api('/hooks/git', { method: 'POST' });
    await harness.untilReady('preview/a', await harness.repository.push('preview/a', app()));
    expect(await setup.greetingAt(name)).toBe('good');
    await setup.platform.unhide();
    await setup.configure(clusterFile(greeting('back')));
    await setup.untilGreets(name, 'back');
  });

  it('with one bad file affects no other project', async () => {
    await using setup = await PlatformHarness.create();
    const { harness } = setup;
    await setup.configure(clusterFile(greeting('one')));
    await setup.start();
    const shop = await harness.untilReady('preview/shop', await harness.repository.push('preview/shop', app()));
    const news = await harness.untilReady('preview/news', await setup.news.push('preview/news', newsApp));
    await setup.configure(clusterFile(greeting('two')), { 'test/apps/shop/shop/env.yaml': 'kind: nonsense\n' });
    await setup.untilGreets(news.name, 'two');
    const marked = await harness.until(
      'preview/shop',
      'marked',
      (one) => setup.condition(one, 'ConfigurationStale') !== undefined,
    );
    expect(setup.condition(marked, 'ConfigurationStale')?.message).toContain('test/apps/shop/shop/env.yaml:1:1');
    await setup.untilGreets(shop.name, 'two');
  });
});

describe('variables of the server', () => {
  it('reach the services that name them, and secrets appear nowhere else', async () => {
    await using setup = await PlatformHarness.create();
    const { harness } = setup;
    const secret = 'sesame-open-4711';
    await setup.configure(clusterFile());
    const ephd = await setup.start({}, { variables: { AUTH: 'https://auth.test', TOKEN: { value: secret, secret: true } } });
    const web = { command: run('answer.mjs'), env: { GREETING: '${AUTH}/${REALM:-guests}', PASS: 'Bearer ${TOKEN}' } };
    const { name, id } = await harness.untilReady('preview/a', await harness.repository.push('preview/a', app({ web })));
    expect(await setup.greetingAt(name)).toBe('https://auth.test/guests');
    expect(harness.services()[0]?.variables['PASS']).toBe(`Bearer ${secret}`);

    const config = await harness.api(`/api/v1/environments/${id}/config`);
    expect(config.status).toBe(200);
    const told = [config.body, (await harness.api('/api/v1/environments')).body, (await harness.api('/api/v1/events')).body];
    expect(told.join('\n')).not.toContain(secret);
    expect(JSON.stringify(ephd.lines)).not.toContain(secret);
    expect(await readEverything(harness.dataFolder)).not.toContain(secret);
  });

  it('are only those that the operator configured', async () => {
    await using setup = await PlatformHarness.create();
    const { harness } = setup;
    await setup.configure(clusterFile());
    await setup.start({}, { variables: { AUTH: 'x' } });
    await harness.repository.push('preview/a', app({ web: { command: run('answer.mjs'), env: { GREETING: '${HOME}' } } }));
    const stalled = await harness.until('preview/a', 'stalled', (one) => one.phase === 'Failed');
    expect(stalled.summary).toContain('${HOME}');
    expect(stalled.summary).toContain('AUTH');
  });
});

describe('policy', () => {
  it('holds back an environment over the limit until another is removed', async () => {
    await using setup = await PlatformHarness.create();
    const { harness } = setup;
    await setup.configure(clusterFile());
    await setup.start({ policy: { environments: { per_project: 1 } } });
    await harness.untilReady('preview/a', await harness.repository.push('preview/a', app()));
    const commit = await harness.repository.push('preview/b', app());
    const waiting = await harness.until('preview/b', 'waits', (one) => one.summary.includes('per_project'));
    expect(waiting.summary).toContain('ephd.yaml');
    expect(waiting.components).toEqual([]);
    await harness.repository.delete('preview/a');
    await harness.untilReady('preview/b', commit);
  });

  it('of the cluster applies to every project, and its source is shown', async () => {
    await using setup = await PlatformHarness.create();
    const { harness } = setup;
    await setup.configure(clusterFile({ policy: { resources: { per_component: { cpu: '2' } } } }));
    await setup.start();
    await harness.repository.push('preview/a', app({ web: { command: run('answer.mjs'), resources: { limits: { cpu: '3' } } } }));
    const stalled = await harness.until('preview/a', 'stalled', (one) => one.phase === 'Failed');
    expect(stalled.summary).toMatch(/3.*2.*test\/env\.yaml:\d+/s);
  });
});

describe('a setting that this version does not support', () => {
  it('is shown on the environment if it works without it', async () => {
    await using setup = await PlatformHarness.create();
    const { harness } = setup;
    await setup.configure(clusterFile());
    await setup.start();
    const commit = await harness.repository.push('preview/a', {
      ...app(),
      'eph.yaml': spec(oneService, { environment: { idle_timeout: '4h' }, advanced: { regions: ['eu-west-1'] } }),
    });
    const ready = await harness.untilReady('preview/a', commit);
    expect(setup.condition(ready, 'Unsupported')).toMatchObject({ status: 'True', reason: 'NotAvailableYet' });
    expect(setup.condition(ready, 'Unsupported')?.message).toMatch(/environment\.idle_timeout.*advanced\.regions/s);
  });

  it('prevents the start of the environment if it asks for protection', async () => {
    await using setup = await PlatformHarness.create();
    const { harness } = setup;
    await setup.configure(clusterFile());
    await setup.start();
    await harness.repository.push('preview/a', {
      ...app(),
      'eph.yaml': spec(oneService, { security: { environment_access: { default: 'protected' } } }),
    });
    const stalled = await harness.until('preview/a', 'stalled', (one) => one.phase === 'Failed');
    expect(setup.condition(stalled, 'Stalled')).toMatchObject({ status: 'True', reason: 'FeatureUnavailable' });
    expect(harness.services()).toEqual([]);
  });
});

describe('references across environments', () => {
  it('resolve to outputs of another environment and of the platform, and follow changes', async () => {
    await using setup = await PlatformHarness.create();
    const { harness } = setup;
    await setup.configure(clusterFile({ platform: { outputs: { keycloak: { issuerUrl: 'https://login.test' } } } }));
    await setup.start();
    const env = { API: 'news-preview-news::outputs/web/url', GREETING: 'outputs/keycloak/issuerUrl' };
    const commit = await harness.repository.push('preview/a', app({ web: { command: run('answer.mjs'), env } }));
    const waiting = await harness.until('preview/a', 'waits', (one) => one.summary.includes('news-preview-news'));
    expect(waiting.phase).not.toBe('Failed');
    const newsCommit = await setup.news.push('preview/news', newsApp);
    await harness.untilReady('preview/news', newsCommit);
    const { name } = await harness.untilReady('preview/a', commit);
    const answer = JSON.parse((await harness.visit(name, { path: '/forwarded' })).body) as { greeting: string; api: unknown };
    expect(answer).toMatchObject({ greeting: 'https://login.test', api: { commit: newsCommit } });

    const newer = await setup.news.push('preview/news', newsApp);
    await harness.untilReady('preview/news', newer);
    await eventually('the new address is used', async () => {
      const { body, status } = await harness.visit(name, { path: '/forwarded' });
      return status === 200 && (JSON.parse(body) as { api: { commit: string } }).api.commit === newer;
    });
  });
});

/** The contents of every file in the data folder, except the Git objects. */
const readEverything = async (folder: string): Promise<string> => {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  const files = entries.filter((entry) => entry.isFile());
  return (await Promise.all(files.map((file) => readFile(join(file.parentPath, file.name), 'latin1')))).join('\n');
};
