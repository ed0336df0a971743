import { commitSha, environmentId, environmentName, type ReportView, type SourceRef } from '@eph/contract';
import type { Report } from '@eph/engine/report/reporter';
import { createView } from '@eph/engine/report/view.fake';
import { describe, expect, it } from 'vitest';
import { createGitlabHarness, type GitlabHarness, path, takeApiRequests } from './gitlab-harness.fake.ts';

const { signal } = new AbortController();
const at = { project: path, iid: 1 };
const name = environmentName('shop-calm-bay-1234');
const url = 'http://shop-calm-bay-1234.localhost';

/** A merge request and what is reported about it. */
const createSetup = async (options: { readonly comments?: boolean } = {}) => {
  const harness = await createGitlabHarness();
  const { alice, forge, gitlab } = harness;
  const commit = commitSha(await alice.push(path, 'feature', { 'a.txt': 'a' }));
  await alice.openMergeRequest(path, { source: 'feature' });
  const start = () => harness.connect(options).reporter;
  const report = (phase: ReportView['phase'], changes: Partial<Report> & { readonly summary?: string } = {}): Report => {
    const { summary = '', ...rest } = changes;
    const on = rest.commit ?? commit;
    return {
      project: forge.project,
      environment: environmentId('00000000000000a7'),
      source: { kind: 'pr', name: '1' },
      commit: on,
      text: phase,
      view: createView({ name, url, phase, summary, commit: on }),
      last: false,
      ...rest,
    };
  };
  return {
    ...harness,
    harness,
    commit,
    start,
    report,
    statuses: (sha: string = commit) => gitlab.read.statuses(path, sha).map(({ status }) => status),
  };
};

/** The next such list arrives without anything in it. */
const hideOnce = ({ gitlab }: GitlabHarness, pattern: RegExp): void => {
  gitlab.failures.add({ failure: { kind: 'empty-page' }, match: { method: 'GET', path: pattern }, times: 1 });
};

/** An environment that somebody else made. */
const createForeign = async ({ gitlab, alice }: GitlabHarness, called: string): Promise<void> => {
  const headers = { 'private-token': gitlab.personalToken(alice), 'content-type': 'application/json' };
  const body = JSON.stringify({ name: called, external_url: 'https://example.com' });
  await fetch(`${gitlab.url}/api/v4/projects/${encodeURIComponent(path)}/environments`, { method: 'POST', headers, body });
};

const changes = ({ gitlab }: GitlabHarness): readonly string[] =>
  takeApiRequests(gitlab).filter((line) => !line.startsWith('GET'));

describe('the status of a commit', () => {
  it('is green only while the environment is ready, and leads there', async () => {
    await using setup = await createSetup();
    const { gitlab, commit, report, statuses } = setup;
    const reporter = setup.start();
    for (const phase of ['Pending', 'Progressing'] as const) await reporter.ensure(report(phase), signal);
    expect(statuses()).toEqual(['running']);
    await reporter.ensure(report('Ready'), signal);
    expect(gitlab.read.statuses(path, commit)).toMatchObject([
      { name: `eph/${name}`, status: 'success', target_url: url, ref: 'feature', description: 'Ready' },
    ]);
    expect(gitlab.read.mergeRequest(at).head_pipeline).toMatchObject({ status: 'success' });
    await reporter.ensure(report('Degraded', { summary: 'web is failing' }), signal);
    expect(statuses()).toEqual(['success', 'failed']);
    expect(gitlab.read.mergeRequest(at).head_pipeline).toMatchObject({ status: 'failed' });
  });

  it('goes through a whole life, with a restart at every step', async () => {
    await using setup = await createSetup();
    const { report, statuses } = setup;
    const phases = ['Pending', 'Progressing', 'Failed', 'Progressing', 'Ready', 'Progressing', 'Ready', 'Removing'] as const;
    for (const phase of phases) {
      await setup.start().ensure(report(phase), signal);
      await setup.start().ensure(report(phase), signal);
    }
    for (const last of [false, true]) await setup.start().ensure(report('Removed', { last }), signal);
    expect(statuses()).toEqual(['failed', 'success', 'success', 'skipped']);
  });

  it('is taken back when an environment goes before it was ready, and never set for one that nobody heard of', async () => {
    await using setup = await createSetup();
    const { report, statuses } = setup;
    await setup.start().ensure(report('Removed', { last: true }), signal);
    expect(statuses()).toEqual([]);
    await setup.start().ensure(report('Progressing'), signal);
    await setup.start().ensure(report('Removing'), signal);
    expect(statuses()).toEqual(['canceled']);
  });

  it('says something new when the reason is another', async () => {
    await using setup = await createSetup();
    const { gitlab, commit, report } = setup;
    for (const summary of ['one', 'one', 'two']) await setup.start().ensure(report('Failed', { summary }), signal);
    expect(gitlab.read.statuses(path, commit).map(({ description }) => description)).toEqual(['Failed: one', 'Failed: two']);
  });

  it('is set for commits of forks too', async () => {
    await using setup = await createSetup();
    const { gitlab, mallory, report } = setup;
    await mallory.fork(path, 'mallory/shop');
    const commit = commitSha(await mallory.push('mallory/shop', 'patch', { 'b.txt': 'b' }));
    const { iid } = await mallory.openMergeRequest(path, { source: 'patch', from: 'mallory/shop' });
    await setup.start().ensure(report('Ready', { commit, source: { kind: 'pr', name: String(iid) } }), signal);
    expect(gitlab.read.statuses(path, commit)).toMatchObject([{ status: 'success', ref: `refs/merge-requests/${iid}/head` }]);
  });
});

describe('an environment of GitLab', () => {
  it('has the address from the beginning, and a deployment for each commit that answers', async () => {
    await using setup = await createSetup();
    const { gitlab, alice, commit, report } = setup;
    const reporter = setup.start();
    await reporter.ensure(report('Pending'), signal);
    expect(gitlab.read.environments(path)).toMatchObject([{ name: `review/${name}`, external_url: url, state: 'available' }]);
    expect(gitlab.read.deployments(path)).toEqual([]);
    await reporter.ensure(report('Ready'), signal);
    const next = commitSha(await alice.push(path, 'feature', { 'b.txt': 'b' }));
    for (const phase of ['Progressing', 'Ready'] as const) await setup.start().ensure(report(phase, { commit: next }), signal);
    expect(gitlab.read.deployments(path).map(({ sha, ref, status }) => [sha, ref, status])).toEqual([
      [commit, 'feature', 'success'],
      [next, 'feature', 'success'],
    ]);
  });

  it('is stopped when the environment goes, and deleted with everything in it once it is gone', async () => {
    await using setup = await createSetup();
    const { gitlab, report } = setup;
    await setup.start().ensure(report('Ready'), signal);
    await setup.start().ensure(report('Removing'), signal);
    expect(gitlab.read.environments(path)).toMatchObject([{ state: 'stopped' }]);
    for (let time = 0; time < 2; time += 1) await setup.start().ensure(report('Removed', { last: true }), signal);
    expect([gitlab.read.environments(path), gitlab.read.deployments(path)]).toEqual([[], []]);
  });

  it.each(['known', 'forgotten'])('is not left behind when the list arrives empty and it is %s', async (memory) => {
    await using setup = await createSetup();
    const { gitlab, report, start } = setup;
    const reporter = start();
    await reporter.ensure(report('Ready'), signal);
    hideOnce(setup.harness, /\/environments\?name=/);
    await (memory === 'known' ? reporter : start()).ensure(report('Removed', { last: true }), signal);
    expect(gitlab.read.environments(path)).toEqual([]);
  });

  it('is not left behind when the answer to its creation got lost and the list arrives empty', async () => {
    await using setup = await createSetup();
    const { gitlab, report } = setup;
    const reporter = setup.start();
    const match = { method: 'POST', path: /\/environments$/ };
    gitlab.failures.add({ failure: { kind: 'reset' }, match, takesEffect: true, times: 1 });
    await expect(reporter.ensure(report('Ready'), signal)).rejects.toMatchObject({ code: 'report.failed' });
    hideOnce(setup.harness, /\/environments\?name=/);
    await reporter.ensure(report('Removed', { last: true }), signal);
    expect(gitlab.read.environments(path)).toEqual([]);
  });

  it('is one also when the list arrives empty', async () => {
    await using setup = await createSetup();
    const { gitlab, report } = setup;
    await setup.start().ensure(report('Progressing'), signal);
    hideOnce(setup.harness, /\/environments\?name=/);
    await setup.start().ensure(report('Ready'), signal);
    expect(gitlab.read.environments(path)).toMatchObject([{ state: 'available' }]);
  });

  it('is not taken for deleted while the project cannot be seen', async () => {
    await using setup = await createSetup();
    const { gitlab, report } = setup;
    const reporter = setup.start();
    await reporter.ensure(report('Ready'), signal);
    const hide = gitlab.failures.add({
      failure: { kind: 'status', status: 404, body: '{}' },
      match: { path: /acme%2Fweb%2Fshop(?:$|\/environments\/)/ },
    });
    await expect(reporter.ensure(report('Removed', { last: true }), signal)).rejects.toMatchObject({ code: 'report.failed' });
    hide();
    await reporter.ensure(report('Removed', { last: true }), signal);
    expect(gitlab.read.environments(path)).toEqual([]);
  });

  it('leaves those of others alone', async () => {
    await using setup = await createSetup();
    const { gitlab, report } = setup;
    await createForeign(setup.harness, `review/${name}-2`);
    await setup.start().ensure(report('Ready'), signal);
    await setup.start().ensure(report('Removed', { last: true }), signal);
    expect(gitlab.read.environments(path)).toMatchObject([{ name: `review/${name}-2`, state: 'available' }]);
  });
});

describe('a reporter of GitLab', () => {
  it('is silent while there is nothing new', async () => {
    await using setup = await createSetup();
    const { harness, report } = setup;
    const reporter = setup.start();
    await reporter.ensure(report('Ready'), signal);
    takeApiRequests(setup.gitlab);
    await Promise.all([reporter.ensure(report('Ready'), signal), reporter.ensure(report('Ready'), signal)]);
    expect(takeApiRequests(setup.gitlab)).toEqual([]);
    await setup.start().ensure(report('Ready'), signal);
    expect(changes(harness)).toEqual([]);
  });

  it('shows statuses and environments of branches and tags, which nobody can comment on', async () => {
    await using setup = await createSetup();
    const { gitlab, alice, commit, report, harness } = setup;
    await alice.tag(path, 'v1', 'feature');
    const sources: readonly SourceRef[] = [
      { kind: 'branch', name: 'feature' },
      { kind: 'tag', name: 'v1' },
    ];
    for (const [index, source] of sources.entries()) {
      const view = createView({ name: environmentName(`shop-calm-bay-${index}000`), url, commit });
      await setup.start().ensure(report('Ready', { source, view }), signal);
    }
    expect(gitlab.read.statuses(path, commit).map(({ ref, status }) => [ref, status])).toEqual([
      ['feature', 'success'],
      ['v1', 'success'],
    ]);
    expect(gitlab.read.environments(path)).toHaveLength(2);
    expect(changes(harness).filter((line) => line.includes('/notes'))).toEqual([]);
  });

  it('writes no notes where people do not want any', async () => {
    await using setup = await createSetup({ comments: false });
    await setup.start().ensure(setup.report('Ready'), signal);
    expect(setup.gitlab.read.comments(at)).toEqual([]);
    expect(setup.statuses()).toEqual(['success']);
  });

  it('says what it may not do, and does the rest', async () => {
    await using setup = await createSetup();
    const { gitlab, report } = setup;
    gitlab.failures.add({ failure: { kind: 'status', status: 403 }, match: { method: 'POST', path: /\/statuses\// } });
    await expect(setup.start().ensure(report('Ready'), signal)).rejects.toMatchObject({
      code: 'report.failed',
      message: expect.stringMatching(/Maintainer for protected branches/),
    });
    expect(gitlab.read.comments(at)).toHaveLength(1);
    expect(gitlab.read.environments(path)).toHaveLength(1);
  });

  it('writes nothing on a merge request or a commit that does not exist', async () => {
    await using setup = await createSetup();
    const { gitlab, report } = setup;
    await setup.start().ensure(report('Ready'), signal);
    const source: SourceRef = { kind: 'pr', name: '99' };
    await setup.start().ensure(report('Removed', { source, last: true }), signal);
    expect(gitlab.read.environments(path)).toEqual([]);
    const branch: SourceRef = { kind: 'branch', name: 'deleted' };
    await setup.start().ensure(report('Removed', { source: branch, commit: commitSha('9'.repeat(40)), last: true }), signal);
  });

  it('writes one note also when GitLab takes it and the answer is lost', async () => {
    await using setup = await createSetup();
    const { gitlab, report } = setup;
    const reporter = setup.start();
    gitlab.failures.add({
      failure: { kind: 'reset' },
      match: { method: 'POST', path: /\/notes$/ },
      takesEffect: true,
      times: 1,
    });
    await expect(reporter.ensure(report('Progressing'), signal)).rejects.toMatchObject({ code: 'report.failed' });
    await reporter.ensure(report('Ready'), signal);
    expect(gitlab.read.comments(at)).toHaveLength(1);
  });

  it('does not take an empty list of notes for one that somebody deleted', async () => {
    await using setup = await createSetup();
    const { gitlab, report, harness } = setup;
    await setup.start().ensure(report('Progressing'), signal);
    hideOnce(harness, /\/notes\?/);
    const reporter = setup.start();
    await expect(reporter.ensure(report('Ready'), signal)).rejects.toMatchObject({ code: 'report.failed' });
    await reporter.ensure(report('Ready'), signal);
    expect(gitlab.read.comments(at)).toMatchObject([{ body: expect.stringContaining('Ready') }]);
  });
});

describe('the stop button of GitLab', () => {
  const expected = async () => {
    const setup = await createSetup();
    const reporter = setup.start();
    await reporter.ensure(setup.report('Ready'), signal);
    const asked: SourceRef[] = [];
    const follow = (answer: () => boolean | Promise<never> = () => true, of = reporter) =>
      of.handleStops?.(async (source) => {
        asked.push(source);
        return await answer();
      }, signal);
    const states = () => setup.gitlab.read.environments(path).map(({ state }) => state);
    const press = () => setup.alice.pressStop(path, `review/${name}`);
    return { ...setup, setup, reporter, asked, follow, states, press };
  };

  it('requests the removal of the environment, and later reports respect it', async () => {
    const { setup, report, reporter, asked, follow, states, press } = await expected();
    await using _ = setup;
    await follow();
    expect(asked).toEqual([]);
    press();
    for (const phase of ['Degraded', 'Ready'] as const) await reporter.ensure(report(phase), signal);
    expect(states()).toEqual(['stopped']);
    await follow();
    expect(asked).toEqual([{ kind: 'pr', name: '1' }]);
    await reporter.ensure(report('Removing'), signal);
    await follow();
    await reporter.ensure(report('Removed', { last: true }), signal);
    await follow();
    expect(asked).toHaveLength(1);
    expect(states()).toEqual([]);
  });

  it('does nothing where only people can take it down: it is shown as it is', async () => {
    const { setup, commit, gitlab, asked, follow, states, press } = await expected();
    await using _ = setup;
    press();
    await follow(() => false);
    expect(states()).toEqual(['available']);
    expect(gitlab.read.deployments(path).map(({ sha }) => sha)).toEqual([commit, commit]);
    await follow();
    expect(asked).toHaveLength(1);
    press();
    await follow();
    expect(asked).toHaveLength(2);
  });

  it('is handled again when the request could not be written', async () => {
    const { setup, asked, follow, states, press } = await expected();
    await using _ = setup;
    press();
    await expect(follow(() => Promise.reject(new Error('away')))).rejects.toThrow('away');
    expect(states()).toEqual(['stopped']);
    await follow();
    expect(asked).toHaveLength(2);
  });

  it('counts also when the environment was deleted after it, and not when a list only lacks it', async () => {
    const { setup, alice, asked, follow, press } = await expected();
    await using _ = setup;
    hideOnce(setup.harness, /\/environments\?states=/);
    await follow();
    expect(asked).toEqual([]);
    press();
    alice.deleteEnvironment(path, `review/${name}`);
    await follow();
    expect(asked).toHaveLength(1);
  });

  it('is not taken for pressed when Eph stopped it and it came back', async () => {
    const { setup, report, reporter, start, asked, follow, states } = await expected();
    await using _ = setup;
    await reporter.ensure(report('Removing'), signal);
    await reporter.ensure(report('Ready'), signal);
    expect(states()).toEqual(['available']);
    await follow();
    await reporter.ensure(report('Removing'), signal);
    const restarted = start();
    await restarted.ensure(report('Progressing'), signal);
    await follow(() => true, restarted);
    await restarted.ensure(report('Ready'), signal);
    expect(states()).toEqual(['available']);
    await follow(() => true, restarted);
    expect(asked).toEqual([]);
  });

  it('is undone where nobody had seen the environment standing, and counts the next time', async () => {
    const { setup, report, reporter, asked, follow, states, press } = await expected();
    await using _ = setup;
    for (const phase of ['Removing', 'Ready'] as const) await reporter.ensure(report(phase), signal);
    press();
    await follow();
    expect([asked, states()]).toEqual([[], ['available']]);
    await follow();
    press();
    await follow();
    expect(asked).toHaveLength(1);
  });

  it('costs one request, and none without expected environments', async () => {
    const { setup, gitlab, start, follow } = await expected();
    await using _ = setup;
    takeApiRequests(gitlab);
    await follow();
    expect(takeApiRequests(gitlab)).toHaveLength(1);
    await follow(() => true, start());
    expect(takeApiRequests(gitlab)).toEqual([]);
  });

  it('of the environments of others is none of our business', async () => {
    const { setup, alice, asked, follow } = await expected();
    await using _ = setup;
    await createForeign(setup.harness, 'review/theirs');
    alice.pressStop(path, 'review/theirs');
    await follow();
    expect(asked).toEqual([]);
  });
});
