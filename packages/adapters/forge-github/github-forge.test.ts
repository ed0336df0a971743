import { readdir, readFile, readlink, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { commitSha, isSameSource, type Source } from '@eph/contract';
import { describe, expect, it } from 'vitest';
import type { RepositoryOptions } from '../../../test/parts/github/github-emulator.ts';
import { betweenPages, startGithubHarness } from './github-harness.fake.ts';

const pulls = 'pulls/list';
/** What was opened then has been quiet for long. */
const earlier = () => Date.now() - 3_600_000;

describe('a pass over repositories in which nothing happened', () => {
  it('is one conditional request to the API and one listing of Git each, and costs nothing', async () => {
    const { github, createServer, signal } = await startGithubHarness({ github: { now: earlier } });
    github.populate({ owner: 'many', repositories: 20, pullRequestsEach: 10, labels: () => ['preview'] });
    const server = createServer();
    const names = Array.from({ length: 20 }, (_, index) => `many/service-${String(index + 1).padStart(4, '0')}`);
    const forges = names.map((location) => server.connect({ location }).forge);
    const pass = () => Promise.all(forges.map((forge) => forge.sources(signal)));
    const first = await pass();
    expect(first.map(({ items, complete }) => [items.length, complete])).toEqual(forges.map(() => [21, true]));
    github.requests.clear();
    expect(await pass()).toEqual(first);
    expect(github.requests.total).toMatchObject({ requests: 40, notModified: 20, points: 0 });
    expect(server.budgets()).toEqual([{ account: 'token', remaining: 4980 }]);
  });

  it('is one conditional request per hundred pull requests where there are more', async () => {
    const { github, forge, openPulls, signal } = await startGithubHarness({ github: { now: earlier } });
    openPulls(230);
    const first = await forge.sources(signal);
    expect(first).toMatchObject({ complete: true, items: { length: 461 } });
    github.requests.clear();
    expect(await forge.sources(signal)).toBe(first);
    expect(github.requests.total).toMatchObject({ requests: 4, notModified: 3, points: 0 });
  });
});

describe('a list of pull requests', () => {
  it('tells what changed on its last page, at the price of that page', async () => {
    const { github, readPulls, openPulls } = await startGithubHarness({ github: { now: earlier } });
    const [oldest] = openPulls(230);
    const before = await readPulls();
    oldest?.label('preview');
    github.requests.clear();
    const after = await readPulls();
    const isNew = (item: Source, index: number) => !isSameSource(item, before.items[index] ?? item);
    expect(after.items.filter(isNew)).toMatchObject([{ ref: { name: '1' }, pull: { labels: ['preview'] } }]);
    expect(after.mark).not.toBe(before.mark);
    expect(github.requests.total.points).toBeLessThanOrEqual(3);
  });

  it('is whole when it grows beyond a page, shrinks to one, and is exactly one', async () => {
    const { repository, readPulls, openPulls } = await startGithubHarness();
    const opened = openPulls(101);
    const count = async () => {
      const { items, complete } = await readPulls();
      return complete ? items.length : 'unknown';
    };
    expect(await count()).toBe(101);
    opened[0]?.close();
    expect(await count()).toBe(100);
    repository.push('late', { 'late.txt': '' });
    repository.openPullRequest({ head: 'late' });
    expect(await count()).toBe(101);
    for (const pull of opened.slice(1, 60)) pull.close();
    expect(await count()).toBe(42);
  });

  it.each([1, 2, 3])('is incomplete when page %i of three comes back empty', async (page) => {
    const { github, readPulls, openPulls } = await startGithubHarness();
    openPulls(230);
    github.failures.add({ failure: { kind: 'empty-page' }, match: { operation: pulls, path: new RegExp(`[?&]page=${page}$`) } });
    expect(await readPulls()).toMatchObject({ complete: false, faults: [{ code: 'forge.incomplete' }] });
    github.failures.clear();
    expect(await readPulls()).toMatchObject({ complete: true, items: { length: 230 } });
  });

  it('is incomplete when a page does not come, with what arrived', async () => {
    const { github, readPulls, openPulls } = await startGithubHarness();
    openPulls(230);
    github.failures.add({ failure: { kind: 'reset' }, match: { path: /[?&]page=2$/ } });
    expect(await readPulls()).toMatchObject({ complete: false, items: { length: 100 } });
  });

  it('does not lose a pull request that slips from one page to another while they are read', async () => {
    const { github, readPulls, openPulls } = await startGithubHarness();
    const opened = openPulls(230);
    betweenPages(github, () => opened.at(-1)?.close());
    const names = (await readPulls()).items.map(({ ref }) => Number(ref.name));
    expect(names.toSorted((a, b) => a - b)).toEqual(Array.from({ length: 229 }, (_, index) => index + 1));
  });

  it('that is suddenly empty counts only if something else confirms it', async () => {
    const { github, repository, readPulls, openPulls } = await startGithubHarness();
    const opened = openPulls(4);
    await readPulls();
    github.failures.add({ failure: { kind: 'empty-page' }, match: { operation: pulls } });
    expect(await readPulls()).toMatchObject({ complete: false, faults: [{ code: 'forge.incomplete' }] });
    github.failures.add({ failure: { kind: 'empty-page' } });
    expect(await readPulls()).toMatchObject({ complete: false });
    github.failures.clear();
    repository.openIssue('Something else');
    for (const pull of opened) pull.close();
    expect(await readPulls()).toMatchObject({ complete: true, items: [] });
  });

  it('that was empty from the beginning counts too, and is confirmed once', async () => {
    const { readPulls, countApiRequests } = await startGithubHarness();
    expect(await readPulls()).toMatchObject({ complete: true, items: [] });
    expect(countApiRequests()).toBe(2);
    expect(await readPulls()).toMatchObject({ complete: true, items: [] });
    expect(countApiRequests()).toBe(3);
  });

  it('knows forks, also when they are gone', async () => {
    const { repository, forge, readPulls, signal } = await startGithubHarness({ repository: { private: false } });
    const fork = repository.fork('mallory', 'renamed');
    fork.push('patch', { 'x.txt': 'x' }, { by: 'mallory' });
    repository.openPullRequest({ head: 'mallory:patch', by: 'mallory' });
    expect((await readPulls()).items).toMatchObject([{ pull: { fork: 'mallory/renamed', author: 'mallory' } }]);
    fork.delete({ by: 'mallory' });
    expect(await forge.source({ kind: 'pr', name: '1' }, signal)).toEqual({ state: 'gone' });
  });
});

describe('credentials', () => {
  it('of an App are one token for all repositories of an installation', async () => {
    const { github, createServer, openPulls, signal } = await startGithubHarness();
    openPulls(1);
    github.createRepository('acme/other', { private: true });
    const app = github.createApp();
    app.install('acme');
    const server = createServer({ auth: { appId: app.id, privateKey: app.privateKey } });
    const forges = ['acme/shop', 'acme/other'].map((location) => server.connect({ location }).forge);
    for (const forge of [...forges, ...forges]) expect((await forge.sources(signal)).complete).toBe(true);
    expect(github.requests.of('apps/create-installation-access-token').requests).toBe(1);
    expect(github.requests.of('apps/get-repo-installation').requests).toBe(2);
    expect(server.budgets().map(({ account }) => account)).toContainEqual(expect.stringMatching(/^installation \d+$/));
  });

  it('that were revoked midway are renewed', async () => {
    const { github, create, readPulls, openPulls } = await startGithubHarness();
    openPulls(3);
    const app = github.createApp();
    const { id: installationId } = app.install('acme');
    const forge = create({ auth: { appId: app.id, privateKey: app.privateKey, installationId } });
    expect((await readPulls(forge)).complete).toBe(true);
    github.revokeInstallationTokens();
    expect(await readPulls(forge)).toMatchObject({ complete: true, items: { length: 3 } });
  }, 60_000);

  it('that are suspended or were revoked for good make everything unknown', async () => {
    const { github, token, forge, create, openPulls, signal } = await startGithubHarness();
    openPulls(3);
    const app = github.createApp();
    const installation = app.install('acme');
    const ofApp = create({ auth: { appId: app.id, privateKey: app.privateKey } });
    for (const one of [forge, ofApp]) expect((await one.sources(signal)).complete).toBe(true);
    github.revokeToken(token);
    installation.suspend();
    for (const one of [forge, ofApp]) {
      expect(await one.sources(signal)).toMatchObject({ complete: false, faults: [{ code: 'forge.refused' }] });
      expect(await one.source({ kind: 'pr', name: '1' }, signal)).toMatchObject({ state: 'unknown' });
    }
  });

  it('of an App that is not installed are refused, not taken for an empty repository', async () => {
    const { github, create, signal } = await startGithubHarness();
    const app = github.createApp();
    const forge = create({ auth: { appId: app.id, privateKey: app.privateKey } });
    expect(await forge.sources(signal)).toMatchObject({ complete: false, faults: [{ code: 'forge.refused' }] });
    expect(await forge.source({ kind: 'pr', name: '1' }, signal)).toMatchObject({ state: 'unknown' });
    app.install('acme');
    expect(await forge.sources(signal)).toMatchObject({ complete: true });
  });

  it('of an App that is reinstalled work again, and meanwhile nothing is gone', async () => {
    const { github, create, openPulls, signal } = await startGithubHarness();
    openPulls(1);
    const app = github.createApp();
    const installation = app.install('acme');
    const forge = create({ auth: { appId: app.id, privateKey: app.privateKey } });
    const never = { kind: 'pr', name: '99' } as const;
    await forge.sources(signal);
    installation.uninstall();
    app.install('acme');
    expect(await forge.source({ kind: 'pr', name: '1' }, signal)).toMatchObject({ state: 'unknown' });
    expect(await forge.source({ kind: 'pr', name: '1' }, signal)).toMatchObject({ state: 'present' });
    expect(await forge.source(never, signal)).toEqual({ state: 'gone' });
  }, 60_000);

  it.each(['', 'api.github.com', 'ftp://github.example', 'https://user:secret@github.example'])(
    'are not sent to the address %j',
    async (baseUrl) => {
      const { create } = await startGithubHarness();
      expect(() => create({ baseUrl })).toThrow(expect.objectContaining({ code: 'config.invalid' }));
    },
  );
});

describe('branches, tags and files', () => {
  const startShop = async (files: NonNullable<RepositoryOptions['files']>) => {
    const shop = await startGithubHarness({ repository: { files } });
    const commit = commitSha(shop.repository.refs.get('refs/heads/main') ?? '');
    return { ...shop, commit, checkout: join(shop.folder, 'checkout') };
  };

  it('come from Git, at no cost and with the current token of an App', async () => {
    const { github, repository, folder, create, signal } = await startGithubHarness();
    const app = github.createApp();
    app.install('acme');
    const forge = create({ auth: { appId: app.id, privateKey: app.privateKey } });
    const commit = commitSha(repository.push('preview/one', { 'eph.yaml': 'version: 1\n' }));
    repository.pushTag('v1', { annotated: true, at: commit });
    await forge.sources(signal);
    github.revokeInstallationTokens();
    const { items } = await forge.sources(signal);
    expect(items.map(({ ref, commit: at }) => [`${ref.kind} ${ref.name}`, at === commit])).toEqual([
      ['branch main', false],
      ['branch preview/one', true],
      ['tag v1', true],
    ]);
    expect(Buffer.from((await forge.readFile(commit, 'eph.yaml', 1_000, signal)) ?? []).toString()).toBe('version: 1\n');
    expect(new Set(github.requests.entries.filter(({ path }) => path.includes('.git/')).map(({ points }) => points))).toEqual(
      new Set([0]),
    );
    const entries = await readdir(folder, { recursive: true, withFileTypes: true });
    for (const { parentPath, name } of entries.filter((entry) => entry.isFile()))
      expect(await readFile(join(parentPath, name), 'latin1')).not.toMatch(/ghs_|x-access-token/);
  }, 60_000);

  it('need an App to read contents', async () => {
    const { github, create, openPulls, signal } = await startGithubHarness();
    openPulls(1);
    const app = github.createApp({ permissions: { metadata: 'read', pull_requests: 'read', issues: 'read' } });
    app.install('acme');
    const forge = create({ auth: { appId: app.id, privateKey: app.privateKey } });
    const reading = await forge.sources(signal);
    expect(reading).toMatchObject({ complete: false, items: [{ ref: { kind: 'pr' } }], faults: [{ code: 'forge.refused' }] });
  });

  it('of a pull request from a fork are read through its base', async () => {
    const { repository, forge, signal } = await startShop({ 'a.txt': 'a' });
    const fork = repository.fork('mallory');
    const commit = commitSha(fork.push('patch', { 'b.txt': 'b' }, { by: 'mallory' }));
    repository.openPullRequest({ head: 'mallory:patch', by: 'mallory' });
    expect(Buffer.from((await forge.readFile(commit, 'b.txt', 10, signal)) ?? []).toString()).toBe('b');
    const other = commitSha('1'.repeat(40));
    await expect(forge.readFile(other, 'b.txt', 10, signal)).rejects.toMatchObject({ code: 'source.commit_missing' });
  });

  it('are exported as a tree with modes and links', async () => {
    const { forge, commit, checkout, signal } = await startShop({
      'run.sh': { content: '#!/bin/sh\n', executable: true },
      'deep/link': { content: '../run.sh', symlink: true },
      '.gitattributes': 'tests/** export-ignore\n',
      'tests/a.txt': 'tested',
      module: { submodule: '1'.repeat(40) },
    });
    await forge.exportTree(commit, checkout, signal);
    expect((await stat(join(checkout, 'run.sh'))).mode & 0o777).toBe(0o755);
    expect(await readlink(join(checkout, 'deep/link'))).toBe('../run.sh');
    expect(await readFile(join(checkout, 'tests/a.txt'), 'utf8')).toBe('tested');
    expect(await readdir(join(checkout, 'module'))).toEqual([]);
  });
});
