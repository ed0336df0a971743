import { createHmac } from 'node:crypto';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { createServer, type IncomingHttpHeaders } from 'node:http';
import type { AddressInfo } from 'node:net';
import { beforeAll, expect, it, onTestFinished, vi } from 'vitest';
import { describeWith } from './describe-with.ts';
import { gitea } from './gitea.ts';
import type { GiteaRepository } from './gitea-repository.ts';
import type { GiteaAccess } from './gitea-server.ts';
import { processesIn } from './processes-in.ts';
import { findSharedGitea, ownName } from './shared-gitea.ts';

vi.setConfig({ testTimeout: 120_000, hookTimeout: 120_000 });

interface Delivery {
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

/** Records the webhooks that it receives. */
const startListener = async (): Promise<{ readonly url: string; readonly deliveries: readonly Delivery[] }> => {
  const deliveries: Delivery[] = [];
  const server = createServer((request, response) => {
    let body = '';
    request.setEncoding('utf8').on('data', (text: string) => (body += text));
    request.on('end', () => {
      deliveries.push({ headers: request.headers, body });
      response.end();
    });
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => server.close().closeAllConnections());
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`, deliveries };
};

describeWith(gitea, 'gitea', () => {
  let server: GiteaAccess;
  let repository: GiteaRepository;
  const [owner, alice, mallory] = [ownName('acme'), ownName('alice'), ownName('mallory')];

  beforeAll(async () => {
    server = await findSharedGitea();
    await server.createOrganisation(owner);
    repository = await server.createRepository(owner, 'shop');
    await repository.createLabel('preview');
    await repository.createLabel('preview:48h');
  });

  it('has pull requests with labels and commits pushed with Git', async () => {
    const commit = await repository.pushFiles('feature/basket', { 'src/basket.txt': 'apples\n' });
    const { number } = await repository.openPullRequest('feature/basket', 'A basket');
    await repository.addLabels(number, 'preview', 'preview:48h');
    await repository.removeLabel(number, 'preview:48h');
    expect(await repository.readPullRequest(number)).toMatchObject({
      state: 'open',
      title: 'A basket',
      draft: false,
      user: { login: server.admin.name },
      labels: [{ name: 'preview' }],
      head: { ref: 'feature/basket', sha: commit, repo: { full_name: `${owner}/shop`, fork: false } },
      base: { ref: 'main' },
    });
    await repository.setLabels(number);
    expect(await repository.editPullRequest(number, { title: 'WIP: a basket' })).toMatchObject({ draft: true, labels: [] });
    expect(await repository.closePullRequest(number)).toMatchObject({ state: 'closed', merged: false });
    expect(await repository.reopenPullRequest(number)).toMatchObject({ state: 'open' });
  });

  it('moves the head of a pull request with a push, forced or not', async () => {
    const first = await repository.pushFiles('tune', { 'a.txt': '1', 'b.txt': '1' });
    const { number } = await repository.openPullRequest('tune');
    const head = async (): Promise<string> => (await repository.readPullRequest(number)).head.sha;
    const second = await repository.pushFiles('tune', { 'a.txt': '2', 'b.txt': undefined });
    await expect.poll(head).toBe(second);
    const forced = await repository.pushFiles('tune', { 'a.txt': '3' }, { onto: first });
    await expect.poll(head).toBe(forced);
    const back = await repository.pushFiles('tune', {}, { onto: second });
    await expect.poll(head).toBe(back);
    const files = await repository.send<{ readonly path: string }[]>('GET', '/contents?ref=tune');
    expect(files.map(({ path }) => path)).toEqual(['README.md', 'a.txt']);
  });

  it('accepts concurrent pushes', async () => {
    const branches = ['one', 'two', 'three', 'four'].map((name) => `many/${name}`);
    await Promise.all(branches.map((branch) => repository.pushFiles(branch, { 'name.txt': branch })));
    const found = await repository.send<{ readonly name: string }[]>('GET', '/branches');
    expect(found.map(({ name }) => name)).toEqual(expect.arrayContaining(branches));
  });

  it('has users with different permissions, forks, reviews, comments and statuses', async () => {
    const [member, outsider] = [await server.createUser(alice), await server.createUser(mallory)];
    await repository.addCollaborator(member, 'write');
    const fork = await repository.as(outsider).fork();
    const commit = await fork.pushFiles('patch', { 'patch.txt': 'please\n' });
    const { number, head } = await repository.as(outsider).openPullRequest(`${mallory}:patch`);
    expect(head).toMatchObject({ sha: commit, repo: { full_name: `${mallory}/shop`, fork: true } });
    await expect(repository.as(outsider).addLabels(number, 'preview')).rejects.toThrow('403');

    await repository.as(member).addReview(number, 'APPROVED');
    await repository.as(member).setStatus(commit, 'success', 'eph');
    const comment = await repository.as(member).addComment(number, 'Thank you');
    expect(await repository.readComments(number)).toMatchObject([{ body: 'Thank you', user: { login: alice } }]);
    await repository.deleteComment(comment.id);
    expect(await repository.readComments(number)).toEqual([]);
    expect(await repository.send('GET', `/pulls/${number}/reviews`)).toMatchObject([{ state: 'APPROVED', commit_id: commit }]);
    expect(await repository.send('GET', `/commits/${commit}/status`)).toMatchObject({ state: 'success' });
    await fork.delete();
    expect(await repository.readPullRequest(number)).toMatchObject({ state: 'closed', head: { repo: null } });
  });

  it('has branches and tags', async () => {
    await repository.createBranch('release/1');
    await repository.createTag('v1.0.0', 'release/1');
    await repository.deleteBranch('release/1');
    const names = async (kind: string): Promise<string[]> =>
      (await repository.send<{ readonly name: string }[]>('GET', `/${kind}`)).map(({ name }) => name);
    expect(await names('tags')).toEqual(['v1.0.0']);
    expect(await names('branches')).not.toContain('release/1');
  });

  it('rejects a revoked token', async () => {
    const token = await server.api.createToken(owner, ['read:repository']);
    const reader = server.api.as({ ...server.admin, token });
    expect((await reader.request('GET', `/repos/${owner}/shop/pulls`)).status).toBe(200);
    expect((await reader.request('POST', `/repos/${owner}/shop/branches`, { new_branch_name: 'mine' })).status).toBe(403);
    await server.api.deleteToken(owner);
    expect((await reader.request('GET', `/repos/${owner}/shop/pulls`)).status).toBe(401);
  });

  it('delivers webhooks with a signature', async () => {
    const { url, deliveries } = await startListener();
    await repository.addWebhook(url, 'between us', ['pull_request_label']);
    await repository.createBranch('hooked');
    await repository.pushFiles('hooked', { 'hook.txt': 'bait\n' });
    const { number } = await repository.openPullRequest('hooked');
    await repository.addLabels(number, 'preview');
    await expect.poll(() => deliveries.length).toBe(1);
    const [{ headers, body } = { headers: {}, body: '' }] = deliveries;
    expect(headers).toMatchObject({
      'x-gitea-event': 'pull_request',
      'x-gitea-event-type': 'pull_request_label',
      'x-gitea-signature': createHmac('sha256', 'between us').update(body).digest('hex'),
    });
    expect(JSON.parse(body)).toMatchObject({ action: 'label_updated', number, repository: { full_name: `${owner}/shop` } });
  });

  it('of one test runs next to it, survives a halt, and leaves no process and no folder once it is stopped', async () => {
    const own = await gitea.start();
    onTestFinished(() => own.stop());
    expect(own.port).not.toBe(server.port);
    expect((await own.api.request('GET', `/repos/${owner}/shop`)).status).toBe(404);
    expect((await server.api.request('GET', `/repos/${owner}/shop`)).status).toBe(200);
    await own.createOrganisation('acme');
    expect(processesIn(own.folder)).not.toEqual([]);

    await own.halt();
    expect(processesIn(own.folder)).toEqual([]);
    await expect(own.api.request('GET', '/orgs/acme')).rejects.toThrow('fetch failed');
    await own.resume();
    expect(await own.api.send('GET', '/orgs/acme')).toMatchObject({ name: 'acme' });

    await own.stop();
    await own.stop();
    expect(processesIn(own.folder)).toEqual([]);
    expect(existsSync(own.folder)).toBe(false);
  });
});
