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
const createWorld = async (options: { readonly comments?: boolean } = {}) => {
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
    await using world = await createWorld();
    const { gitlab, commit, report, statuses } = world;
    const reporter = world.start();
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
    await using world = await createWorld();
    const { report, statuses } = world;
    const phases = ['Pending', 'Progressing', 'Failed', 'Progressing', 'Ready', 'Progressing', 'Ready', 'Removing'] as const;
    for (const phase of phases) {
      await world.start().ensure(report(phase), signal);
      await world.start().ensure(report(phase), signal);
    }
    for (const last of [false, true]) await world.start().ensure(report('Removed', { last }), signal);
    expect(statuses()).toEqual(['failed', 'success', 'success', 'skipped']);
  });

  it('is taken back when an environment goes before it was ready, and never set for one that nobody heard of', async () => {
    await using world = await createWorld();
    const { report, statuses } = world;
    await world.start().ensure(report('Removed', { last: true }), signal);
    expect(statuses()).toEqual([]);
    await world.start().ensure(report('Progressing'), signal);
    await world.start().ensure(report('Removing'), signal);
    expect(statuses()).toEqual(['canceled']);
  });

  it('says something new when the reason is another', async () => {
    await using world = await createWorld();
    const { gitlab, commit, report } = world;
    for (const summary of ['one', 'one', 'two']) await world.start().ensure(report('Failed', { summary }), signal);
    expect(gitlab.read.statuses(path, commit).map(({ description }) => description)).toEqual(['Failed: one', 'Failed: two']);
  });

  it('is set for commits of forks too', async () => {
    await using world = await createWorld();
    const { gitlab, mallory, report } = world;
    await mallory.fork(path, 'mallory/shop');
    const commit = commitSha(await mallory.push('mallory/shop', 'patch', { 'b.txt': 'b' }));
    const { iid } = await mallory.openMergeRequest(path, { source: 'patch', from: 'mallory/shop' });
    await world.start().ensure(report('Ready', { commit, source: { kind: 'pr', name: String(iid) } }), signal);
    expect(gitlab.read.statuses(path, commit)).toMatchObject([{ status: 'success', ref: `refs/merge-requests/${iid}/head` }]);
  });
});

describe('an environment of GitLab', () => {
  it('has the address from the beginning, and a deployment for each commit that answers', async () => {
    await using world = await createWorld();
    const { gitlab, alice, commit, report } = world;
    const reporter = world.start();
    await reporter.ensure(report('Pending'), signal);
    expect(gitlab.read.environments(path)).toMatchObject([{ name: `review/${name}`, external_url: url, state: 'available' }]);
    expect(gitlab.read.deployments(path)).toEqual([]);
    await reporter.ensure(report('Ready'), signal);
    const next = commitSha(await alice.push(path, 'feature', { 'b.txt': 'b' }));
    for (const phase of ['Progressing', 'Ready'] as const) await world.start().ensure(report(phase, { commit: next }), signal);
    expect(gitlab.read.deployments(path).map(({ sha, ref, status }) => [sha, ref, status])).toEqual([
      [commit, 'feature', 'success'],
      [next, 'feature', 'success'],
    ]);
  });

  it('is stopped when the environment goes, and deleted with everything in it once it is gone', async () => {
    await using world = await createWorld();
    const { gitlab, report } = world;
    await world.start().ensure(report('Ready'), signal);
    await world.start().ensure(report('Removing'), signal);
    expect(gitlab.read.environments(path)).toMatchObject([{ state: 'stopped' }]);
    for (let time = 0; time < 2; time += 1) await world.start().ensure(report('Removed', { last: true }), signal);
    expect([gitlab.read.environments(path), gitlab.read.deployments(path)]).toEqual([[], []]);
  });

  it.each(['known', 'forgotten'])('is not left behind when the list arrives empty and it is %s', async (memory) => {
    await using world = await createWorld();
    const { gitlab, report, start } = world;
    const reporter = start();
    await reporter.ensure(report('Ready'), signal);
    hideOnce(world.harness, /\/environments\?name=/);
    await (memory === 'known' ? reporter : start()).ensure(report('Removed', { last: true }), signal);
    expect(gitlab.read.environments(path)).toEqual([]);
  });

  it('is not left behind when the answer to its creation got lost and the list arrives empty', async () => {
    await using world = await createWorld();
    const { gitlab, report } = world;
    const reporter = world.start();
    const match = { method: 'POST', path: /\/environments$/ };
    gitlab.failures.add({ failure: { kind: 'reset' }, match, takesEffect: true, times: 1 });
    await expect(reporter.ensure(report('Ready'), signal)).rejects.toMatchObject({ code: 'report.failed' });
    hideOnce(world.harness, /\/environments\?name=/);
    await reporter.ensure(report('Removed', { last: true }), signal);
    expect(gitlab.read.environments(path)).toEqual([]);
  });

  it('is one also when the list arrives empty', async () => {
    await using world = await createWorld();
    const { gitlab, report } = world;
    await world.start().ensure(report('Progressing'), signal);
    hideOnce(world.harness, /\/environments\?name=/);
    await world.start().ensure(report('Ready'), signal);
    expect(gitlab.read.environments(path)).toMatchObject([{ state: 'available' }]);
  });

  it('is not taken for deleted while the project cannot be seen', async () => {
    await using world = await createWorld();
    const { gitlab, report } = world;
    const reporter = world.start();
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
    await using world = await createWorld();
    const { gitlab, report } = world;
    await createForeign(world.harness, `review/${name}-2`);
    await world.start().ensure(report('Ready'), signal);
    await world.start().ensure(report('Removed', { last: true }), signal);
    expect(gitlab.read.environments(path)).toMatchObject([{ name: `review/${name}-2`, state: 'available' }]);
  });
});

describe('a reporter of GitLab', () => {
  it('is silent while there is nothing new', async () => {
    await using world = await createWorld();
    const { harness, report } = world;
    const reporter = world.start();
    await reporter.ensure(report('Ready'), signal);
    takeApiRequests(world.gitlab);
    await Promise.all([reporter.ensure(report('Ready'), signal), reporter.ensure(report('Ready'), signal)]);
    expect(takeApiRequests(world.gitlab)).toEqual([]);
    await world.start().ensure(report('Ready'), signal);
    expect(changes(harness)).toEqual([]);
  });

  it('shows statuses and environments of branches and tags, which nobody can comment on', async () => {
    await using world = await createWorld();
    const { gitlab, alice, commit, report, harness } = world;
    await alice.tag(path, 'v1', 'feature');
    const sources: readonly SourceRef[] = [
      { kind: 'branch', name: 'feature' },
      { kind: 'tag', name: 'v1' },
    ];
    for (const [index, source] of sources.entries()) {
      const view = createView({ name: environmentName(`shop-calm-bay-${index}000`), url, commit });
      await world.start().ensure(report('Ready', { source, view }), signal);
    }
    expect(gitlab.read.statuses(path, commit).map(({ ref, status }) => [ref, status])).toEqual([
      ['feature', 'success'],
      ['v1', 'success'],
    ]);
    expect(gitlab.read.environments(path)).toHaveLength(2);
    expect(changes(harness).filter((line) => line.includes('/notes'))).toEqual([]);
  });

  it('writes no notes where people do not want any', async () => {
    await using world = await createWorld({ comments: false });
    await world.start().ensure(world.report('Ready'), signal);
    expect(world.gitlab.read.comments(at)).toEqual([]);
    expect(world.statuses()).toEqual(['success']);
  });

  it('says what it may not do, and does the rest', async () => {
    await using world = await createWorld();
    const { gitlab, report } = world;
    gitlab.failures.add({ failure: { kind: 'status', status: 403 }, match: { method: 'POST', path: /\/statuses\// } });
    await expect(world.start().ensure(report('Ready'), signal)).rejects.toMatchObject({
      code: 'report.failed',
      message: expect.stringMatching(/Maintainer for protected branches/),
    });
    expect(gitlab.read.comments(at)).toHaveLength(1);
    expect(gitlab.read.environments(path)).toHaveLength(1);
  });

  it('writes nothing on a merge request or a commit that does not exist', async () => {
    await using world = await createWorld();
    const { gitlab, report } = world;
    await world.start().ensure(report('Ready'), signal);
    const source: SourceRef = { kind: 'pr', name: '99' };
    await world.start().ensure(report('Removed', { source, last: true }), signal);
    expect(gitlab.read.environments(path)).toEqual([]);
    const branch: SourceRef = { kind: 'branch', name: 'deleted' };
    await world.start().ensure(report('Removed', { source: branch, commit: commitSha('9'.repeat(40)), last: true }), signal);
  });

  it('writes one note also when GitLab takes it and the answer is lost', async () => {
    await using world = await createWorld();
    const { gitlab, report } = world;
    const reporter = world.start();
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
    await using world = await createWorld();
    const { gitlab, report, harness } = world;
    await world.start().ensure(report('Progressing'), signal);
    hideOnce(harness, /\/notes\?/);
    const reporter = world.start();
    await expect(reporter.ensure(report('Ready'), signal)).rejects.toMatchObject({ code: 'report.failed' });
    await reporter.ensure(report('Ready'), signal);
    expect(gitlab.read.comments(at)).toMatchObject([{ body: expect.stringContaining('Ready') }]);
  });

  it('writes no note again that somebody deleted, also when the list of reactions arrives empty', async () => {
    await using world = await createWorld();
    const { gitlab, alice, report, harness } = world;
    await world.start().ensure(report('Progressing'), signal);
    for (const { id } of gitlab.read.comments(at)) alice.deleteComment(at, id);
    hideOnce(harness, /\/award_emoji/);
    await world.start().ensure(report('Ready'), signal);
    expect(gitlab.read.comments(at)).toEqual([]);
  });
});

describe('the stop button of GitLab', () => {
  const expected = async () => {
    const world = await createWorld();
    const reporter = world.start();
    await reporter.ensure(world.report('Ready'), signal);
    const asked: SourceRef[] = [];
    const follow = (answer: () => boolean | Promise<never> = () => true, of = reporter) =>
      of.handleStops?.(async (source) => {
        asked.push(source);
        return await answer();
      }, signal);
    const states = () => world.gitlab.read.environments(path).map(({ state }) => state);
    const press = () => world.alice.pressStop(path, `review/${name}`);
    return { ...world, world, reporter, asked, follow, states, press };
  };

  it('requests the removal of the environment, and later reports respect it', async () => {
    const { world, report, reporter, asked, follow, states, press } = await expected();
    await using _ = world;
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
    const { world, commit, gitlab, asked, follow, states, press } = await expected();
    await using _ = world;
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
    const { world, asked, follow, states, press } = await expected();
    await using _ = world;
    press();
    await expect(follow(() => Promise.reject(new Error('away')))).rejects.toThrow('away');
    expect(states()).toEqual(['stopped']);
    await follow();
    expect(asked).toHaveLength(2);
  });

  it('counts also when the environment was deleted after it, and not when a list only lacks it', async () => {
    const { world, alice, asked, follow, press } = await expected();
    await using _ = world;
    hideOnce(world.harness, /\/environments\?states=/);
    await follow();
    expect(asked).toEqual([]);
    press();
    alice.deleteEnvironment(path, `review/${name}`);
    await follow();
    expect(asked).toHaveLength(1);
  });

  it('is not taken for pressed when Eph stopped it and it came back', async () => {
    const { world, report, reporter, start, asked, follow, states } = await expected();
    await using _ = world;
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
    const { world, report, reporter, asked, follow, states, press } = await expected();
    await using _ = world;
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
    const { world, gitlab, start, follow } = await expected();
    await using _ = world;
    takeApiRequests(gitlab);
    await follow();
    expect(takeApiRequests(gitlab)).toHaveLength(1);
    await follow(() => true, start());
    expect(takeApiRequests(gitlab)).toEqual([]);
  });

  it('of the environments of others is none of our business', async () => {
    const { world, alice, asked, follow } = await expected();
    await using _ = world;
    await createForeign(world.harness, 'review/theirs');
    alice.pressStop(path, 'review/theirs');
    await follow();
    expect(asked).toEqual([]);
  });
});
