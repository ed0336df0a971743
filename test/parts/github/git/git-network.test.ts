import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdtemp, readFile, readlink, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, it } from 'vitest';
import { GithubEmulator } from '../github-emulator.ts';
import { octokitFor } from '../octokit-clients.ts';
import { makeObject } from './git-objects.ts';

const git = async (...args: string[]): Promise<string> => {
  const env = { PATH: process.env['PATH'], GIT_CONFIG_NOSYSTEM: '1', GIT_CONFIG_GLOBAL: '/dev/null' };
  const { stdout } = await promisify(execFile)('git', args, { env });
  return stdout.trim();
};

describe('the repositories behind the emulator', () => {
  it('are real: Git verifies and clones them', async () => {
    await using github = await GithubEmulator.start();
    const files = {
      'a.txt': 'a\n',
      'a/b.txt': 'b\n',
      'a.b/c': 'c\n',
      'z/é ü.txt': 'unicode\n',
      'run.sh': { content: '#!/bin/sh\n', executable: true },
    };
    const shop = github.createRepository('acme/shop', { files });
    shop.push('feature', { 'a/link': { content: '../a.txt', symlink: true }, 'a.txt': null });
    shop.push('other', { 'other.txt': 'o\n' }, { from: 'main' });
    shop.pushTag('v1', { annotated: true });
    shop.openPullRequest({ head: 'feature' }).merge();

    const folder = shop.gitFolder();
    await git('-C', folder, 'fsck', '--strict', '--full');
    expect(await git('-C', folder, 'for-each-ref', '--format=%(refname) %(objecttype)')).toBe(
      [
        'refs/heads/feature commit',
        'refs/heads/main commit',
        'refs/heads/other commit',
        'refs/pull/1/head commit',
        'refs/tags/v1 tag',
      ].join('\n'),
    );
    const clone = await mkdtemp(join(tmpdir(), 'eph-clone-'));
    try {
      await git('clone', '--quiet', folder, clone);
      expect(await readFile(join(clone, 'z/é ü.txt'), 'utf8')).toBe('unicode\n');
      expect(await readlink(join(clone, 'a/link'))).toBe('../a.txt');
      expect(existsSync(join(clone, 'a.txt'))).toBe(false);
      expect(await git('-C', clone, 'log', '--format=%s', '-1')).toBe('Merge pull request #1 from acme/feature');
    } finally {
      await rm(clone, { recursive: true, force: true });
    }
  });

  it('give objects the names that Git gives them', async () => {
    const blob = makeObject('blob', Buffer.from('hello\n'));
    expect(blob.sha).toBe('ce013625030ba8dba906f756967f9e9ca394464a');
  });

  it('do not show commits of other repositories, though forks share theirs', async () => {
    await using github = await GithubEmulator.start();
    const shop = github.createRepository('acme/shop');
    const other = github.createRepository('acme/other').push('main', { x: 'secret\n' });
    const forked = shop.fork('mallory').push('patch', { y: 'patch\n' });
    const octokit = octokitFor(github, github.createToken());
    const commit = (sha: string) =>
      octokit.request('GET /repos/{owner}/{repo}/git/commits/{commit_sha}', { owner: 'acme', repo: 'shop', commit_sha: sha });

    await expect(commit(other)).rejects.toMatchObject({ status: 404 });
    expect((await commit(forked)).data.sha).toBe(forked);
  });
});
