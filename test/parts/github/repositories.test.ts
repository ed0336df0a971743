import { describe, expect, it } from 'vitest';
import { GithubEmulator } from './github-emulator.ts';
import { octokitFor, octokitForApp } from './octokit-clients.ts';

const get = 'GET /repos/{owner}/{repo}';

describe('a repository that moved', () => {
  it('is found under its old name, by reading and by writing', async () => {
    await using github = await GithubEmulator.start();
    const repository = github.createRepository('acme/shop', { private: true });
    repository.openIssue('Help');
    const octokit = octokitFor(github, github.createToken());
    repository.rename('store');
    repository.transfer('ada');

    const response = await fetch(`${github.url}/repos/acme/shop/issues?state=all`, {
      redirect: 'manual',
      headers: { authorization: `Bearer ${github.createToken()}` },
    });
    expect(response.status).toBe(301);
    expect(response.headers.get('location')).toBe(`${github.url}/repositories/${repository.id}/issues?state=all`);
    expect(await response.json()).toMatchObject({ message: 'Moved Permanently' });
    expect((await octokit.request(get, { owner: 'acme', repo: 'shop' })).data.full_name).toBe('ada/store');
    const comment = 'POST /repos/{owner}/{repo}/issues/{issue_number}/comments';
    const made = await octokit.request(comment, { owner: 'acme', repo: 'store', issue_number: 1, body: 'Hello' });
    expect(made.data.url).toContain('/repos/ada/store/');
    expect(github.requests.entries.filter(({ status }) => status === 307)).toHaveLength(1);
  });

  it('does not redirect users who may not see it, and its old name can be reused', async () => {
    await using github = await GithubEmulator.start();
    const repository = github.createRepository('acme/shop', { private: true });
    repository.rename('store');
    await expect(octokitFor(github).request(get, { owner: 'acme', repo: 'shop' })).rejects.toMatchObject({ status: 404 });
    const squatter = github.createRepository('acme/shop');
    const { data } = await octokitFor(github).request(get, { owner: 'acme', repo: 'shop' });
    expect(data.id).toBe(squatter.id);
  });

  it('is not accessible to the App of its old owner', async () => {
    await using github = await GithubEmulator.start();
    const repository = github.createRepository('acme/shop', { private: true });
    const app = github.createApp();
    const octokit = octokitForApp(github, app, app.install('acme'));
    expect((await octokit.request('GET /installation/repositories')).data.total_count).toBe(1);
    repository.transfer('ada');
    expect((await octokit.request('GET /installation/repositories')).data.total_count).toBe(0);
    await expect(octokit.request(get, { owner: 'acme', repo: 'shop' })).rejects.toMatchObject({ status: 404 });
  });

  it('is found by its old name once the App is installed for the new owner', async () => {
    await using github = await GithubEmulator.start();
    github.createOrganization('globex');
    const repository = github.createRepository('acme/shop', { private: true });
    const app = github.createApp();
    const find = () =>
      octokitForApp(github, app).request('GET /repos/{owner}/{repo}/installation', { owner: 'acme', repo: 'shop' });
    app.install('acme');
    repository.transfer('globex');
    await expect(find()).rejects.toMatchObject({ status: 404 });
    const { id } = app.install('globex');
    expect((await find()).data).toMatchObject({ id, account: { login: 'globex' } });
  });
});

describe('a deleted repository', () => {
  it('is 404, with everything in it', async () => {
    await using github = await GithubEmulator.start();
    const repository = github.createRepository('acme/shop');
    repository.push('feature', { x: '1' });
    repository.openPullRequest({ head: 'feature' });
    const octokit = octokitFor(github, github.createToken());
    repository.delete();
    const shop = { owner: 'acme', repo: 'shop' };
    await expect(octokit.request(get, shop)).rejects.toMatchObject({ status: 404 });
    await expect(octokit.request('GET /repos/{owner}/{repo}/pulls', shop)).rejects.toMatchObject({ status: 404 });
    expect((await octokit.request('GET /orgs/{org}/repos', { org: 'acme' })).data).toEqual([]);
  });
});

describe('lists of repositories', () => {
  it('show what the viewer may see, in the requested order', async () => {
    await using github = await GithubEmulator.start();
    github.createOrganization('acme', { members: ['max'] });
    github.createRepository('acme/b');
    github.createRepository('acme/a', { private: true });
    const names = async (octokit: ReturnType<typeof octokitFor>): Promise<readonly string[]> => {
      const { data } = await octokit.request('GET /orgs/{org}/repos', { org: 'acme', sort: 'full_name' });
      return data.map(({ name }) => name);
    };
    expect(await names(octokitFor(github))).toEqual(['b']);
    expect(await names(octokitFor(github, github.createToken({ by: 'max' })))).toEqual(['a', 'b']);
    expect(await names(octokitFor(github, github.createToken({ by: 'max', scopes: [] })))).toEqual(['b']);
    const missing = octokitFor(github).request('GET /orgs/{org}/repos', { org: 'nobody' });
    await expect(missing).rejects.toMatchObject({ status: 404 });
  });
});

describe('an archived repository', () => {
  it('is read-only', async () => {
    await using github = await GithubEmulator.start();
    const repository = github.createRepository('acme/old');
    repository.openIssue('Help');
    repository.archive();
    const octokit = octokitFor(github, github.createToken());
    const old = { owner: 'acme', repo: 'old' };
    expect((await octokit.request(get, old)).data.archived).toBe(true);
    const comment = 'POST /repos/{owner}/{repo}/issues/{issue_number}/comments';
    await expect(octokit.request(comment, { ...old, issue_number: 1, body: 'x' })).rejects.toMatchObject({ status: 403 });
  });
});

describe('GitHub Enterprise', () => {
  it('is served under /api/v3, with its own description and without rate limits', async () => {
    await using github = await GithubEmulator.start({ flavour: 'enterprise' });
    const repository = github.createRepository('acme/shop', { private: true });
    repository.push('feature', { x: '1' });
    const pull = repository.openPullRequest({ head: 'feature', labels: ['preview'] });
    const app = github.createApp();
    const octokit = octokitForApp(github, app, app.install('acme'));
    const shop = { owner: 'acme', repo: 'shop' };

    expect(github.url).toMatch(/\/api\/v3$/);
    const { data, headers } = await octokit.request('GET /repos/{owner}/{repo}/pulls', shop);
    expect(data[0]?.url).toBe(`${github.url}/repos/acme/shop/pulls/1`);
    expect(data[0]?.html_url).not.toContain('/api/v3');
    expect(headers['x-ratelimit-limit']).toBeUndefined();
    expect(headers['x-github-enterprise-version']).toBe('3.19.0');
    const again = octokit.request('GET /repos/{owner}/{repo}/pulls', { ...shop, headers: { 'if-none-match': headers.etag } });
    await expect(again).rejects.toMatchObject({ status: 304 });
    await octokit.request('POST /repos/{owner}/{repo}/statuses/{sha}', { ...shop, sha: pull.headSha, state: 'success' });
    expect(repository.statuses(pull.headSha)).toMatchObject([{ context: 'default', state: 'success' }]);

    expect((await fetch(`${new URL(github.url).origin}/repos/acme/shop`)).status).toBe(400);
    expect(github.takeViolations()).toHaveLength(1);
  });
});
