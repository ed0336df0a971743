import { execFile } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, it } from 'vitest';
import type { EmulatedRepository } from '../parts/github/control/emulated-repository.ts';
import { GithubEmulator } from '../parts/github/github-emulator.ts';
import { EphdHarness } from './ephd-harness.ts';
import { expectFullLifecycle, type ForgeHarness, wakingAfterEachStep } from './forge-lifecycle.ts';
import { labelledApp, plainApp, textsOf } from './labelled-app.ts';
import { reservePort } from './reserved-ports.ts';
import { type Outcome, runEph } from './run-eph.ts';
import { oneService, spec } from './sample-app.ts';

const hookSecret = 'a secret of webhooks';

describe('the lifecycle of an environment on GitHub', () => {
  it.each([
    ['as an App, with webhooks', true],
    ['with a personal token, without webhooks', false],
  ])('is triggered by a label and reported in one comment, %s', { timeout: 180_000 }, async (_, asApp) => {
    await using github = await GithubEmulator.start();
    await using harness = await EphdHarness.create();
    createOrganisation(github);
    const repository = github.createRepository('acme/shop', { files: { 'README.md': 'a shop' }, by: 'alice' });
    const config = join(harness.folder, 'ephd.yaml');
    const hookPort = await reservePort();
    const credentials = asApp
      ? registerApp(github)
      : { env: { TOKEN: github.createToken({ by: 'alice' }) }, forge: { token: { from: 'TOKEN' } } };
    await writeFile(
      config,
      JSON.stringify({
        forges: { work: { type: 'github', url: github.url, ...credentials.forge, webhook_secret: { from: 'HOOK' } } },
        ...(asApp ? { webhooks: { port: hookPort } } : {}),
        links: { logs: 'https://logs.example/{project}/{name}' },
        projects: [{ name: 'shop', trusted: true, forge: 'work', location: 'acme/shop' }],
      }),
    );
    await harness.start({ projects: [], args: ['--config', config], env: { ...credentials.env, HOOK: hookSecret } });
    if (asApp) repository.addHook(`http://127.0.0.1:${hookPort}/webhooks/work`, { secret: hookSecret });
    const forge = onGithub(repository);
    await expectFullLifecycle(harness, asApp ? forge : wakingAfterEachStep(harness, forge), labelledApp);
    const [environment] = await harness.environments();
    const [pull] = repository.pullRequests();
    expect(pull?.comments().map(({ body }) => body)).toEqual([
      expect.stringContaining(`[Logs](<https://logs.example/shop/${environment?.name}>)`),
    ]);
  });
});

describe('branches and tags on GitHub', () => {
  it('become environments, follow their commits, and are removed with them', { timeout: 120_000 }, async () => {
    await using github = await GithubEmulator.start();
    await using harness = await EphdHarness.create();
    const repository = github.createRepository('acme/shop', { private: true });
    const { env, forge } = registerApp(github);
    const config = join(harness.folder, 'ephd.yaml');
    await writeFile(
      config,
      JSON.stringify({
        forges: { work: { type: 'github', url: github.url, ...forge } },
        projects: [{ name: 'shop', trusted: true, forge: 'work', location: 'acme/shop' }],
      }),
    );
    await harness.start({ projects: [], args: ['--config', config], env });
    const wake = () => harness.api('/hooks/git', { method: 'POST' });
    const tagged = spec(oneService, { triggers: [{ type: 'git_tag', patterns: ['v*'] }] });

    const first = repository.push('preview/one', textsOf(plainApp()));
    const released = repository.push('release', { ...textsOf(plainApp()), 'eph.yaml': tagged });
    repository.pushTag('v1', { at: released, annotated: true });
    await wake();
    const { name } = await harness.untilReady('preview/one', first);
    expect((await harness.visit(name)).status).toBe(200);
    await harness.untilReady('v1', released);
    expect(repository.statuses(first)).toMatchObject([{ context: `eph/${name}` }]);

    const second = repository.push('preview/one', textsOf(plainApp()));
    await wake();
    await harness.untilReady('preview/one', second);

    repository.deleteBranch('preview/one');
    repository.deleteTag('v1');
    await wake();
    await harness.untilGone('preview/one');
    await harness.untilGone('v1');
    expect(harness.services()).toEqual([]);
  });
});

describe('eph up in a checkout', () => {
  it('finds the pull request of the branch, labels it, and follows its environment', { timeout: 120_000 }, async () => {
    await using github = await GithubEmulator.start();
    await using harness = await EphdHarness.create();
    createOrganisation(github);
    const repository = github.createRepository('acme/shop', { files: { 'README.md': 'a shop' }, by: 'alice' });
    const config = join(harness.folder, 'ephd.yaml');
    const { env, forge } = registerApp(github);
    await writeFile(
      config,
      JSON.stringify({
        forges: { work: { type: 'github', url: github.url, ...forge } },
        projects: [
          { name: 'shop', trusted: true, forge: 'work', location: 'acme/shop' },
          { name: 'other', trusted: true, location: harness.repository.path },
        ],
      }),
    );
    await harness.start({ projects: [], args: ['--config', config], env });
    const commit = repository.push('work', textsOf(labelledApp()));
    const pull = repository.openPullRequest({ head: 'work', base: 'main', title: 'Work' });
    await promisify(execFile)('git', ['clone', '--quiet', '--branch', 'work', `${github.url}/acme/shop.git`, 'checkout'], {
      cwd: harness.folder,
    });
    const eph = (...args: readonly string[]): Promise<Outcome> =>
      runEph(harness, args, undefined, {}, '', join(harness.folder, 'checkout'));

    const up = await eph('up');
    const environment = await harness.untilReady(String(pull.number), commit);
    expect(up).toMatchObject({ code: 0, err: '' });
    expect(up.out).toContain('preview');
    expect(up.out.trimEnd().split('\n').at(-1)).toBe(environment.url);
    expect(environment).toMatchObject({ project: 'shop', source: { kind: 'pr' } });
    expect(pull.labels).toEqual(['preview']);
    expect(JSON.parse((await harness.visit(environment.name)).body)).toMatchObject({ commit });

    expect(await eph('up', '--quiet')).toEqual({ code: 0, out: `${environment.url}\n`, err: '' });
    expect(await eph('down', '--wait')).toMatchObject({ code: 0 });
    expect(pull.labels).toEqual([]);
    expect(await harness.environments()).toEqual([]);
  });
});

describe('a whole organisation', () => {
  it('is watched, with all repositories that match the patterns', { timeout: 120_000 }, async () => {
    await using github = await GithubEmulator.start();
    await using harness = await EphdHarness.create();
    createOrganisation(github);
    const [shop, secret] = ['acme/shop', 'acme/secret-plans'].map((name) =>
      github.createRepository(name, { files: { 'README.md': name }, by: 'alice' }),
    );
    if (shop === undefined || secret === undefined) throw new Error('there are no repositories');
    const config = join(harness.folder, 'ephd.yaml');
    const { env, forge } = registerApp(github);
    await writeFile(
      config,
      JSON.stringify({
        forges: { work: { type: 'github', url: github.url, ...forge } },
        organisations: [{ trusted: true, forge: 'work', owner: 'acme', exclude: ['secret-*'] }],
      }),
    );
    await harness.start({ projects: [], args: ['--config', config], env });
    for (const repository of [shop, secret]) {
      repository.push('work', textsOf(labelledApp()));
      repository.openPullRequest({ head: 'work', base: 'main', title: 'Work', labels: ['preview'] });
    }
    await harness.api('/hooks/git', { method: 'POST' });
    const ready = await harness.until('1', 'ready', (one) => one.phase === 'Ready');
    expect(ready.project).toBe('shop');
    expect(await harness.environments()).toHaveLength(1);
  });
});

/** `acme`, which alice administers. */
const createOrganisation = (github: GithubEmulator): void => {
  github.createUser('alice');
  github.createOrganization('acme');
  github.setMember('acme', 'alice', 'admin');
};

/** An App that is installed for the repository `shop`. */
const registerApp = (github: GithubEmulator) => {
  const app = github.createApp();
  app.install('acme');
  return { env: { KEY: app.privateKey }, forge: { app: { id: app.id, key: { from: 'KEY' } } } };
};

const onGithub = (repository: EmulatedRepository): ForgeHarness => ({
  open(files) {
    const commit = repository.push('work', textsOf(files));
    const pull = repository.openPullRequest({ head: 'work', base: 'main', title: 'Work' });
    const done = (act: () => void): Promise<void> => Promise.resolve(act());
    return Promise.resolve({
      commit,
      change: {
        source: String(pull.number),
        request: () => done(() => pull.label('preview')),
        withdraw: () => done(() => pull.unlabel('preview')),
        push: (changed) => Promise.resolve(repository.push('work', textsOf(changed))),
        setDraft: (draft) => done(() => (draft ? pull.convertToDraft() : pull.markReady())),
        close: () => done(() => pull.close()),
        reopen: () => done(() => pull.reopen()),
        reports: () => Promise.resolve(pull.comments().map(({ body }) => body)),
      },
    });
  },
});
