import { commitSha } from '@eph/contract';
import { describe, expect, it } from 'vitest';
import { startGithubHarness } from './github-harness.fake.ts';

describe('the checks of a commit', () => {
  it('are the newest check run of each name and App, and statuses; of one name the worst counts', async () => {
    const { github, repository, forge, signal } = await startGithubHarness();
    const sha = repository.push('feature', {});
    const [actions, linter] = [github.createApp({ slug: 'actions' }), github.createApp({ slug: 'linter' })];
    repository.addCheckRun(actions, sha, 'build', 'failure');
    repository.addCheckRun(actions, sha, 'build', 'success');
    repository.addCheckRun(actions, sha, 'deploy');
    repository.addCheckRun(actions, sha, 'docs', 'skipped');
    repository.addCheckRun(actions, sha, 'lint', 'success');
    repository.addCheckRun(linter, sha, 'lint', 'timed_out');
    repository.addCheckRun(linter, sha, 'size', 'neutral');
    repository.setStatus(sha, 'pending', { context: 'size' });

    const { complete, items } = await forge.pulls.checks(commitSha(sha), signal);
    expect({ complete, checks: items.map(({ name, state }) => `${name}: ${state}`).toSorted() }).toEqual({
      complete: true,
      checks: ['build: success', 'deploy: pending', 'docs: success', 'lint: failure', 'size: pending'],
    });
  });
});
