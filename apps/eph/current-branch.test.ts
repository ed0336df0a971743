import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { SourcePage } from '@eph/contract';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type FakeEphd, fakeEnvironment, fakeProject, fakeRequestAnswer, sendError, startFakeEphd } from './ephd.fake.ts';
import { exitCodes } from './exit-codes.ts';
import { eph, type Result } from './terminal.fake.ts';

let ephd: FakeEphd;
let folder: string;
let home: string;

const git = (...args: readonly string[]): string =>
  execFileSync('git', ['-C', folder, '-c', 'user.name=Ann', '-c', 'user.email=ann@example.com', ...args], {
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'pipe'],
  }).trim();

/** A checkout of `acme/shop` on the branch `login`, which is pushed. */
beforeEach(async () => {
  ephd = await startFakeEphd();
  ephd.projects = [fakeProject(), fakeProject({ id: 'blog', address: 'https://git.example.com/acme/blog' })];
  home = await mkdtemp(join(tmpdir(), 'eph-home-'));
  folder = join(home, 'checkout');
  await mkdir(folder);
  git('init', '--quiet', '--initial-branch=login');
  git('remote', 'add', 'origin', 'git@git.example.com:acme/shop.git');
  git('commit', '--quiet', '--allow-empty', '--message=first');
  git('update-ref', 'refs/remotes/origin/login', 'HEAD');
});
afterEach(async () => {
  await ephd.close();
  await rm(home, { recursive: true, force: true });
});

const ask = (args: readonly string[], place = folder): Promise<Result> =>
  eph([...args, '--server', ephd.address], { folder: place, variables: { PATH: process.env['PATH'] ?? '', HOME: home } });

const ofBranch = (name: string, id = '0123456789abcdef') => fakeEnvironment({ id, source: { kind: 'branch', name } });

const pull = (head: string | null): SourcePage['sources'][number] => ({
  kind: 'pr',
  name: '42',
  commit: 'c'.repeat(40),
  title: 'Login',
  author: 'ann',
  labels: [],
  head,
  state: 'wanted',
  because: '',
  environment: null,
});

describe('eph up alone', () => {
  beforeEach(() => {
    ephd.environments = [fakeEnvironment()];
    ephd.requestAnswer = fakeRequestAnswer({ source: { kind: 'branch', name: 'login' } });
  });

  it('requests an environment of the current branch, follows it, and prints its address', async () => {
    const { code, out, err } = await ask(['up']);
    expect({ code, err }).toStrictEqual({ code: exitCodes.ok, err: '' });
    expect(ephd.environmentRequests).toStrictEqual([{ project: 'shop', source: { kind: 'branch', name: 'login' } }]);
    expect(out).toContain('Git needs no change.\n');
    expect(out).toContain('shop-serene-ocean-4207  Ready');
    expect(out.endsWith('\nhttp://shop-serene-ocean-4207.localhost:7080\n')).toBe(true);
  });

  it('prints only the address with --quiet, and does not follow with --no-wait', async () => {
    expect((await ask(['up', '--quiet'])).out).toBe('http://shop-serene-ocean-4207.localhost:7080\n');
    expect((await ask(['up', '--quiet', '--no-wait'])).out).toBe('0123456789abcdef\n');
    expect((await ask(['up', '--no-wait'])).out).toContain('Follow it with `eph status --watch 0123456789abcdef`.\n');
    expect(JSON.parse((await ask(['up', '--json'])).out)).toMatchObject({ phase: 'Ready' });
  });

  it('works from a folder below, and where ephd reads the repository itself', async () => {
    await mkdir(join(folder, 'src'));
    git('remote', 'remove', 'origin');
    ephd.projects = [fakeProject({ id: 'local', address: folder, forge: null })];
    expect((await ask(['up'], join(folder, 'src'))).code).toBe(exitCodes.ok);
    expect(ephd.environmentRequests).toStrictEqual([{ project: 'local', source: { kind: 'branch', name: 'login' } }]);
  });

  it('warns of commits that are not pushed', async () => {
    git('commit', '--quiet', '--allow-empty', '--message=second');
    expect((await ask(['up', '-q'])).err).toBe('origin lacks 1 commit of login. ephd uses what is pushed.\n');
  });

  it('says to push a branch that the project does not have', async () => {
    const listed = JSON.stringify({ projects: [fakeProject()], next: null });
    ephd.instead = (request, response) => {
      if (request.method === 'POST') sendError(response, 404, 'api.not_found', 'shop has no branch login');
      else response.setHeader('content-type', 'application/json').end(listed);
    };
    expect(await ask(['up'])).toMatchObject({
      code: exitCodes.notFound,
      err: 'eph: shop has no branch login. Push it first: `git push --set-upstream origin HEAD`.\n',
    });
  });

  it('says where it is not in a checkout', async () => {
    const { code, err } = await ask(['up'], home);
    expect({ code, err }).toStrictEqual({ code: exitCodes.notFound, err: `eph: ${home} is not in a Git checkout.\n` });
    expect(ephd.requests).toStrictEqual([]);
  });

  it('says that HEAD is detached', async () => {
    git('checkout', '--quiet', '--detach');
    expect((await ask(['up'])).err).toContain('HEAD is detached');
  });

  it('lists remotes and projects if none fits, without credentials', async () => {
    git('remote', 'set-url', 'origin', 'https://ann:hunter22@elsewhere.example.com/shop.git');
    const { code, err } = await ask(['up']);
    expect(code).toBe(exitCodes.notFound);
    expect(err).toContain('  origin  https://***@elsewhere.example.com/shop.git\n');
    expect(err).toContain('  shop  https://git.example.com/acme/shop\n  blog  https://git.example.com/acme/blog\n');
  });

  it('does not choose between several projects, unless one is named', async () => {
    git('remote', 'add', 'other', 'https://git.example.com/acme/blog.git');
    const { code, err } = await ask(['up']);
    expect(code).toBe(exitCodes.notFound);
    expect(err).toContain('  shop  origin\n  blog  other\n');
    expect((await ask(['up', '--project', 'blog'])).code).toBe(exitCodes.ok);
    expect(ephd.environmentRequests).toMatchObject([{ project: 'blog' }]);
  });

  it('says that ephd is away', async () => {
    await ephd.close();
    expect(await ask(['up'])).toMatchObject({ code: exitCodes.unreachable, err: expect.stringContaining('nothing listens') });
  });

  it('runs nothing that the checkout names, and fetches nothing', async () => {
    const canary = join(home, 'canary');
    await writeFile(join(folder, 'hook'), `#!/bin/sh\ntouch '${canary}'\n`, { mode: 0o755 });
    for (const [key, value] of [
      ['core.fsmonitor', join(folder, 'hook')],
      ['core.pager', join(folder, 'hook')],
      ['core.sshCommand', join(folder, 'hook')],
      ['protocol.ext.allow', 'always'],
      ['remote.origin.promisor', 'true'],
      ['remote.origin.uploadpack', join(folder, 'hook')],
      ['remote.origin.url', `ext::${join(folder, 'hook')}`],
      ['alias.rev-parse', `!${join(folder, 'hook')}`],
    ] as const)
      git('config', key, value);
    git('config', '--add', 'remote.second.url', 'https://git.example.com/acme/shop');
    // A commit that is missing, which a promisor remote would be asked for.
    await mkdir(join(folder, '.git/refs/remotes/second'), { recursive: true });
    await writeFile(join(folder, '.git/refs/remotes/second/login'), `${'d'.repeat(40)}\n`);
    expect((await ask(['up', '-q'])).code).toBe(exitCodes.ok);
    expect(existsSync(canary)).toBe(false);
  });

  it.runIf(process.getuid?.() === 0)('explains why Git does not read the checkout of another user', async () => {
    execFileSync('chown', ['-R', '12345', folder]);
    const { code, err } = await ask(['up']);
    expect(code).toBe(exitCodes.notFound);
    expect(err).toContain(`Git does not read ${folder}, because it belongs to another user.`);
    expect(err).toContain('safe.directory');
  });
});

describe('a command without an environment', () => {
  it('takes that of the current branch', async () => {
    ephd.environments = [ofBranch('login'), ofBranch('other', 'fedcba9876543210')];
    ephd.why = ['It is wanted.'];
    const id = '0123456789abcdef';
    expect((await ask(['status'])).out).toContain('shop-serene-ocean-4207  Ready\n');
    expect((await ask(['why'])).out).toContain('It is wanted.');
    expect((await ask(['open', '--no-browser'])).out).toBe('http://shop-serene-ocean-4207.localhost:7080\n');
    await ask(['logs']);
    expect(ephd.requests.at(-1)).toBe(`GET /api/v1/environments/${id}/logs`);
    await ask(['down']);
    expect(ephd.requests.at(-1)).toBe(`DELETE /api/v1/environments/${id}`);
  });

  it.each([
    ['of its pull request', () => fakeEnvironment({ source: { kind: 'pr', name: '42' } })],
    ['of the branch that `eph up` made of it', () => ofBranch('preview/login')],
  ])('finds the one %s', async (_, environment) => {
    ephd.environments = [environment(), ofBranch('other', 'fedcba9876543210')];
    ephd.sources = [pull('login')];
    expect((await ask(['open', '--no-browser'])).code).toBe(exitCodes.ok);
  });

  it('takes no pull request of another branch or fork, and does not choose between several', async () => {
    ephd.environments = [fakeEnvironment({ source: { kind: 'pr', name: '42' } })];
    for (const head of ['other', null]) {
      ephd.sources = [pull(head)];
      const { code, err } = await ask(['down']);
      expect(code).toBe(exitCodes.notFound);
      expect(err).toContain('Branch login of shop has no environment. `eph up` requests one');
    }
    ephd.sources = [pull('login')];
    ephd.environments = [...ephd.environments, ofBranch('login', 'fedcba9876543210')];
    expect((await ask(['down'])).err).toContain('Several environments belong to branch login; name one:\n');
    expect(ephd.requests.some((request) => request.startsWith('DELETE'))).toBe(false);
  });

  it('shows the status of all where the branch has none, or if asked to', async () => {
    ephd.environments = [ofBranch('other')];
    expect((await ask(['status'])).out).toMatch(/^ENVIRONMENT/);
    ephd.environments = [ofBranch('login')];
    expect((await ask(['status', '--all'])).out).toMatch(/^ENVIRONMENT/);
  });
});
