import { afterAll, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import { GithubEmulator } from './github-emulator.ts';
import type { Failure } from './http/failures.ts';
import { octokitFor } from './octokit-clients.ts';

const shop = { owner: 'acme', repo: 'shop' };
const pulls = 'GET /repos/{owner}/{repo}/pulls';

let github: GithubEmulator;
let octokit: ReturnType<typeof octokitFor>;
beforeAll(async () => {
  github = await GithubEmulator.start();
  octokit = octokitFor(github, github.createToken());
  const repository = github.createRepository('acme/shop');
  repository.push('feature', { x: '1' });
  repository.openPullRequest({ head: 'feature', labels: ['preview'] });
});
beforeEach(() => {
  github.failures.clear();
  github.requests.clear();
});
afterAll(() => github.stop());

const once = (failure: Failure, takesEffect = false) =>
  github.failures.add({ failure, match: { operation: 'pulls/list' }, times: 1, takesEffect });
const ask = (signal?: AbortSignal) =>
  octokit.request(pulls, { ...shop, ...(signal === undefined ? {} : { request: { signal } }) });

describe('injected failures', () => {
  it('never answer a request', async () => {
    once({ kind: 'no-answer' });
    const patience = new AbortController();
    const asking = ask(patience.signal);
    await vi.waitFor(() => expect(github.requests.entries).toHaveLength(1), { timeout: 20_000 });
    patience.abort();
    await expect(asking).rejects.toThrow(/abort/i);
    expect(github.requests.entries).toMatchObject([{ operation: 'pulls/list', status: 0, points: 0, failure: 'no-answer' }]);
    expect((await ask()).data).toHaveLength(1);
  });

  it('reset the connection', async () => {
    once({ kind: 'reset' });
    await expect(ask()).rejects.toMatchObject({ status: 500, message: expect.stringMatching(/ECONNRESET|socket|closed/) });
  });

  it('truncate bodies, which octokit returns as a string or as nothing', async () => {
    once({ kind: 'truncated', ending: 'clean' });
    const cut: unknown = (await ask()).data;
    expect(cut).toEqual(expect.stringMatching(/^\[\{"url":/));
    once({ kind: 'truncated', ending: 'broken' });
    expect((await ask()).data).toBe('');
  });

  it('answer 200 with an empty list', async () => {
    once({ kind: 'empty-page' });
    const { status, data, headers } = await ask();
    expect({ status, data }).toEqual({ status: 200, data: [] });
    once({ kind: 'empty-page' });
    const conditional = { ...shop, headers: { 'if-none-match': headers.etag } };
    expect((await octokit.request(pulls, conditional)).data).toEqual([]);
    expect((await octokit.request(pulls, conditional)).data).toHaveLength(1);
  });

  it('empty lists of other shapes', async () => {
    github.failures.add({ failure: { kind: 'empty-page' }, times: 1 });
    const sha = github.repository('acme/shop').pullRequest(1).headSha;
    const { data } = await octokit.request('GET /repos/{owner}/{repo}/commits/{ref}/check-runs', { ...shop, ref: sha });
    expect(data).toEqual({ total_count: 0, check_runs: [] });
  });

  it('include error pages that are not JSON', async () => {
    github.failures.add({ failure: { kind: 'status', status: 502 }, times: 3 });
    for (let count = 0; count < 3; count += 1)
      await expect(ask()).rejects.toMatchObject({ status: 502, message: expect.stringContaining('Unicorn') });
    expect((await ask()).status).toBe(200);
  });

  it('impose a secondary limit with a message that differs every time', async () => {
    const refused = async (): Promise<string> => {
      once({ kind: 'secondary-limit', status: 429, retryAfterSeconds: 7 });
      const error: unknown = await ask().catch((reason: unknown) => reason);
      expect(error).toMatchObject({ status: 429, response: { headers: { 'retry-after': '7' } } });
      return String(error);
    };
    const [first, second] = [await refused(), await refused()];
    expect(first).toContain('secondary rate limit');
    expect(first).not.toBe(second);
  });

  it('delay answers', async () => {
    once({ kind: 'slow', delayMs: 50 });
    expect((await ask()).data).toHaveLength(1);
    expect(github.requests.entries).toMatchObject([{ status: 200, failure: 'slow' }]);
  });

  it('shift the Date header', async () => {
    once({ kind: 'skewed-date', byMs: -3_600_000 });
    const { headers } = await ask();
    expect(Date.parse(headers.date ?? '')).toBeLessThan(Date.now() - 3_500_000);
  });

  it('lose the answer to a request that took effect', async () => {
    const match = { operation: 'issues/create-comment' };
    github.failures.add({ failure: { kind: 'reset' }, match, times: 1, takesEffect: true });
    github.failures.add({ failure: { kind: 'reset' }, match, times: 1 });
    const comment = () =>
      octokit.request('POST /repos/{owner}/{repo}/issues/{issue_number}/comments', { ...shop, issue_number: 1, body: 'hi' });
    await expect(comment()).rejects.toMatchObject({ status: 500 });
    await expect(comment()).rejects.toMatchObject({ status: 500 });
    expect(github.repository('acme/shop').pullRequest(1).comments()).toHaveLength(1);
  });

  it('affect a page, a method or a share of all requests, the same ones for the same seed', async () => {
    const outcomes = async (seed: number): Promise<string> => {
      await using seeded = await GithubEmulator.start({ seed });
      seeded.failures.add({
        failure: { kind: 'status', status: 502 },
        match: { method: 'GET', path: /page=2/ },
        probability: 0.5,
      });
      const tries: number[] = [];
      for (let count = 0; count < 20; count += 1) tries.push((await fetch(`${seeded.url}/orgs/acme/repos?page=2`)).status);
      expect((await fetch(`${seeded.url}/orgs/acme/repos?page=1`)).status).toBe(404);
      return tries.join(' ');
    };
    const first = await outcomes(7);
    expect(first).toContain('502');
    expect(first).toContain('404');
    expect(await outcomes(7)).toBe(first);
    expect(await outcomes(8)).not.toBe(first);
  });
});

describe('every answer', () => {
  it('has a request id of its own', async () => {
    const [one, two] = [await ask(), await ask()];
    expect(one.headers['x-github-request-id']).not.toBe(two.headers['x-github-request-id']);
    expect(github.requests.entries.map(({ id }) => id)).toContain(two.headers['x-github-request-id']);
  });
});
