import { describe, expect, it } from 'vitest';
import { GithubEmulator } from './github-emulator.ts';
import { octokitForApp } from './octokit-clients.ts';

describe('two thousand repositories with twenty thousand open pull requests', () => {
  it('are created quickly, with readable commits, and cost nothing while unchanged', async () => {
    await using github = await GithubEmulator.start({ rateLimit: { core: 15_000 } });
    const files = { 'eph.yaml': 'version: 1\n' };
    github.populate({
      owner: 'acme',
      repositories: 2000,
      pullRequestsEach: 10,
      files,
      labels: (pull) => (pull === 1 ? ['preview'] : []),
    });
    const app = github.createApp();
    const octokit = octokitForApp(github, app, app.install('acme'));

    const { data } = await octokit.request('GET /installation/repositories', { per_page: 100, page: 20 });
    expect(data).toMatchObject({ total_count: 2000, repositories: { length: 100 } });

    const sample = data.repositories.slice(0, 50).map(({ name }) => ({ owner: 'acme', repo: name, per_page: 100 }));
    const pulls = 'GET /repos/{owner}/{repo}/pulls';
    const tags = new Map<string, string>();
    for (const repository of sample) {
      const answer = await octokit.request(pulls, repository);
      expect(answer.data).toHaveLength(10);
      tags.set(repository.repo, answer.headers.etag ?? '');
    }
    github.requests.clear();
    for (const repository of sample) {
      const headers = { 'if-none-match': tags.get(repository.repo) ?? '' };
      await expect(octokit.request(pulls, { ...repository, headers })).rejects.toMatchObject({ status: 304 });
    }
    expect(github.requests.total).toMatchObject({ requests: 50, notModified: 50, points: 0 });
  });
});
