import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { EmulatedApp } from './control/emulated-app.ts';
import { GithubEmulator } from './github-emulator.ts';
import { octokitFor, octokitForApp } from './octokit-clients.ts';

let github: GithubEmulator;
let app: EmulatedApp;
let octokit: ReturnType<typeof octokitFor>;
beforeAll(async () => {
  github = await GithubEmulator.start();
  github.createOrganization('acme');
  app = github.createApp({ slug: 'eph' });
  octokit = octokitForApp(github, app, app.install('acme'));
});
afterAll(() => github.stop());

const newRepository = (name: string) => {
  const repository = github.createRepository(`acme/${name}`, { private: true });
  const head = repository.push('feature', { x: '1' });
  return { repository, head, pull: repository.openPullRequest({ head: 'feature' }), shop: { owner: 'acme', repo: name } };
};

describe('comments', () => {
  it('are written, edited, found and reacted to', async () => {
    const { pull, shop } = newRepository('comments');
    const create = 'POST /repos/{owner}/{repo}/issues/{issue_number}/comments';
    const { data, headers } = await octokit.request(create, { ...shop, issue_number: pull.number, body: 'starting' });
    expect(headers.location).toBe(data.url);
    const one = { ...shop, comment_id: data.id };
    await octokit.request('PATCH /repos/{owner}/{repo}/issues/comments/{comment_id}', { ...one, body: 'ready <!-- eph -->' });
    const react = () =>
      octokit.request('POST /repos/{owner}/{repo}/issues/comments/{comment_id}/reactions', { ...one, content: 'eyes' });
    expect((await react()).status).toBe(201);
    expect((await react()).status).toBe(200);

    expect(pull.comments()).toMatchObject([{ author: 'eph[bot]', body: 'ready <!-- eph -->', reactions: ['eyes by eph[bot]'] }]);
    const list = 'GET /repos/{owner}/{repo}/issues/{issue_number}/comments';
    const listed = await octokit.request(list, { ...shop, issue_number: pull.number });
    expect(listed.data).toMatchObject([
      { user: { type: 'Bot' }, performed_via_github_app: { slug: 'eph' }, reactions: { eyes: 1, total_count: 1 } },
    ]);
    pull.deleteComment(Number(data.id));
    await expect(react()).rejects.toMatchObject({ status: 404 });
  });

  it('have a maximum length', async () => {
    const { pull, shop } = newRepository('long-comments');
    const body = 'x'.repeat(65_537);
    const create = 'POST /repos/{owner}/{repo}/issues/{issue_number}/comments';
    await expect(octokit.request(create, { ...shop, issue_number: pull.number, body })).rejects.toMatchObject({
      status: 422,
      message: expect.stringContaining('body is too long'),
    });
  });

  it('of others can be edited only with write access', async () => {
    const { repository, pull, shop } = newRepository('others');
    repository.grant('reader', 'read');
    const id = pull.comment('mine', { by: 'ada' });
    const edit = 'PATCH /repos/{owner}/{repo}/issues/comments/{comment_id}';
    const reader = octokitFor(github, github.createToken({ by: 'reader' }));
    await expect(reader.request(edit, { ...shop, comment_id: id, body: 'yours' })).rejects.toMatchObject({ status: 403 });
    expect(pull.comments()).toMatchObject([{ body: 'mine' }]);
  });
});

describe('labels', () => {
  it('are added and removed; names are case-insensitive', async () => {
    const { pull, shop } = newRepository('labels');
    const one = { ...shop, issue_number: pull.number };
    await octokit.request('POST /repos/{owner}/{repo}/issues/{issue_number}/labels', { ...one, labels: ['Preview', 'keep'] });
    expect(pull.labels).toEqual(['Preview', 'keep']);
    await octokit.request('POST /repos/{owner}/{repo}/issues/{issue_number}/labels', { ...one, labels: ['preview'] });
    expect(pull.labels).toEqual(['Preview', 'keep']);
    await octokit.request('DELETE /repos/{owner}/{repo}/issues/{issue_number}/labels/{name}', { ...one, name: 'PREVIEW' });
    expect(pull.labels).toEqual(['keep']);
    const again = octokit.request('DELETE /repos/{owner}/{repo}/issues/{issue_number}/labels/{name}', {
      ...one,
      name: 'preview',
    });
    await expect(again).rejects.toMatchObject({ status: 404 });
    const tooLong = { ...one, labels: ['x'.repeat(100_000)] };
    const adding = octokit.request('POST /repos/{owner}/{repo}/issues/{issue_number}/labels', tooLong);
    await expect(adding).rejects.toMatchObject({ status: 422 });
  });
});

describe('the status of a commit', () => {
  it('has one state per context, and a combined one', async () => {
    const { repository, head, shop } = newRepository('statuses');
    repository.setStatus(head, 'success', { context: 'ci' });
    const say = (state: 'pending' | 'success') =>
      octokit.request('POST /repos/{owner}/{repo}/statuses/{sha}', {
        ...shop,
        sha: head,
        state,
        context: 'eph',
        description: state,
      });
    await say('pending');
    const combined = async () =>
      (await octokit.request('GET /repos/{owner}/{repo}/commits/{ref}/status', { ...shop, ref: 'feature' })).data;
    expect(await combined()).toMatchObject({ state: 'pending', total_count: 2 });
    await say('success');
    expect((await combined()).state).toBe('success');
    expect(repository.statuses(head)).toMatchObject([
      { context: 'ci', state: 'success' },
      { context: 'eph', state: 'success' },
    ]);
  });

  it('may be a check run, of which the newest per name is listed', async () => {
    const { repository, head, shop } = newRepository('checks');
    repository.addCheckRun(app, head, 'build', 'failure');
    repository.addCheckRun(app, head, 'build', 'success');
    repository.addCheckRun(app, head, 'lint');
    const list = 'GET /repos/{owner}/{repo}/commits/{ref}/check-runs';
    const { data } = await octokit.request(list, { ...shop, ref: head, filter: 'latest' });
    expect(data).toMatchObject({
      total_count: 2,
      check_runs: [
        { name: 'lint', status: 'in_progress', conclusion: null, app: { slug: 'eph' }, pull_requests: [{ number: 1 }] },
        { name: 'build', status: 'completed', conclusion: 'success' },
      ],
    });
    expect((await octokit.request(list, { ...shop, ref: head, filter: 'all' })).data.total_count).toBe(3);
  });
});

describe('deployments', () => {
  const create = 'POST /repos/{owner}/{repo}/deployments';
  const say = 'POST /repos/{owner}/{repo}/deployments/{deployment_id}/statuses';

  it('coexist in one transient environment and can be deleted when inactive', async () => {
    const { repository, head, shop } = newRepository('deployments');
    const wish = { ...shop, ref: head, environment: 'shop', auto_merge: false, required_contexts: [] };
    const transient = { transient_environment: true, production_environment: false };
    const deploy = async () => {
      const { data } = await octokit.request(create, { ...wish, ...transient });
      const id = 'id' in data ? Number(data.id) : 0;
      await octokit.request(say, { ...shop, deployment_id: id, state: 'success', environment_url: 'https://a.example/' });
      return id;
    };
    const [first, second] = [await deploy(), await deploy()];
    expect(repository.deployments().map(({ id, state }) => [id, state])).toEqual([
      [first, 'success'],
      [second, 'success'],
    ]);
    const remove = (id: number) =>
      octokit.request('DELETE /repos/{owner}/{repo}/deployments/{deployment_id}', { ...shop, deployment_id: id });
    await expect(remove(first)).rejects.toMatchObject({ status: 422 });
    await octokit.request(say, { ...shop, deployment_id: first, state: 'inactive' });
    await remove(first);
    expect(repository.deployments()).toMatchObject([{ id: second, environmentUrl: 'https://a.example/', transient: true }]);
    expect(repository.environments()).toEqual(['shop']);
  });

  it('deactivate each other where the environment is not transient', async () => {
    const { repository, head, shop } = newRepository('staging');
    for (let count = 0; count < 2; count += 1) {
      const wish = { ...shop, ref: head, environment: 'staging', auto_merge: false, required_contexts: [] };
      const { data } = await octokit.request(create, wish);
      await octokit.request(say, { ...shop, deployment_id: 'id' in data ? Number(data.id) : 0, state: 'success' });
    }
    expect(repository.deployments().map(({ state }) => state)).toEqual(['inactive', 'success']);
  });

  it('merge the default branch and require successful checks unless disabled', async () => {
    const { repository, head, pull, shop } = newRepository('traps');
    repository.push('main', { other: '1' });
    const merged = await octokit.request(create, { ...shop, ref: 'feature', environment: 'x' });
    expect(merged.status).toBe(202);
    expect(pull.headSha).not.toBe(head);
    repository.setStatus(pull.headSha, 'pending');
    const demanding = octokit.request(create, { ...shop, ref: 'feature', environment: 'x', auto_merge: false });
    await expect(demanding).rejects.toMatchObject({ status: 409 });
  });
});
