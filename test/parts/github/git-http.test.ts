import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { GithubEmulator } from './github-emulator.ts';
import { octokitForApp } from './octokit-clients.ts';

let github: GithubEmulator;
let folder: string;
beforeEach(async () => {
  github = await GithubEmulator.start();
  folder = await mkdtemp(join(tmpdir(), 'eph-github-git-'));
});
afterEach(async () => {
  await github.stop();
  await rm(folder, { recursive: true, force: true });
});

const git = async (...args: readonly string[]): Promise<string> => {
  const env = { PATH: process.env['PATH'], HOME: folder, GIT_CONFIG_NOSYSTEM: '1', GIT_TERMINAL_PROMPT: '0', LC_ALL: 'C' };
  const { stdout } = await promisify(execFile)('git', [...args], { env, cwd: folder });
  return stdout.trim();
};
const address = (path: string, token?: string, user = 'x-access-token'): string =>
  `${token === undefined ? github.url : github.url.replace('://', `://${user}:${token}@`)}/${path}.git`;

describe('Git over HTTP', () => {
  it('lists branches, tags and pull requests, and serves commits', async () => {
    const shop = github.createRepository('acme/shop', { private: true });
    const fork = shop.fork('mallory');
    const head = fork.push('patch', { 'b.txt': 'b\n' }, { by: 'mallory' });
    shop.openPullRequest({ head: 'mallory:patch', by: 'mallory' });
    shop.pushTag('v1', { annotated: true });
    const url = address('acme/shop', github.createToken());
    const lines = (await git('ls-remote', '--refs', url)).split('\n').map((line) => line.split('\t'));
    expect(lines.map(([, ref]) => ref)).toEqual(['refs/heads/main', 'refs/pull/1/head', 'refs/tags/v1']);
    expect(lines[1]?.[0]).toBe(head);
    await git('clone', '--quiet', url, 'work');
    expect(await readFile(join(folder, 'work', 'README.md'), 'utf8')).toBe('# shop\n');
    await git('-C', 'work', 'fetch', '--quiet', '--depth=1', url, head);
    expect(await git('-C', 'work', 'show', `${head}:b.txt`)).toBe('b');
    await expect(git('-C', 'work', 'push', '--quiet', url, 'HEAD:refs/heads/new')).rejects.toThrow(/403/);
    expect(github.requests.total.points).toBe(0);
  });

  it('serves no commit of another repository', async () => {
    github.createRepository('acme/shop');
    const secret = github.createRepository('acme/other', { private: true }).push('main', { x: 'secret\n' });
    await git('init', '--quiet', 'work');
    await expect(git('-C', 'work', 'fetch', '--quiet', address('acme/shop'), secret)).rejects.toThrow(/not our ref/);
  });

  it('accepts a token as password of any user, of whoever may read', async () => {
    const repository = github.createRepository('acme/shop', { private: true });
    const list = (token?: string, user?: string): Promise<string> => git('ls-remote', address('acme/shop', token, user));
    const stranger = github.createToken({ by: 'stranger' });
    await expect(list()).rejects.toThrow(/could not read Username/);
    await expect(list('ghp_nonsense')).rejects.toThrow(/Authentication failed/);
    await expect(list(stranger)).rejects.toThrow(/not found/);
    expect(await list(github.createToken(), 'anybody')).toContain('refs/heads/main');
    repository.makePublic();
    expect(await list()).toContain('refs/heads/main');
    expect(await list(stranger)).toContain('refs/heads/main');
  });

  it('needs the permission contents of an App that is not suspended', async () => {
    github.createRepository('acme/shop', { private: true });
    const listAs = async (slug: string, permissions: Record<string, 'read'>, suspended = false): Promise<string> => {
      const app = github.createApp({ slug, permissions });
      const installation = app.install('acme');
      const { data } = await octokitForApp(github, app).request('POST /app/installations/{installation_id}/access_tokens', {
        installation_id: installation.id,
      });
      if (suspended) installation.suspend();
      return git('ls-remote', address('acme/shop', data.token));
    };
    expect(await listAs('reader', { contents: 'read' })).toContain('refs/heads/main');
    await expect(listAs('other', { issues: 'read' })).rejects.toThrow(/403/);
    await expect(listAs('suspended', { contents: 'read' }, true)).rejects.toThrow(/403/);
  });

  it('redirects from a former name, and finds an empty repository empty', async () => {
    const repository = github.createRepository('acme/shop');
    repository.rename('store');
    expect(await git('ls-remote', '--heads', address('acme/shop'))).toContain('refs/heads/main');
    github.createRepository('acme/new', { files: null });
    expect(await git('ls-remote', address('acme/new'))).toBe('');
  });

  it('fails like the API', async () => {
    github.createRepository('acme/shop');
    github.failures.add({ failure: { kind: 'status', status: 502 }, match: { operation: 'GET /:repository.git/info/refs' } });
    await expect(git('ls-remote', address('acme/shop'))).rejects.toThrow(/502/);
    github.failures.clear();
    expect(await git('ls-remote', address('acme/shop'))).toContain('refs/heads/main');
  });
});
