import { commentMarker, commitSha, environmentId, environmentName, type ReportView } from '@eph/contract';
import type { Report } from '@eph/engine/report/reporter';
import { createView } from '@eph/engine/report/view.fake';
import { describe, expect, it } from 'vitest';
import type { GithubEmulator } from '../../../test/parts/github/github-emulator.ts';
import { parseNothing } from '../forge-http/forge-http.ts';
import type { ConnectOptions } from '../forge-http/forge-server.ts';
import { startGithubHarness } from './github-harness.fake.ts';

const start = async () => {
  const shop = await startGithubHarness();
  const { repository, forge, connect, signal } = shop;
  const commit = commitSha(repository.push('feature', { 'a.txt': 'a' }));
  const pull = repository.openPullRequest({ head: 'feature' });
  const createReporter = (changes: Partial<ConnectOptions> = {}) =>
    connect({ renderComment: ({ environment, view }) => `${commentMarker(environment)}\n${view.phase}`, ...changes }).reporter;
  let reporter = createReporter();
  const reportOn = (number: number, changes: Partial<ReportView> = {}, more: Partial<Report> = {}): Report => ({
    project: forge.project,
    environment: environmentId(number.toString(16).padStart(16, '0')),
    source: { kind: 'pr', name: String(pull.number) },
    commit,
    text: '',
    view: createView({ commit, name: environmentName(`shop-calm-bay-${1000 + number}`), ...changes }),
    last: false,
    ...more,
  });
  return {
    ...shop,
    commit,
    pull,
    createReporter,
    reportOn,
    ensure: (report: Report) => reporter.ensure(report, signal),
    restart: () => void (reporter = createReporter()),
  };
};

/** The next such list arrives without anything in it. */
const hideOnce = ({ failures }: GithubEmulator, path: RegExp): void => {
  failures.add({ failure: { kind: 'empty-page' }, times: 1, match: { method: 'GET', path } });
};

const phases = ['Pending', 'Progressing', 'Ready', 'Degraded', 'Failed', 'Removing', 'Removed'] as const;
const url = 'http://shop-calm-bay-1234.localhost';

describe('the status of a commit', () => {
  it('is green when its environment is ready, and never otherwise', async () => {
    const { repository, commit, reportOn, ensure } = await start();
    const states: Record<string, string | undefined> = {};
    for (const phase of phases) {
      await ensure(reportOn(1, { phase }));
      states[phase] = repository.statuses(commit)[0]?.state;
    }
    expect(states).toEqual({
      Pending: 'pending',
      Progressing: 'pending',
      Ready: 'success',
      Degraded: 'failure',
      Failed: 'failure',
      Removing: 'pending',
      Removed: 'pending',
    });
  });

  it('leads to the environment, one for each, on branches too', async () => {
    const { repository, commit, reportOn, ensure } = await start();
    await ensure(reportOn(1));
    await ensure(reportOn(2, { phase: 'Failed', summary: 'It broke' }, { source: { kind: 'branch', name: 'feature' } }));
    expect(repository.statuses(commit).toSorted((a, b) => a.context.localeCompare(b.context))).toEqual([
      { context: 'eph/shop-calm-bay-1001', state: 'success', description: 'Ready', targetUrl: url },
      { context: 'eph/shop-calm-bay-1002', state: 'failure', description: 'Failed: It broke', targetUrl: null },
    ]);
  });

  it('of a commit that is gone is nobody’s concern', async () => {
    const { repository, reportOn, ensure } = await start();
    const commit = commitSha('1'.repeat(40));
    await ensure(reportOn(1, { commit }, { commit }));
    expect(repository.deployments()).toEqual([]);
  });
});

describe('a report whose answer got lost', () => {
  const operations = ['issues/update-comment', 'repos/create-commit-status', 'repos/create-deployment'];

  it.each(operations)('is not forgotten when things are as they were before %s', async (operation) => {
    const { github, repository, commit, pull, reportOn, ensure } = await start();
    await ensure(reportOn(1, { phase: 'Removing' }));
    github.failures.add({ failure: { kind: 'reset' }, times: 1, takesEffect: true, match: { operation } });
    await expect(ensure(reportOn(1))).rejects.toMatchObject({ code: 'report.failed' });
    await ensure(reportOn(1, { phase: 'Removing' }));
    expect(pull.comments().map(({ body }) => body.split('\n')[1])).toEqual(['Removing']);
    expect([repository.statuses(commit)[0]?.state, repository.deployments()]).toEqual(['pending', []]);
  });
});

describe('the deployment of an environment', () => {
  it('is there for as long as it lives, with its address, under one name for the whole project', async () => {
    const { repository, commit, reportOn, ensure } = await start();
    await ensure(reportOn(1, { phase: 'Progressing' }));
    expect(repository.deployments()).toMatchObject([{ state: 'in_progress' }]);
    await ensure(reportOn(1));
    const ready = {
      environment: 'eph-shop',
      sha: commit,
      transient: true,
      production: false,
      state: 'success',
      environmentUrl: url,
    };
    expect(repository.deployments()).toMatchObject([ready]);
    await ensure(reportOn(2));
    expect(repository.deployments()).toMatchObject([ready, ready]);
    expect(repository.environments()).toEqual(['eph-shop']);
    await ensure(reportOn(1, { phase: 'Removed' }, { last: true }));
    expect(repository.deployments()).toMatchObject([ready]);
    await ensure(reportOn(2, { phase: 'Removing' }));
    expect(repository.deployments()).toEqual([]);
  });

  it('goes along with a new commit', async () => {
    const { repository, reportOn, ensure, restart } = await start();
    await ensure(reportOn(1));
    await ensure(reportOn(2));
    const commit = commitSha(repository.push('feature', { 'b.txt': 'b' }));
    restart();
    await ensure(reportOn(1, { commit, phase: 'Progressing' }, { commit }));
    expect(repository.deployments().map(({ sha, state }) => [sha === commit, state])).toEqual([
      [false, 'success'],
      [true, 'in_progress'],
    ]);
  });

  it('is written once, also by a reporter that knows nothing', async () => {
    const { github, reportOn, ensure, restart } = await start();
    await ensure(reportOn(1));
    github.requests.clear();
    await ensure(reportOn(1));
    restart();
    await ensure(reportOn(1));
    expect(github.requests.entries.filter(({ method }) => method !== 'GET')).toEqual([]);
  });

  it.each(['known', 'forgotten'])('is not left behind when the list arrives empty and it is %s', async (memory) => {
    const { github, repository, reportOn, ensure, restart } = await start();
    await ensure(reportOn(1));
    if (memory === 'forgotten') restart();
    hideOnce(github, /\/deployments\?/);
    await expect(ensure(reportOn(1, { phase: 'Removed' }, { last: true }))).rejects.toMatchObject({ code: 'report.failed' });
    expect(repository.deployments()).toHaveLength(1);
    await ensure(reportOn(1, { phase: 'Removed' }, { last: true }));
    expect(repository.deployments()).toEqual([]);
  });

  it('is not made again when the list arrives empty', async () => {
    const { github, repository, reportOn, ensure } = await start();
    await ensure(reportOn(1, { phase: 'Progressing' }));
    hideOnce(github, /\/deployments\?/);
    await expect(ensure(reportOn(1))).rejects.toMatchObject({ code: 'report.failed' });
    await ensure(reportOn(1));
    expect(repository.deployments()).toMatchObject([{ state: 'success' }]);
  });

  it('is found again when the answer to its creation got lost and the list arrives empty', async () => {
    const { github, repository, reportOn, ensure } = await start();
    github.failures.add({
      failure: { kind: 'reset' },
      times: 1,
      takesEffect: true,
      match: { operation: 'repos/create-deployment' },
    });
    await expect(ensure(reportOn(1))).rejects.toMatchObject({ code: 'report.failed' });
    hideOnce(github, /\/deployments\?/);
    await expect(ensure(reportOn(1, { phase: 'Removed' }, { last: true }))).rejects.toMatchObject({ code: 'report.failed' });
    await ensure(reportOn(1, { phase: 'Removed' }, { last: true }));
    expect(repository.deployments()).toEqual([]);
  });

  it('may be gone already when it is to go', async () => {
    const { repository, forge, reportOn, ensure, signal } = await start();
    await ensure(reportOn(1));
    const [{ id } = { id: 0 }] = repository.deployments();
    await forge.client.send('POST', `/deployments/${id}/statuses`, { state: 'inactive' }, parseNothing, signal);
    await forge.client.send('DELETE', `/deployments/${id}`, undefined, parseNothing, signal);
    await ensure(reportOn(1, { phase: 'Removed' }, { last: true }));
    expect(repository.deployments()).toEqual([]);
  });

  it('leaves those of others alone', async () => {
    const { repository, forge, commit, reportOn, ensure, signal } = await start();
    const foreign = {
      ref: commit,
      environment: 'eph-shop',
      payload: 'somebody’s text',
      auto_merge: false,
      required_contexts: [],
    };
    await forge.client.send('POST', '/deployments', foreign, parseNothing, signal);
    await ensure(reportOn(1));
    await ensure(reportOn(1, { phase: 'Removed' }, { last: true }));
    expect(repository.deployments()).toHaveLength(1);
  });

  it('and statuses are written without comments where those are off', async () => {
    const { repository, commit, pull, createReporter, reportOn, signal } = await start();
    await createReporter({ comments: false }).ensure(reportOn(1), signal);
    expect([repository.deployments().length, pull.comments(), repository.statuses(commit).length]).toEqual([1, [], 1]);
  });
});

describe('a comment', () => {
  it('is not written twice when the answer to the first got lost', async () => {
    const { github, pull, reportOn, ensure } = await start();
    const lost = { failure: { kind: 'reset' }, times: 1, takesEffect: true } as const;
    github.failures.add({ ...lost, match: { operation: 'issues/create-comment' } });
    await expect(ensure(reportOn(1))).rejects.toMatchObject({ code: 'report.failed' });
    await ensure(reportOn(1));
    expect(pull.comments()).toHaveLength(1);
  });

  it('is not taken for deleted while the repository cannot be seen', async () => {
    const { github, pull, reportOn, ensure } = await start();
    await ensure(reportOn(1));
    const hide = github.failures.add({ failure: { kind: 'status', status: 404 } });
    await expect(ensure(reportOn(1, { phase: 'Failed' }))).rejects.toMatchObject({ code: 'report.failed' });
    hide();
    await ensure(reportOn(1, { phase: 'Failed' }));
    expect(pull.comments().map(({ body }) => body.split('\n')[1])).toEqual(['Failed']);
  });

  it('is not taken for deleted when the list of comments arrives empty', async () => {
    const { github, pull, reportOn, ensure, restart } = await start();
    await ensure(reportOn(1));
    restart();
    hideOnce(github, /\/comments\?/);
    await expect(ensure(reportOn(1, { phase: 'Failed' }))).rejects.toMatchObject({ code: 'report.failed' });
    await ensure(reportOn(1, { phase: 'Failed' }));
    expect(pull.comments().map(({ body }) => body.split('\n')[1])).toEqual(['Failed']);
  });

  it.each(['issues/create-comment', 'repos/create-deployment'])(
    'is reported again when the answer to %s is cut short',
    async (operation) => {
      const { github, repository, pull, reportOn, ensure } = await start();
      github.failures.add({ failure: { kind: 'truncated', ending: 'clean' }, times: 1, match: { operation } });
      await expect(ensure(reportOn(1))).rejects.toMatchObject({ code: 'report.failed' });
      await ensure(reportOn(1));
      expect([pull.comments().length, repository.deployments().length]).toEqual([1, 1]);
    },
  );

  it('stays deleted when the last report has to be repeated', async () => {
    const { github, pull, reportOn, ensure } = await start();
    await ensure(reportOn(1));
    for (const { id } of pull.comments()) pull.deleteComment(id);
    const last = reportOn(1, { phase: 'Removed' }, { last: true });
    github.failures.add({ failure: { kind: 'status', status: 502 }, times: 1, match: { path: /\/statuses\// } });
    await expect(ensure(last)).rejects.toMatchObject({ code: 'report.failed' });
    await ensure(last);
    expect(pull.comments()).toEqual([]);
  });

  it('does not suffer from what else fails', async () => {
    const { github, repository, commit, pull, reportOn, ensure } = await start();
    github.failures.add({ failure: { kind: 'status', status: 403 }, match: { path: /\/deployments/ } });
    await expect(ensure(reportOn(1))).rejects.toMatchObject({ code: 'report.failed' });
    expect([pull.comments().length, repository.statuses(commit).length]).toEqual([1, 1]);
  });
});
