import { generateKeyPairSync } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import type { EmulatedApp, EmulatedInstallation } from './control/emulated-app.ts';
import { GithubEmulator } from './github-emulator.ts';
import { octokitFor, octokitForApp } from './octokit-clients.ts';

const shop = { owner: 'acme', repo: 'shop' };
const getRepository = 'GET /repos/{owner}/{repo}';
const comment = 'POST /repos/{owner}/{repo}/issues/{issue_number}/comments';

const newToken = async (github: GithubEmulator, app: EmulatedApp, { id }: EmulatedInstallation): Promise<string> => {
  const ask = 'POST /app/installations/{installation_id}/access_tokens';
  return (await octokitForApp(github, app).request(ask, { installation_id: id })).data.token;
};

describe('an App', () => {
  it('authenticates as itself, and gets tokens for its installations', async () => {
    await using github = await GithubEmulator.start();
    github.createRepository('acme/shop', { private: true });
    const app = github.createApp({ slug: 'eph' });
    const installation = app.install('acme');
    const octokit = octokitForApp(github, app, installation);

    expect((await octokit.request('GET /app')).data).toMatchObject({ slug: 'eph', installations_count: 1 });
    const { data } = await octokit.request('GET /repos/{owner}/{repo}/installation', shop);
    expect(data).toMatchObject({ id: installation.id, account: { login: 'acme' }, repository_selection: 'all' });
    const repositories = await octokit.request('GET /installation/repositories');
    expect(repositories.data).toMatchObject({ total_count: 1, repositories: [{ full_name: 'acme/shop', private: true }] });
  });

  it('is refused with a wrong key', async () => {
    await using github = await GithubEmulator.start();
    const app = github.createApp();
    const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
    const forged = Object.assign(Object.create(app), { privateKey: privateKey.export({ type: 'pkcs1', format: 'pem' }) });
    await expect(octokitForApp(github, forged).request('GET /app')).rejects.toMatchObject({ status: 401 });
  });

  it('detects clock skew with the Date header', async () => {
    const aheadMs = -5 * 60_000;
    await using github = await GithubEmulator.start({ now: () => Date.now() + aheadMs });
    const octokit = octokitForApp(github, github.createApp({ slug: 'eph' }));

    expect((await octokit.request('GET /app')).data).toMatchObject({ slug: 'eph' });
    expect(github.requests.entries.map(({ status }) => status)).toEqual([401, 200]);
  });

  it('requests a new token when the old one has expired', async () => {
    let now = Date.now();
    await using github = await GithubEmulator.start({ now: () => now });
    github.createRepository('acme/shop', { private: true });
    const app = github.createApp();
    const installation = app.install('acme');
    const octokit = octokitFor(github, await newToken(github, app, installation));
    expect((await octokit.request(getRepository, shop)).status).toBe(200);
    now += 3_600_000;
    await expect(octokit.request(getRepository, shop)).rejects.toMatchObject({ status: 401 });

    const renewed = octokitFor(github, await newToken(github, app, installation));
    expect((await renewed.request(getRepository, shop)).status).toBe(200);
    github.revokeInstallationTokens();
    await expect(renewed.request(getRepository, shop)).rejects.toMatchObject({ status: 401 });
  });

  it('has its permissions only where it is installed', async () => {
    await using github = await GithubEmulator.start();
    const repository = github.createRepository('acme/shop', { private: true });
    github.createRepository('acme/hidden', { private: true });
    repository.openIssue('Help');
    const app = github.createApp({ permissions: { contents: 'read', issues: 'read' } });
    const octokit = octokitForApp(github, app, app.install('acme', ['shop']));

    expect((await octokit.request(getRepository, shop)).status).toBe(200);
    await expect(octokit.request(getRepository, { owner: 'acme', repo: 'hidden' })).rejects.toMatchObject({ status: 404 });
    await expect(octokit.request(comment, { ...shop, issue_number: 1, body: 'Hi' })).rejects.toMatchObject({
      status: 403,
      message: expect.stringContaining('Resource not accessible by integration'),
      response: { headers: { 'x-accepted-github-permissions': 'issues=write; pull_requests=write' } },
    });
    await expect(octokit.request('GET /repos/{owner}/{repo}/pulls', shop)).rejects.toMatchObject({ status: 403 });
  });

  it('may narrow a token to repositories and permissions, never widen it', async () => {
    await using github = await GithubEmulator.start();
    const repository = github.createRepository('acme/shop', { private: true });
    repository.openIssue('Help');
    const sha = repository.refs.get('refs/heads/main') ?? '';
    github.createRepository('acme/other', { private: true });
    const app = github.createApp({ permissions: { issues: 'read', contents: 'read' } });
    const installation = app.install('acme');
    const askFor = (wish: object) =>
      octokitForApp(github, app).request('POST /app/installations/{installation_id}/access_tokens', {
        installation_id: installation.id,
        ...wish,
      });

    const { data } = await askFor({ repositories: ['shop'], permissions: { issues: 'read' } });
    const octokit = octokitFor(github, data.token);
    expect((await octokit.request('GET /repos/{owner}/{repo}/issues', shop)).data).toHaveLength(1);
    await expect(
      octokit.request('GET /repos/{owner}/{repo}/git/commits/{commit_sha}', { ...shop, commit_sha: sha }),
    ).rejects.toMatchObject({ status: 403 });
    await expect(octokit.request(getRepository, { owner: 'acme', repo: 'other' })).rejects.toMatchObject({ status: 404 });
    await expect(askFor({ permissions: { issues: 'write' } })).rejects.toMatchObject({ status: 422 });
    await expect(askFor({ repositories: ['nowhere'] })).rejects.toMatchObject({ status: 422 });
  });

  it('is refused when suspended, uninstalled or after its token is revoked', async () => {
    await using github = await GithubEmulator.start();
    github.createRepository('acme/shop', { private: true });
    const app = github.createApp();
    const installation = app.install('acme');
    // With the token itself: the client for Apps retries for seconds before it accepts a 401.
    const octokit = octokitFor(github, await newToken(github, app, installation));
    const read = () => octokit.request(getRepository, shop);

    await read();
    installation.suspend();
    await expect(read()).rejects.toMatchObject({ status: 403, message: expect.stringContaining('suspended') });
    installation.unsuspend();
    await read();
    github.revokeInstallationTokens();
    await expect(read()).rejects.toMatchObject({ status: 401, message: expect.stringContaining('Bad credentials') });
    installation.uninstall();
    await expect(read()).rejects.toMatchObject({ status: 401 });
  });
});

describe('a personal token', () => {
  it('authenticates its user until it expires or is revoked', async () => {
    let now = Date.now();
    await using github = await GithubEmulator.start({ now: () => now });
    const token = github.createToken({ by: 'ada' });
    const passing = octokitFor(github, github.createToken({ by: 'ada', lifeMs: 60_000 }));
    const octokit = octokitFor(github, token);

    const { data, headers } = await octokit.request('GET /user');
    expect(data.login).toBe('ada');
    expect(headers['x-oauth-scopes']).toBe('repo');
    expect((await passing.request('GET /user')).status).toBe(200);
    now += 60_000;
    await expect(passing.request('GET /user')).rejects.toMatchObject({ status: 401 });
    github.revokeToken(token);
    await expect(octokit.request('GET /user')).rejects.toMatchObject({ status: 401 });
  });

  it('gives access to what its user may see, and 404 for everything else', async () => {
    await using github = await GithubEmulator.start();
    const repository = github.createRepository('acme/shop', { private: true });
    const octokit = octokitFor(github, github.createToken({ by: 'ada' }));

    await expect(octokit.request(getRepository, shop)).rejects.toMatchObject({ status: 404 });
    await expect(octokitFor(github).request(getRepository, shop)).rejects.toMatchObject({ status: 404 });
    repository.grant('ada', 'read');
    expect((await octokit.request(getRepository, shop)).data.permissions).toMatchObject({ pull: true, push: false });
    await expect(
      octokit.request('POST /repos/{owner}/{repo}/statuses/{sha}', { ...shop, sha: '0'.repeat(40), state: 'success' }),
    ).rejects.toMatchObject({ status: 403 });
    repository.makePublic();
    expect((await octokitFor(github).request(getRepository, shop)).data.private).toBe(false);
    repository.makePrivate();
    await expect(octokitFor(github).request(getRepository, shop)).rejects.toMatchObject({ status: 404 });
  });

  it('is refused with 401 if it is unknown or missing', async () => {
    await using github = await GithubEmulator.start();
    await expect(octokitFor(github, 'ghp_nonsense').request('GET /user')).rejects.toMatchObject({ status: 401 });
    await expect(octokitFor(github).request('GET /user')).rejects.toMatchObject({ status: 401 });
  });
});
