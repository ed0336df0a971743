import { mkdtemp, readdir, readFile, readlink, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { commitSha, isSameSource, type Source, silentLog } from '@eph/contract';
import { describe, expect, it, onTestFinished } from 'vitest';
import { startGithubHarness } from './github-harness.fake.ts';
import { createGithubIdentity } from './github-identity.ts';

const pulls = 'pulls/list';
/** What was opened then has been quiet for long. */
const earlier = () => Date.now() - 3_600_000;

describe('a pass over repositories in which nothing happened', () => {
  it('is one conditional request each and costs nothing', async () => {
    const { github, token, create, signal } = await startGithubHarness({ github: { now: earlier } });
    github.populate({ owner: 'many', repositories: 20, pullRequestsEach: 10, labels: () => ['preview'] });
    const common = { baseUrl: github.url, auth: { token }, now: Date.now, random: Math.random, log: silentLog };
    const identity = createGithubIdentity(common);
    const forges = Array.from({ length: 20 }, (_, index) =>
      create({ identity, owner: 'many', repository: `service-${String(index + 1).padStart(4, '0')}` }),
    );
    const pass = () => Promise.all(forges.map((forge) => forge.sources(signal)));
    const first = await pass();
    expect(first.map(({ items, complete }) => [items.length, complete])).toEqual(forges.map(() => [10, true]));
    github.requests.clear();
    expect(await pass()).toEqual(first);
    expect(github.requests.total).toMatchObject({ requests: 20, notModified: 20, points: 0 });
    expect(identity.budgets()).toMatchObject([{ account: 'token', budget: { limit: 5000, remaining: 4980 } }]);
  });

  it('is one conditional request per hundred pull requests where there are more', async () => {
    const { github, forge, openPulls, signal } = await startGithubHarness({ github: { now: earlier } });
    openPulls(230);
    const first = await forge.sources(signal);
    expect(first).toMatchObject({ complete: true, items: { length: 230 } });
    github.requests.clear();
    expect(await forge.sources(signal)).toBe(first);
    expect(github.requests.total).toMatchObject({ requests: 3, notModified: 3, points: 0 });
  });

  it('asks for branches and tags only where they are sources', async () => {
    const { github, forge, create, openPulls, signal } = await startGithubHarness();
    openPulls(1);
    await forge.sources(signal);
    expect([...github.requests.byOperation.keys()]).toEqual([pulls]);
    const items = (await create({ refs: true }).sources(signal)).items.map(({ ref }) => `${ref.kind} ${ref.name}`);
    expect(items).toEqual(['pr 1', 'branch change-1', 'branch main']);
  });
});

describe('a list of pull requests', () => {
  it('finds a change on its last page, at the cost of that page', async () => {
    const { github, forge, openPulls, signal } = await startGithubHarness({ github: { now: earlier } });
    const [oldest] = openPulls(230);
    const before = await forge.sources(signal);
    oldest?.label('preview');
    github.requests.clear();
    const after = await forge.sources(signal);
    const isNew = (item: Source, index: number) => !isSameSource(item, before.items[index] ?? item);
    expect(after.items.filter(isNew)).toMatchObject([{ ref: { name: '1' }, pull: { labels: ['preview'] } }]);
    expect(after.mark).not.toBe(before.mark);
    expect(github.requests.total.points).toBeLessThanOrEqual(3);
  });

  it('is whole when it grows beyond a page, shrinks to one, and is exactly one', async () => {
    const { repository, forge, openPulls, signal } = await startGithubHarness();
    const opened = openPulls(101);
    const count = async () => {
      const { items, complete } = await forge.sources(signal);
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
    const { github, forge, openPulls, signal } = await startGithubHarness();
    openPulls(230);
    github.failures.add({ failure: { kind: 'empty-page' }, match: { operation: pulls, path: new RegExp(`[?&]page=${page}$`) } });
    expect(await forge.sources(signal)).toMatchObject({ complete: false, faults: [{ code: 'forge.incomplete' }] });
    github.failures.clear();
    expect(await forge.sources(signal)).toMatchObject({ complete: true, items: { length: 230 } });
  });

  it('is incomplete when a page does not come, with what arrived', async () => {
    const { github, forge, openPulls, signal } = await startGithubHarness();
    openPulls(230);
    github.failures.add({ failure: { kind: 'reset' }, match: { path: /[?&]page=2$/ } });
    expect(await forge.sources(signal)).toMatchObject({ complete: false, items: { length: 100 } });
  });

  it('does not lose a pull request that slips from one page to another while they are read', async () => {
    let closing: (() => void) | undefined;
    const slippery: typeof fetch = async (input, init) => {
      const response = await fetch(input, init);
      if (/[?&]page=1$/.test(input instanceof Request ? input.url : String(input))) closing?.();
      closing = undefined;
      return response;
    };
    const { forge, openPulls, signal } = await startGithubHarness({ forge: { fetch: slippery } });
    const opened = openPulls(230);
    closing = () => opened.at(-1)?.close();
    const names = (await forge.sources(signal)).items.map(({ ref }) => Number(ref.name));
    expect(names.toSorted((a, b) => a - b)).toEqual(Array.from({ length: 229 }, (_, index) => index + 1));
  });

  it('that is suddenly empty counts only if something else confirms it', async () => {
    const { github, repository, forge, openPulls, signal } = await startGithubHarness();
    const opened = openPulls(4);
    await forge.sources(signal);
    github.failures.add({ failure: { kind: 'empty-page' }, match: { operation: pulls } });
    expect(await forge.sources(signal)).toMatchObject({ complete: false, faults: [{ code: 'forge.incomplete' }] });
    github.failures.add({ failure: { kind: 'empty-page' } });
    expect(await forge.sources(signal)).toMatchObject({ complete: false });
    github.failures.clear();
    repository.openIssue('Something else');
    for (const pull of opened) pull.close();
    expect(await forge.sources(signal)).toMatchObject({ complete: true, items: [] });
  });

  it('that was empty from the beginning counts too, and is confirmed once', async () => {
    const { github, forge, signal } = await startGithubHarness();
    expect(await forge.sources(signal)).toMatchObject({ complete: true, items: [] });
    expect(github.requests.total.requests).toBe(2);
    expect(await forge.sources(signal)).toMatchObject({ complete: true, items: [] });
    expect(github.requests.total.requests).toBe(3);
  });

  it('knows forks, also when they are gone', async () => {
    const { repository, forge, signal } = await startGithubHarness({ repository: { private: false } });
    const fork = repository.fork('mallory', 'renamed');
    fork.push('patch', { 'x.txt': 'x' }, { by: 'mallory' });
    repository.openPullRequest({ head: 'mallory:patch', by: 'mallory' });
    expect((await forge.sources(signal)).items).toMatchObject([{ pull: { fork: 'mallory/renamed', author: 'mallory' } }]);
    fork.delete({ by: 'mallory' });
    expect(await forge.source({ kind: 'pr', name: '1' }, signal)).toEqual({ state: 'gone' });
  });
});

describe('credentials', () => {
  it('of an App are one token for all repositories of an installation', async () => {
    const { github, create, openPulls, signal } = await startGithubHarness();
    openPulls(1);
    github.createRepository('acme/other', { private: true });
    const app = github.createApp();
    app.install('acme');
    const auth = { appId: app.id, privateKey: app.privateKey };
    const identity = createGithubIdentity({ baseUrl: github.url, auth, now: Date.now, random: Math.random, log: silentLog });
    const forges = ['shop', 'other'].map((repository) => create({ auth, identity, repository }));
    for (const forge of [...forges, ...forges]) expect((await forge.sources(signal)).complete).toBe(true);
    expect(github.requests.of('apps/create-installation-access-token').requests).toBe(1);
    expect(github.requests.of('apps/get-repo-installation').requests).toBe(2);
    expect(identity.budgets().map(({ account }) => account)).toContainEqual(expect.stringMatching(/^installation \d+$/));
  });

  it('that were revoked midway are renewed', async () => {
    const { github, create, openPulls, signal } = await startGithubHarness();
    openPulls(3);
    const app = github.createApp();
    const { id: installationId } = app.install('acme');
    const forge = create({ auth: { appId: app.id, privateKey: app.privateKey, installationId } });
    expect((await forge.sources(signal)).complete).toBe(true);
    github.revokeInstallationTokens();
    expect(await forge.sources(signal)).toMatchObject({ complete: true, items: { length: 3 } });
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

describe('files and trees', () => {
  const exportShop = async (files: NonNullable<NonNullable<Parameters<typeof startGithubHarness>[0]>['repository']>['files']) => {
    const shop = await startGithubHarness({ repository: { files: files ?? {} } });
    const commit = commitSha(shop.repository.refs.get('refs/heads/main') ?? '');
    const folder = await mkdtemp(join(tmpdir(), 'eph-github-'));
    onTestFinished(() => rm(folder, { recursive: true, force: true }));
    const checkout = join(folder, 'checkout');
    return { ...shop, commit, folder, checkout, exported: () => shop.forge.exportTree(commit, checkout, shop.signal) };
  };

  it('come in four requests, however many files there are', async () => {
    const files = Object.fromEntries(Array.from({ length: 50 }, (_, index) => [`folder-${index % 7}/${index}.txt`, `${index}`]));
    const { github, checkout, exported } = await exportShop(files);
    await exported();
    expect(await readFile(join(checkout, 'folder-3/10.txt'), 'utf8')).toBe('10');
    expect([...github.requests.byOperation].map(([operation, { requests }]) => `${operation} ${requests}`)).toEqual([
      'git/get-commit 1',
      'git/get-tree 1',
      'repos/download-tarball-archive 1',
      'archive 1',
    ]);
  });

  it('keep modes, links, empty and large files, and leave nothing else behind', async () => {
    const large = Buffer.alloc(3 * 1024 * 1024, 'large');
    const { folder, checkout, exported } = await exportShop({
      'run.sh': { content: '#!/bin/sh\n', executable: true },
      'empty.txt': '',
      'large.bin': large,
      'deep/er/link': { content: '../../empty.txt', symlink: true },
      'far-link': { content: `deep/${'./'.repeat(60)}er`, symlink: true },
      module: { submodule: '1'.repeat(40) },
      'größe/日本語 🚢.txt': 'ü',
    });
    await writeFile(`${checkout}.archive`, 'of a process that was killed');
    await exported();
    expect((await stat(join(checkout, 'run.sh'))).mode & 0o777).toBe(0o755);
    expect((await stat(join(checkout, 'empty.txt'))).size).toBe(0);
    expect((await readFile(join(checkout, 'large.bin'))).equals(large)).toBe(true);
    expect(await readlink(join(checkout, 'deep/er/link'))).toBe('../../empty.txt');
    expect(await readlink(join(checkout, 'far-link'))).toMatch(/^deep\/(\.\/)+er$/);
    expect(await readdir(join(checkout, 'module'))).toEqual([]);
    expect(await readFile(join(checkout, 'größe/日本語 🚢.txt'), 'utf8')).toBe('ü');
    expect(await readdir(folder)).toEqual(['checkout']);
  });

  it('are those of the commit, whatever its archive leaves out or changes', async () => {
    const { checkout, exported } = await exportShop({
      '.gitattributes': 'tests/** export-ignore\nversion.txt export-subst\nwindows.txt text eol=crlf\n',
      'tests/a.txt': 'tested',
      'tests/large.bin': Buffer.alloc(2 * 1024 * 1024, 'x'),
      'version.txt': '$Format:%H$\n',
      'windows.txt': 'one\ntwo\n',
    });
    await exported();
    expect(await readFile(join(checkout, 'tests/a.txt'), 'utf8')).toBe('tested');
    expect((await stat(join(checkout, 'tests/large.bin'))).size).toBe(2 * 1024 * 1024);
    expect(await readFile(join(checkout, 'version.txt'), 'utf8')).toBe('$Format:%H$\n');
    expect(await readFile(join(checkout, 'windows.txt'), 'utf8')).toBe('one\ntwo\n');
  });

  it('are refused as a whole when a link leads out of them', async () => {
    const { folder, exported } = await exportShop({ 'a.txt': 'a', out: { content: '../../etc/passwd', symlink: true } });
    await expect(exported()).rejects.toMatchObject({ code: 'checkout.refused' });
    expect(await readdir(folder)).toEqual([]);
  });

  it.each([
    ['does not come', { kind: 'status', status: 502 }],
    ['breaks off', { kind: 'truncated', ending: 'broken' }],
    ['seems whole but is half', { kind: 'truncated', ending: 'clean' }],
  ] as const)('are not written when the archive %s, and are later', async (_name, failure) => {
    const { github, folder, checkout, exported } = await exportShop({ 'a.txt': 'a', 'b.bin': Buffer.alloc(100_000, 'b') });
    github.failures.add({ failure, match: { operation: 'archive' } });
    await expect(exported()).rejects.toMatchObject({ code: expect.stringMatching(/^forge\./) });
    expect(await readdir(folder)).toEqual([]);
    github.failures.clear();
    await exported();
    expect(await readFile(join(checkout, 'a.txt'), 'utf8')).toBe('a');
  });

  it('of a link are refused to be read as a file', async () => {
    const { forge, commit, signal } = await exportShop({
      'eph.yaml': { content: 'other.yaml', symlink: true },
      'other.yaml': 'x',
    });
    await expect(forge.readFile(commit, 'eph.yaml', 1000, signal)).rejects.toMatchObject({ code: 'spec.invalid' });
  });

  it('that are too large are refused without being fetched', async () => {
    const { github, forge, commit, signal } = await exportShop({ 'big.bin': Buffer.alloc(1_000_000) });
    await expect(forge.readFile(commit, 'big.bin', 999_999, signal)).rejects.toMatchObject({ code: 'spec.invalid' });
    expect(github.requests.of('git/get-blob').requests).toBe(0);
    expect(await forge.readFile(commit, 'big.bin', 1_000_000, signal)).toHaveLength(1_000_000);
  });

  it('that were read once cost nothing but their content again', async () => {
    const { github, forge, commit, signal } = await exportShop({ 'eph.yaml': 'version: 1\n', 'deep/er/a.yaml': 'a' });
    await forge.readFile(commit, 'eph.yaml', 1000, signal);
    await forge.readFile(commit, 'deep/er/a.yaml', 1000, signal);
    github.requests.clear();
    await forge.readFile(commit, 'deep/er/a.yaml', 1000, signal);
    expect([...github.requests.byOperation.keys()]).toEqual(['git/get-blob']);
  });

  it('are not read any more once the forge is closed', async () => {
    const { forge, commit, signal } = await exportShop({ 'a.txt': 'a' });
    await forge[Symbol.asyncDispose]();
    await expect(forge.readFile(commit, 'a.txt', 1000, signal)).rejects.toMatchObject({ code: 'forge.unreachable' });
    expect(await forge.sources(signal)).toMatchObject({ complete: false });
  });
});
