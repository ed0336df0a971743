import { describe, expect, it } from 'vitest';
import { GithubEmulator } from './github-emulator.ts';
import { githubSecondaryLimits } from './http/secondary-limits.ts';
import { octokitFor, octokitForApp } from './octokit-clients.ts';

const shop = { owner: 'acme', repo: 'shop' };
const pulls = 'GET /repos/{owner}/{repo}/pulls';

const withPullRequest = (github: GithubEmulator) => {
  const repository = github.createRepository('acme/shop');
  repository.push('feature', { x: '1' });
  return { repository, pull: repository.openPullRequest({ head: 'feature' }) };
};

const remaining = (headers: object): number =>
  Number(Object.entries(headers).find(([name]) => name === 'x-ratelimit-remaining')?.[1]);

describe('a conditional request', () => {
  it('costs nothing without a change, and one point with one', async () => {
    let now = Date.now();
    await using github = await GithubEmulator.start({ now: () => now });
    const { pull } = withPullRequest(github);
    const octokit = octokitFor(github, github.createToken());
    const first = await octokit.request(pulls, shop);
    const conditional = { ...shop, headers: { 'if-none-match': first.headers.etag } };
    github.requests.clear();

    for (let pass = 0; pass < 3; pass += 1)
      await expect(octokit.request(pulls, conditional)).rejects.toMatchObject({
        status: 304,
        response: { headers: { 'x-ratelimit-remaining': '4999', etag: first.headers.etag } },
      });
    expect(github.requests.total).toEqual({ requests: 3, notModified: 3, points: 0, failures: 0 });
    pull.label('preview');
    const changed = await octokit.request(pulls, conditional);
    expect(changed.headers.etag).not.toBe(first.headers.etag);
    expect(remaining(changed.headers)).toBe(4998);
    expect(github.requests.of('pulls/list')).toMatchObject({ requests: 4, points: 1 });
    pull.unlabel('preview');
    // Equal to the second, which is the precision of GitHub.
    await expect(octokit.request(pulls, conditional)).rejects.toMatchObject({ status: 304 });
    now += 1000;
    pull.label('preview');
    pull.unlabel('preview');
    expect((await octokit.request(pulls, conditional)).status).toBe(200);
  });

  it('gets a full answer for another token, even of the same installation', async () => {
    await using github = await GithubEmulator.start();
    withPullRequest(github);
    const app = github.createApp();
    const installation = app.install('acme');
    const first = await octokitForApp(github, app, installation).request(pulls, shop);
    const headers = { 'if-none-match': first.headers.etag };
    expect((await octokitForApp(github, app, installation).request(pulls, { ...shop, headers })).status).toBe(200);
  });

  it('may use If-Modified-Since where GitHub sends Last-Modified', async () => {
    let now = Date.parse('2026-01-01T10:00:00Z');
    await using github = await GithubEmulator.start({ now: () => now });
    const { pull } = withPullRequest(github);
    const octokit = octokitFor(github, github.createToken());
    const get = 'GET /repos/{owner}/{repo}/pulls/{pull_number}';
    const { headers } = await octokit.request(get, { ...shop, pull_number: 1 });
    expect(headers['last-modified']).toBe('Thu, 01 Jan 2026 10:00:00 GMT');
    const since = { ...shop, pull_number: 1, headers: { 'if-modified-since': headers['last-modified'] } };
    await expect(octokit.request(get, since)).rejects.toMatchObject({ status: 304 });
    now += 1000;
    pull.comment('hello');
    expect((await octokit.request(get, since)).status).toBe(200);
    expect((await octokit.request(pulls, shop)).headers['last-modified']).toBeUndefined();
  });

  it('costs a point without a token', async () => {
    await using github = await GithubEmulator.start();
    withPullRequest(github);
    const octokit = octokitFor(github);
    const { headers } = await octokit.request(pulls, shop);
    const again = octokit.request(pulls, { ...shop, headers: { 'if-none-match': headers.etag } });
    await expect(again).rejects.toMatchObject({ status: 304 });
    expect(github.requests.total.points).toBe(2);
  });
});

describe('the primary limit', () => {
  it('refuses requests until its reset time, and is full again afterwards', async () => {
    let now = Date.parse('2026-01-01T10:00:00Z');
    await using github = await GithubEmulator.start({ now: () => now, rateLimit: { core: 2 } });
    withPullRequest(github);
    const octokit = octokitFor(github, github.createToken());
    const second = octokitFor(github, github.createToken());
    await octokit.request(pulls, shop);
    await second.request(pulls, shop);

    const refusal = await octokit.request(pulls, shop).catch((error: unknown) => error);
    expect(refusal).toMatchObject({
      status: 403,
      message: expect.stringMatching(/API rate limit exceeded for user ID \d+\. .* request ID \S+ and timestamp/),
      response: { headers: { 'x-ratelimit-remaining': '0', 'x-ratelimit-reset': String((now + 3_600_000) / 1000) } },
    });
    now += 3_600_000;
    expect(remaining((await octokit.request(pulls, shop)).headers)).toBe(1);
  });

  it('is separate per installation and user', async () => {
    await using github = await GithubEmulator.start();
    withPullRequest(github);
    const octokit = octokitFor(github, github.createToken());
    const app = github.createApp();
    const installed = octokitForApp(github, app, app.install('acme'));
    await octokit.request(pulls, shop);
    expect(remaining((await installed.request(pulls, shop)).headers)).toBe(4999);
    expect(remaining((await octokit.request(pulls, shop)).headers)).toBe(4998);
  });

  it('can be exhausted by a test', async () => {
    await using github = await GithubEmulator.start();
    withPullRequest(github);
    const octokit = octokitFor(github, github.createToken());
    github.rateLimits.leave(1);
    await octokit.request(pulls, shop);
    await expect(octokit.request(pulls, shop)).rejects.toMatchObject({ status: 403 });
    github.rateLimits.reset();
    expect((await octokit.request(pulls, shop)).status).toBe(200);
  });
});

describe('secondary limits', () => {
  it('count the requests of a minute, free answers included, and set Retry-After', async () => {
    let now = Date.now();
    const secondaryLimits = { ...githubSecondaryLimits, pointsPerMinute: 12 };
    await using github = await GithubEmulator.start({ now: () => now, secondaryLimits });
    withPullRequest(github);
    const octokit = octokitFor(github, github.createToken());
    const comment = 'POST /repos/{owner}/{repo}/issues/{issue_number}/comments';
    const write = () => octokit.request(comment, { ...shop, issue_number: 1, body: 'hi' });
    const { headers } = await octokit.request(pulls, shop);
    await write();
    await write();
    const again = octokit.request(pulls, { ...shop, headers: { 'if-none-match': headers.etag } });
    await expect(again).rejects.toMatchObject({ status: 304 });
    await expect(octokit.request(pulls, shop)).rejects.toMatchObject({
      status: 403,
      message: expect.stringContaining('secondary rate limit'),
      response: { headers: { 'retry-after': '60' } },
    });
    now += 61_000;
    expect((await octokit.request(pulls, shop)).status).toBe(200);
  });

  it('count content creation separately, and refuse only the client that exceeds it', async () => {
    const secondaryLimits = { ...githubSecondaryLimits, contentPerMinute: 2 };
    await using github = await GithubEmulator.start({ secondaryLimits });
    withPullRequest(github).repository.grant('bob', 'write');
    const [octokit, other] = ['octocat', 'bob'].map((by) => octokitFor(github, github.createToken({ by })));
    const comment = 'POST /repos/{owner}/{repo}/issues/{issue_number}/comments';
    const write = (who = octokit) => who?.request(comment, { ...shop, issue_number: 1, body: 'hi' });
    await write();
    await write();
    await expect(write()).rejects.toMatchObject({
      status: 403,
      response: { headers: { 'retry-after': expect.stringMatching(/^\d+$/), 'x-ratelimit-remaining': '4998' } },
    });
    await expect(octokit?.request(pulls, shop)).rejects.toMatchObject({ status: 403 });
    expect((await write(other))?.status).toBe(201);
  });
});

describe('pages', () => {
  it('are linked by the id of the repository, up to a hundred entries each', async () => {
    await using github = await GithubEmulator.start();
    const { repository, pull } = withPullRequest(github);
    for (let count = 0; count < 249; count += 1) pull.comment(`comment ${count}`);
    const octokit = octokitFor(github, github.createToken());
    const comments = 'GET /repos/{owner}/{repo}/issues/{issue_number}/comments';
    const first = await octokit.request(comments, { ...shop, issue_number: 1, per_page: 500 });
    expect(first.data).toHaveLength(100);
    const next = /<([^>]+)>; rel="next"/.exec(first.headers.link ?? '')?.[1] ?? '';
    expect(next).toBe(`${github.url}/repositories/${repository.id}/issues/1/comments?per_page=500&page=2`);
    expect(first.headers.link).toContain('page=3>; rel="last"');
    expect((await octokit.request(next)).data).toHaveLength(100);
    const last = await octokit.request(comments, { ...shop, issue_number: 1, per_page: 100, page: 3 });
    expect(last.data).toHaveLength(49);
    expect(last.headers.link).not.toContain('next');
    expect((await octokit.request(comments, { ...shop, issue_number: 1, page: 99 })).data).toEqual([]);
  });

  it('have no links if there is only one', async () => {
    await using github = await GithubEmulator.start();
    withPullRequest(github);
    expect((await octokitFor(github).request(pulls, shop)).headers.link).toBeUndefined();
  });
});
