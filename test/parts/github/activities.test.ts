import { describe, expect, it } from 'vitest';
import { GithubEmulator } from './github-emulator.ts';
import { octokitFor, octokitForApp } from './octokit-clients.ts';

const shop = { owner: 'acme', repo: 'shop' };
const activities = 'GET /repos/{owner}/{repo}/activity';
const noCommit = '0'.repeat(40);

/** A repository whose clock advances by a second with every event. */
const start = async () => {
  let now = Date.parse('2026-01-05T09:00:00Z');
  const github = await GithubEmulator.start({ now: () => now });
  const repository = github.createRepository('acme/shop', { private: true });
  const octokit = octokitFor(github, github.createToken());
  const pass = (ms: number) => {
    now += ms;
  };
  const push = (branch: string, text: string, options: { from?: string; by?: string } = {}) => {
    pass(1_000);
    return repository.push(branch, { 'a.txt': text }, options);
  };
  const list = async (query: object = {}) => (await octokit.request(activities, { ...shop, ...query })).data;
  const summaries = async (query: object = {}) => (await list(query)).map((one) => `${one.activity_type} ${one.ref}`);
  return { github, repository, octokit, pass, push, list, summaries, [Symbol.asyncDispose]: () => github.stop() };
};

const cursor = (link: string | undefined, rel: string): string | undefined =>
  new RegExp(`<([^>]+)>; rel="${rel}"`).exec(link ?? '')?.[1];

describe('the activities of a repository', () => {
  it('list the events of its branches, newest first, with commits, times and users', async () => {
    await using setup = await start();
    const { repository, push, pass, list } = setup;
    const main = repository.refs.get('refs/heads/main');
    const first = push('feature', '1', { by: 'ada' });
    const second = push('feature', '2', { by: 'ada' });
    const other = push('feature', '3', { by: 'grace', from: 'main' });
    pass(1_000);
    const merge = repository.openPullRequest({ head: 'feature' }).merge({ by: 'olga' });
    repository.deleteBranch('feature', { by: 'olga' });
    repository.pushTag('v1');
    repository.deleteTag('v1');
    expect(await list()).toMatchObject([
      { activity_type: 'branch_deletion', ref: 'refs/heads/feature', before: other, after: noCommit, actor: { login: 'olga' } },
      { activity_type: 'pr_merge', ref: 'refs/heads/main', before: main, after: merge, actor: { login: 'olga' } },
      { activity_type: 'force_push', ref: 'refs/heads/feature', before: second, after: other, actor: { login: 'grace' } },
      { activity_type: 'push', before: first, after: second, timestamp: '2026-01-05T09:00:02Z', actor: { login: 'ada' } },
      { activity_type: 'branch_creation', before: noCommit, after: first, timestamp: '2026-01-05T09:00:01Z' },
      { activity_type: 'branch_creation', ref: 'refs/heads/main', before: noCommit, after: main, actor: { login: 'octocat' } },
    ]);
  });

  it('belong to one repository: a fork starts without any', async () => {
    await using setup = await start();
    const { github, repository, push, summaries } = setup;
    push('feature', '1');
    const fork = repository.fork('mallory');
    const octokit = octokitFor(github, github.createToken({ by: 'mallory' }));
    const inFork = () => octokit.request(activities, { owner: 'mallory', repo: 'shop' });
    expect((await inFork()).data).toEqual([]);
    fork.push('patch', { x: '1' }, { by: 'mallory' });
    expect((await inFork()).data).toMatchObject([{ ref: 'refs/heads/patch', actor: { login: 'mallory' } }]);
    expect(await summaries()).not.toContain('branch_creation refs/heads/patch');
  });

  it('can be filtered by branch, kind, user and time', async () => {
    await using setup = await start();
    const { pass, push, summaries } = setup;
    push('feature', '1', { by: 'ada' });
    pass(3 * 24 * 3_600_000);
    push('feature', '2', { by: 'Grace' });
    push('feature-2', '1', { by: 'ada' });
    for (const ref of ['feature', 'refs/heads/feature'])
      expect(await summaries({ ref })).toEqual(['push refs/heads/feature', 'branch_creation refs/heads/feature']);
    expect(await summaries({ ref: 'nowhere' })).toEqual([]);
    expect(await summaries({ activity_type: 'push' })).toEqual(['push refs/heads/feature']);
    expect(await summaries({ activity_type: 'merge_queue_merge' })).toEqual([]);
    expect(await summaries({ actor: 'grace' })).toEqual(['push refs/heads/feature']);
    expect(await summaries({ actor: 'nobody' })).toEqual([]);
    expect(await summaries({ time_period: 'day', actor: 'ada' })).toEqual(['branch_creation refs/heads/feature-2']);
    expect(await summaries({ time_period: 'week' })).toHaveLength(4);
    pass(24 * 3_600_000);
    expect(await summaries({ time_period: 'day' })).toEqual([]);
    expect(await summaries({ direction: 'asc', ref: 'feature' })).toEqual([
      'branch_creation refs/heads/feature',
      'push refs/heads/feature',
    ]);
  });

  it.each(['asc', 'desc'] as const)('are paginated by cursor (%s), whatever is added meanwhile', async (direction) => {
    await using setup = await start();
    const { octokit, push } = setup;
    const all = Array.from({ length: 5 }, (_, index) => push('feature', String(index)));
    const first = await octokit.request(activities, { ...shop, ref: 'feature', per_page: 2, direction });
    const seen = first.data.map(({ after }) => after);
    expect(cursor(first.headers.link, 'prev')).toBeUndefined();
    push('other', '1');
    const second = await octokit.request(cursor(first.headers.link, 'next') ?? '');
    const third = await octokit.request(cursor(second.headers.link, 'next') ?? '');
    for (const { data } of [second, third]) seen.push(...(data as { after: string }[]).map(({ after }) => after));
    expect(direction === 'asc' ? seen : seen.toReversed()).toEqual(all);
    expect(cursor(third.headers.link, 'next')).toBeUndefined();
    const back = await octokit.request(cursor(third.headers.link, 'prev') ?? '');
    expect(back.data).toEqual(second.data);
    expect((await octokit.request(cursor(back.headers.link, 'prev') ?? '')).data).toEqual(first.data);
  });

  it('refuse an invalid cursor, two cursors, and unknown parameters', async () => {
    await using setup = await start();
    const { github, octokit, push, list } = setup;
    push('feature', '1');
    const { headers } = await octokit.request(activities, { ...shop, per_page: 1 });
    const after = new URL(cursor(headers.link, 'next') ?? '').searchParams.get('after') ?? '';
    for (const query of [{ after: 'x' }, { before: '2' }, { after, before: after }])
      await expect(list(query)).rejects.toMatchObject({ status: 422 });
    expect(github.takeViolations()).toEqual([]);
    for (const query of [{ page: 2 }, { activity_type: 'tag_creation' }, { time_period: 'decade' }])
      await expect(list(query)).rejects.toMatchObject({ status: 400 });
    expect(github.takeViolations()).toHaveLength(3);
  });

  it('require permission to read contents', async () => {
    await using setup = await start();
    const { github } = setup;
    const app = github.createApp({ permissions: { issues: 'read' } });
    const installation = app.install('acme');
    await expect(octokitForApp(github, app, installation).request(activities, shop)).rejects.toMatchObject({ status: 403 });
    await expect(octokitFor(github).request(activities, shop)).rejects.toMatchObject({ status: 404 });
  });

  it('cost nothing while unchanged, and change when they fall out of the time period', async () => {
    await using setup = await start();
    const { github, octokit, pass, push } = setup;
    push('feature', '1');
    const { headers } = await octokit.request(activities, { ...shop, time_period: 'day' });
    const conditional = { ...shop, time_period: 'day', headers: { 'if-none-match': headers.etag } } as const;
    github.requests.clear();
    await expect(octokit.request(activities, conditional)).rejects.toMatchObject({ status: 304 });
    expect(github.requests.total.points).toBe(0);
    pass(24 * 3_600_000);
    expect((await octokit.request(activities, conditional)).data).toEqual([]);
  });

  it('may be listed late or never, with the time of the event', async () => {
    await using setup = await start();
    const { repository, pass, push, list, summaries } = setup;
    repository.delayActivities(60_000);
    push('feature', '1');
    expect(await summaries({ ref: 'feature' })).toEqual([]);
    pass(60_000);
    expect(await list({ ref: 'feature' })).toMatchObject([{ timestamp: '2026-01-05T09:00:01Z' }]);
    repository.delayActivities(Number.POSITIVE_INFINITY);
    push('feature', '2');
    pass(365 * 24 * 3_600_000);
    expect(await list({ ref: 'feature' })).toHaveLength(1);
  });

  it('can be empty because of an injected failure', async () => {
    await using setup = await start();
    setup.github.failures.add({ failure: { kind: 'empty-page' }, match: { operation: 'repos/list-activities' }, times: 1 });
    expect(await setup.list()).toEqual([]);
    expect(await setup.list()).toHaveLength(1);
  });
});
