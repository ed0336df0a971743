import { execFile } from 'node:child_process';
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { GithubEmulator } from './github-emulator.ts';
import { octokitFor } from './octokit-clients.ts';

let github: GithubEmulator;
let octokit: ReturnType<typeof octokitFor>;
beforeAll(async () => {
  github = await GithubEmulator.start();
  octokit = octokitFor(github, github.createToken());
});
afterAll(() => github.stop());

describe('pull requests', () => {
  const shop = { owner: 'acme', repo: 'pulls' };

  it('are listed with labels, draft flag, head, base and author', async () => {
    const repository = github.createRepository('acme/pulls', { private: true });
    const head = repository.push('feature/login', { 'login.ts': 'export {};\n' });
    const pull = repository.openPullRequest({
      head: 'feature/login',
      title: 'Log in',
      draft: true,
      by: 'ada',
      labels: ['preview'],
    });
    repository.push('second', { x: '1' });
    repository.openPullRequest({ head: 'second' }).close();

    const { data } = await octokit.request('GET /repos/{owner}/{repo}/pulls', { ...shop, state: 'open', per_page: 100 });
    expect(data).toMatchObject([
      {
        number: pull.number,
        title: 'Log in',
        draft: true,
        user: { login: 'ada' },
        labels: [{ name: 'preview' }],
        head: { ref: 'feature/login', sha: head, repo: { full_name: 'acme/pulls' } },
        base: { ref: 'main', repo: { private: true } },
      },
    ]);
    const all = await octokit.request('GET /repos/{owner}/{repo}/pulls', { ...shop, state: 'all' });
    expect(all.data.map(({ state }) => state)).toEqual(['closed', 'open']);
    const byHead = await octokit.request('GET /repos/{owner}/{repo}/pulls', { ...shop, head: 'acme:feature/login' });
    expect(byHead.data).toHaveLength(1);
  });

  it('show the size of their change, computed by Git', async () => {
    const repository = github.createRepository('acme/changes', { files: { 'a.txt': '1\n2\n3\n', 'old.txt': 'same\ncontent\n' } });
    repository.push('feature', { 'a.txt': '1\ntwo\n3\n', 'new.txt': 'new\n', 'old.txt': null, 'moved.txt': 'same\ncontent\n' });
    repository.push('main', { 'elsewhere.txt': 'not part of the pull request\n' });
    repository.openPullRequest({ head: 'feature', by: 'ada' }).review('APPROVED', { by: 'grace', body: 'Good' });
    const one = { owner: 'acme', repo: 'changes', pull_number: 1 };

    const { data } = await octokit.request('GET /repos/{owner}/{repo}/pulls/{pull_number}', one);
    expect(data).toMatchObject({ changed_files: 3, additions: 2, deletions: 1, commits: 1, merged: false });
    const files = await octokit.request('GET /repos/{owner}/{repo}/pulls/{pull_number}/files', one);
    expect(files.data.map(({ filename, status, previous_filename }) => [filename, status, previous_filename])).toEqual([
      ['a.txt', 'modified', undefined],
      ['moved.txt', 'renamed', 'old.txt'],
      ['new.txt', 'added', undefined],
    ]);
    expect(files.data[0]?.patch).toContain('-2\n+two');
    const reviews = await octokit.request('GET /repos/{owner}/{repo}/pulls/{pull_number}/reviews', one);
    expect(reviews.data).toMatchObject([{ user: { login: 'grace' }, state: 'APPROVED', commit_id: data.head.sha }]);
    const commits = await octokit.request('GET /repos/{owner}/{repo}/pulls/{pull_number}/commits', one);
    expect(commits.data.map(({ sha }) => sha)).toEqual([data.head.sha]);
  });

  it('come from forks, and outlive them', async () => {
    const repository = github.createRepository('acme/forked');
    const fork = repository.fork('mallory');
    const head = fork.push('patch', { 'x.txt': 'x\n' }, { by: 'mallory' });
    const pull = repository.openPullRequest({ head: 'mallory:patch', by: 'mallory' });
    const one = { owner: 'acme', repo: 'forked', pull_number: pull.number };
    const get = async () => (await octokit.request('GET /repos/{owner}/{repo}/pulls/{pull_number}', one)).data;

    expect(await get()).toMatchObject({
      head: { label: 'mallory:patch', sha: head, repo: { fork: true, full_name: 'mallory/forked' } },
      author_association: 'NONE',
    });
    const next = fork.push('patch', { 'x.txt': 'y\n' }, { by: 'mallory' });
    expect((await get()).head.sha).toBe(next);
    fork.delete({ by: 'mallory' });
    expect(await get()).toMatchObject({ state: 'closed', head: { repo: null, sha: next } });
  });

  it('have a timeline with label events and all others', async () => {
    let now = Date.parse('2026-01-01T10:00:00Z');
    await using clocked = await GithubEmulator.start({ now: () => now });
    const repository = clocked.createRepository('acme/shop');
    repository.push('feature', { x: '1' });
    const pull = repository.openPullRequest({ head: 'feature' });
    now += 3_600_000;
    pull.label('preview', { by: 'ada' });
    pull.comment('/deploy', { by: 'ada' });
    pull.edit({ title: 'Better' });
    repository.push('feature', { x: '2' }, { from: 'main' });
    pull.convertToDraft();
    pull.markReady();
    pull.close();
    pull.reopen();
    pull.merge();
    const one = { owner: 'acme', repo: 'shop', issue_number: pull.number };
    const client = octokitFor(clocked, clocked.createToken());

    const events = await client.request('GET /repos/{owner}/{repo}/issues/{issue_number}/events', one);
    expect(events.data[0]).toMatchObject({
      event: 'labeled',
      label: { name: 'preview' },
      actor: { login: 'ada' },
      created_at: '2026-01-01T11:00:00Z',
    });
    const timeline = await client.request('GET /repos/{owner}/{repo}/issues/{issue_number}/timeline', one);
    expect(timeline.data.map((entry) => ('event' in entry ? entry.event : undefined))).toEqual([
      'labeled',
      'commented',
      'renamed',
      'head_ref_force_pushed',
      'convert_to_draft',
      'ready_for_review',
      'closed',
      'reopened',
      'merged',
      'closed',
    ]);
    const ofRepository = await client.request('GET /repos/{owner}/{repo}/issues/events', { owner: 'acme', repo: 'shop' });
    expect(ofRepository.data.at(-1)).toMatchObject({ event: 'labeled', issue: { number: pull.number } });
  });
});

describe('Git', () => {
  const shop = { owner: 'acme', repo: 'git' };
  let head = '';
  beforeAll(() => {
    const repository = github.createRepository('acme/git', { files: { 'eph.yaml': 'version: 1\n', 'deploy/app.yaml': 'a\n' } });
    head = repository.push('feature/a b', {
      'eph.yaml': 'version: 2\n',
      'link.yaml': { content: 'eph.yaml', symlink: true },
      'big.bin': Buffer.alloc(1_100_000),
    });
    repository.pushTag('v1.0', { annotated: true });
    repository.pushTag('v2.0', { at: head });
  });

  it('has branches, tags and refs under their names, slashes and spaces included', async () => {
    const branches = await octokit.request('GET /repos/{owner}/{repo}/branches', shop);
    expect(branches.data.map(({ name }) => name)).toEqual(['feature/a b', 'main']);
    const branch = await octokit.request('GET /repos/{owner}/{repo}/branches/{branch}', { ...shop, branch: 'feature/a b' });
    expect(branch.data.commit).toMatchObject({ sha: head, author: { login: 'octocat' } });
    const tags = await octokit.request('GET /repos/{owner}/{repo}/tags', shop);
    expect(tags.data.map(({ name, commit }) => [name, commit.sha === head])).toEqual([
      ['v2.0', true],
      ['v1.0', false],
    ]);
    const refs = await octokit.request('GET /repos/{owner}/{repo}/git/matching-refs/{ref}', { ...shop, ref: 'tags/v' });
    expect(refs.data.map(({ ref, object }) => [ref, object.type])).toEqual([
      ['refs/tags/v1.0', 'tag'],
      ['refs/tags/v2.0', 'commit'],
    ]);
    const ref = await octokit.request('GET /repos/{owner}/{repo}/git/ref/{ref}', { ...shop, ref: 'heads/feature/a b' });
    expect(ref.data.object.sha).toBe(head);
    const missing = octokit.request('GET /repos/{owner}/{repo}/git/ref/{ref}', { ...shop, ref: 'heads/feature' });
    await expect(missing).rejects.toMatchObject({ status: 404 });
  });

  it('serves files at a commit: as JSON, raw, as a folder, as a link, or without content if large', async () => {
    const read = async (path: string, accept?: string) =>
      (
        await octokit.request('GET /repos/{owner}/{repo}/contents/{path}', {
          ...shop,
          path,
          ref: head,
          ...(accept === undefined ? {} : { headers: { accept } }),
        })
      ).data;

    const file = await read('eph.yaml');
    expect(file).toMatchObject({ type: 'file', encoding: 'base64', size: 11 });
    expect(Buffer.from('content' in file ? (file.content ?? '') : '', 'base64').toString()).toBe('version: 2\n');
    expect(await read('eph.yaml', 'application/vnd.github.raw+json')).toBe('version: 2\n');
    expect(await read('')).toMatchObject([
      { name: 'big.bin', type: 'file', size: 1_100_000 },
      { name: 'deploy', type: 'dir' },
      { name: 'eph.yaml', type: 'file' },
      { name: 'link.yaml', type: 'symlink' },
    ]);
    expect(await read('link.yaml')).toMatchObject({ type: 'symlink', target: 'eph.yaml' });
    expect(await read('big.bin')).toMatchObject({ encoding: 'none', content: '', size: 1_100_000 });
    await expect(read('nowhere.yaml')).rejects.toMatchObject({ status: 404 });
    await expect(read('eph.yaml/inside')).rejects.toMatchObject({ status: 404 });
  });

  it('serves trees, blobs, commits and comparisons', async () => {
    const tree = await octokit.request('GET /repos/{owner}/{repo}/git/trees/{tree_sha}', {
      ...shop,
      tree_sha: head,
      recursive: '1',
    });
    expect(tree.data.tree.map(({ path, type }) => `${type} ${path}`)).toEqual([
      'blob big.bin',
      'tree deploy',
      'blob deploy/app.yaml',
      'blob eph.yaml',
      'blob link.yaml',
    ]);
    const blob = tree.data.tree.find(({ path }) => path === 'deploy/app.yaml')?.sha ?? '';
    const read = await octokit.request('GET /repos/{owner}/{repo}/git/blobs/{file_sha}', { ...shop, file_sha: blob });
    expect(Buffer.from(read.data.content, 'base64').toString()).toBe('a\n');
    const commit = await octokit.request('GET /repos/{owner}/{repo}/commits/{ref}', { ...shop, ref: 'feature/a b' });
    expect(commit.data).toMatchObject({ sha: head, stats: { additions: 2 }, files: [{}, { filename: 'eph.yaml' }, {}] });
    const sha = await octokit.request('GET /repos/{owner}/{repo}/commits/{ref}', {
      ...shop,
      ref: 'v1.0',
      headers: { accept: 'application/vnd.github.sha' },
    });
    expect(Buffer.from(sha.data as unknown as ArrayBuffer).toString()).toBe(commit.data.parents[0]?.sha);
    const comparison = await octokit.request('GET /repos/{owner}/{repo}/compare/{basehead}', {
      ...shop,
      basehead: `main...${head}`,
    });
    expect(comparison.data).toMatchObject({ status: 'ahead', ahead_by: 1, behind_by: 0 });
  });

  it('serves a whole tree as an archive, from another host, without a token', async () => {
    const { data, url } = await octokit.request('GET /repos/{owner}/{repo}/tarball/{ref}', { ...shop, ref: head });
    expect(new URL(url).port).not.toBe(new URL(github.url).port);
    const folder = await mkdtemp(join(tmpdir(), 'eph-tarball-'));
    try {
      await writeFile(join(folder, 'a.tar.gz'), Buffer.from(data as ArrayBuffer));
      await promisify(execFile)('tar', ['-xzf', 'a.tar.gz'], { cwd: folder });
      const [root = ''] = (await readdir(folder)).filter((name) => name !== 'a.tar.gz');
      expect(root).toBe(`acme-git-${head.slice(0, 7)}`);
      expect(await readFile(join(folder, root, 'eph.yaml'), 'utf8')).toBe('version: 2\n');
    } finally {
      await rm(folder, { recursive: true, force: true });
    }
    expect((await fetch(url.replace(/token=.*/, 'token=stolen'))).status).toBe(404);
  });
});

describe('the search', () => {
  it('finds open pull requests of an organisation by label', async () => {
    for (const name of ['one', 'two', 'three']) {
      const repository = github.createRepository(`searched/${name}`, { private: name === 'two' });
      repository.push('feature', { x: name });
      repository.openPullRequest({ head: 'feature', labels: name === 'three' ? [] : ['preview:48h'] });
      repository.openIssue('preview please');
    }
    const search = async (q: string) =>
      (await octokit.request('GET /search/issues', { q, sort: 'created', order: 'asc' })).data.items.map(
        ({ repository_url, number }) => `${repository_url.split('/').at(-1)}#${number}`,
      );

    expect(await search('is:pr is:open org:searched label:"preview:48h"')).toEqual(['one#1', 'two#1']);
    expect(await search('is:pr is:open org:searched -label:"preview:48h"')).toEqual(['three#1']);
    expect(await search('is:issue repo:searched/one preview')).toEqual(['one#2']);
    expect(await search(`is:pr org:searched updated:>${new Date(Date.now() + 60_000).toISOString()}`)).toEqual([]);
  });
});

describe('users', () => {
  it('have a role in a repository, on the old scale and the new', async () => {
    github.createOrganization('club', { owners: ['olga'], members: ['max'] });
    const repository = github.createRepository('club/house', { private: true });
    repository.grant('tria', 'triage');
    repository.grant('mai', 'maintain');
    github.createUser('stranger');
    const permission = async (username: string) => {
      const ask = 'GET /repos/{owner}/{repo}/collaborators/{username}/permission';
      const { data } = await octokit.request(ask, { owner: 'club', repo: 'house', username });
      return [data.permission, data.role_name];
    };

    expect(await permission('olga')).toEqual(['admin', 'admin']);
    expect(await permission('max')).toEqual(['read', 'read']);
    expect(await permission('tria')).toEqual(['read', 'triage']);
    expect(await permission('mai')).toEqual(['write', 'maintain']);
    expect(await permission('stranger')).toEqual(['none', 'none']);
    github.setMember('club', 'max', 'none');
    expect(await permission('max')).toEqual(['none', 'none']);
    await expect(permission('nobody')).rejects.toMatchObject({ status: 404 });
  });
});
