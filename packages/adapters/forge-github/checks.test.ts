import { commitSha } from '@eph/contract';
import { describe, expect, it } from 'vitest';
import { startGithubHarness } from './github-harness.fake.ts';

describe('the checks of a commit', () => {
  it('have the summary and the text of a run, cut after a whole line', async () => {
    const { github, repository, forge, signal } = await startGithubHarness();
    const sha = repository.push('feature', {});
    const actions = github.createApp({ slug: 'actions' });
    const line = 'eph-image: ghcr.io/acme/shop:größe\n';
    repository.addCheckRun(actions, sha, 'both', 'success', { summary: 'Built.', text: line });
    repository.addCheckRun(actions, sha, 'summary', 'success', { summary: line });
    repository.addCheckRun(actions, sha, 'text', null, { summary: '', text: line });
    repository.addCheckRun(actions, sha, 'neither', 'failure');
    repository.addCheckRun(actions, sha, 'long', 'success', { summary: line.repeat(1_500), text: line.repeat(1_500) });
    repository.setStatus(sha, 'success', { context: 'status', description: 'in 3 s' });
    repository.setStatus(sha, 'pending', { context: 'silent' });
    const { items } = await forge.pulls.checks(commitSha(sha), signal);
    expect(Object.fromEntries(items.map(({ name, text }) => [name, text]))).toEqual({
      both: `Built.\n${line}`,
      summary: line,
      text: line,
      neither: '',
      long: `${line.repeat(1_500)}\n${line.repeat(372)}`,
      status: 'in 3 s',
      silent: '',
    });
  });

  it('may have a text of 10 MB, of which the beginning counts', async () => {
    const { github, repository, forge, signal } = await startGithubHarness();
    const sha = repository.push('feature', {});
    const line = 'eph-image: ghcr.io/acme/shop:7\n';
    repository.addCheckRun(github.createApp({ slug: 'actions' }), sha, 'long', 'success', { text: line.repeat(340_000) });
    const { complete, items } = await forge.pulls.checks(commitSha(sha), signal);
    expect([complete, items.map(({ text }) => text)]).toEqual([true, [line.repeat(2_114)]]);
  });

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
