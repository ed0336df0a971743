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
