import { createServer, type IncomingHttpHeaders } from 'node:http';
import type { AddressInfo } from 'node:net';
import { verify } from '@octokit/webhooks-methods';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { GithubEmulator } from '../github-emulator.ts';
import { octokitFor } from '../octokit-clients.ts';

const secret = 'only we know';

interface Received {
  readonly event: string;
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
  // The shape differs per event; tests compare parts of it.
  readonly payload: Record<string, unknown>;
}

/** Whoever asked to be told. */
class Receiver {
  readonly received: Received[] = [];
  readonly #server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const text = Buffer.concat(chunks).toString();
      const event = String(request.headers['x-github-event']);
      this.received.push({ event, headers: request.headers, text, payload: JSON.parse(text) });
      response.writeHead(202).end();
    });
  });

  async start(): Promise<string> {
    await new Promise<void>((resolve) => this.#server.listen(0, '127.0.0.1', resolve));
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}/webhooks/github`;
  }

  stop(): Promise<unknown> {
    this.#server.closeAllConnections();
    return new Promise((resolve) => this.#server.close(resolve));
  }

  get names(): readonly string[] {
    return this.received.map(({ event, payload }) =>
      typeof payload['action'] === 'string' ? `${event}.${payload['action']}` : event,
    );
  }
}

let receiver: Receiver;
let url = '';
beforeEach(async () => {
  receiver = new Receiver();
  url = await receiver.start();
});
afterEach(() => receiver.stop());

describe('webhooks', () => {
  it('report every event of a pull request, as described by GitHub', async () => {
    await using github = await GithubEmulator.start();
    const repository = github.createRepository('acme/shop', { private: true });
    repository.addHook(url, { secret });
    repository.push('feature', { x: '1' });
    const pull = repository.openPullRequest({ head: 'feature', by: 'ada' });
    pull.label('preview');
    repository.push('feature', { x: '2' });
    pull.convertToDraft();
    pull.markReady();
    pull.edit({ title: 'Better', body: 'Longer' });
    const comment = pull.comment('/deploy', { by: 'ada' });
    pull.editComment(comment, '/preview', { by: 'ada' });
    pull.deleteComment(comment);
    pull.review('APPROVED', { by: 'grace' });
    repository.setStatus(pull.headSha, 'success');
    pull.unlabel('preview');
    pull.close();
    pull.reopen();
    pull.merge();
    repository.deleteBranch('feature');
    repository.pushTag('v1', { annotated: true });
    repository.deleteTag('v1');
    await github.webhooks.settled();

    expect(receiver.names).toEqual([
      'ping',
      'create',
      'push',
      'pull_request.opened',
      'pull_request.labeled',
      'push',
      'pull_request.synchronize',
      'pull_request.converted_to_draft',
      'pull_request.ready_for_review',
      'pull_request.edited',
      'issue_comment.created',
      'issue_comment.edited',
      'issue_comment.deleted',
      'pull_request_review.submitted',
      'status',
      'pull_request.unlabeled',
      'pull_request.closed',
      'pull_request.reopened',
      'pull_request.closed',
      'push',
      'delete',
      'push',
      'create',
      'push',
      'delete',
      'push',
    ]);
    expect(receiver.received[4]?.payload).toMatchObject({
      number: 1,
      label: { name: 'preview' },
      pull_request: { labels: [{ name: 'preview' }], head: { ref: 'feature' }, user: { login: 'ada' } },
      repository: { full_name: 'acme/shop', private: true },
      organization: { login: 'acme' },
      sender: { login: 'octocat' },
    });
    expect(receiver.received[6]?.payload).toMatchObject({
      after: expect.any(String),
      pull_request: { head: { ref: 'feature' } },
    });
    expect(receiver.received[18]?.payload).toMatchObject({ pull_request: { merged: true, state: 'closed' } });
  });

  it('have the headers of GitHub and a signature that octokit verifies', async () => {
    await using github = await GithubEmulator.start();
    const repository = github.createRepository('acme/shop');
    repository.addHook(url, { secret, events: ['push'] });
    const sha = repository.push('main', { 'src/x.ts': '1', 'README.md': null }, { by: 'ada' });
    await github.webhooks.settled();

    const [, push] = receiver.received;
    expect(push?.headers).toMatchObject({
      'content-type': 'application/json',
      'user-agent': expect.stringMatching(/^GitHub-Hookshot\//),
      'x-github-hook-installation-target-type': 'repository',
      'x-github-delivery': expect.stringMatching(/^[0-9a-f-]{36}$/),
    });
    const signature = String(push?.headers['x-hub-signature-256']);
    expect(await verify(secret, push?.text ?? '', signature)).toBe(true);
    expect(await verify('guessed', push?.text ?? '', signature)).toBe(false);
    expect(push?.payload).toMatchObject({
      ref: 'refs/heads/main',
      after: sha,
      created: false,
      forced: false,
      commits: [{ id: sha, added: ['src/x.ts'], removed: ['README.md'], modified: [], author: { username: 'ada' } }],
    });
  });

  it('go to the App for the repositories it was installed on, with the id of the installation', async () => {
    await using github = await GithubEmulator.start();
    const chosen = github.createRepository('acme/chosen');
    const other = github.createRepository('acme/other');
    const app = github.createApp({ webhook: { url, secret } });
    const installation = app.install('acme', ['chosen']);
    other.push('main', { x: '1' });
    chosen.push('main', { x: '1' });
    chosen.makePrivate();
    chosen.rename('renamed');
    github.createOrganization('ltd');
    app.install('ltd');
    chosen.transfer('ltd');
    await github.webhooks.settled();

    expect(receiver.names).toEqual(['push', 'repository.privatized', 'repository.renamed', 'repository.transferred']);
    expect(receiver.received[0]?.payload).toMatchObject({
      installation: { id: installation.id },
      repository: { name: 'chosen' },
    });
  });

  it('go to the App for all repositories of the organisation, including its own events', async () => {
    await using github = await GithubEmulator.start();
    github.createOrganization('acme');
    const app = github.createApp({ webhook: { url, secret } });
    app.install('acme');
    const repository = github.createRepository('acme/shop', { private: true });
    repository.makePublic();
    const sha = repository.push('main', { x: '1' });
    repository.addCheckRun(app, sha, 'build');
    repository.addCheckRun(app, sha, 'build', 'failure');
    github.createOrganization('other');
    repository.fork('mallory').push('main', { x: '2' });
    repository.delete();
    await github.webhooks.settled();
    expect(receiver.names).toEqual([
      'repository.created',
      'repository.publicized',
      'push',
      'check_run.created',
      'check_run.completed',
      'repository.deleted',
    ]);
    expect(receiver.received[4]?.payload).toMatchObject({ sender: { login: 'eph[bot]' }, check_run: { conclusion: 'failure' } });
  });

  it('report only the chosen events, after a ping', async () => {
    await using github = await GithubEmulator.start();
    const repository = github.createRepository('acme/shop');
    repository.addHook(url, { secret, events: ['issue_comment'] });
    const comment = 'POST /repos/{owner}/{repo}/issues/{issue_number}/comments';
    const shop = { owner: 'acme', repo: 'shop', issue_number: repository.openIssue('Help') };
    await octokitFor(github, github.createToken()).request(comment, { ...shop, body: 'me too' });
    repository.push('main', { x: '1' });
    await github.webhooks.settled();
    expect(receiver.names).toEqual(['ping', 'issue_comment.created']);
    expect(receiver.received[1]?.payload).not.toHaveProperty('issue.pull_request');
  });

  it('can be switched off, dropped, doubled, delayed and replayed', async () => {
    await using github = await GithubEmulator.start();
    const repository = github.createRepository('acme/shop');
    repository.addHook(url, { secret, events: ['push'] });
    const push = async (): Promise<void> => {
      repository.push('main', { x: String(receiver.received.length + Math.random()) });
      await github.webhooks.settled();
    };
    await github.webhooks.settled();
    const received = (): number => receiver.received.length - 1;

    github.webhooks.enabled = false;
    await push();
    expect(received()).toBe(0);
    github.webhooks.enabled = true;
    github.webhooks.dropProbability = 1;
    await push();
    expect(received()).toBe(0);
    expect(github.webhooks.deliveries.at(-1)?.outcome).toBe('dropped');
    github.webhooks.dropProbability = 0;
    github.webhooks.duplicateProbability = 1;
    await push();
    expect(received()).toBe(2);
    expect(receiver.received[1]?.text).toBe(receiver.received[2]?.text);
    expect(receiver.received[1]?.headers['x-github-delivery']).toBe(receiver.received[2]?.headers['x-github-delivery']);
    github.webhooks.duplicateProbability = 0;
    github.webhooks.delayMs = 30;
    await push();
    expect(received()).toBe(3);
    const [delivered] = github.webhooks.deliveries.filter(({ outcome }) => outcome === 202).slice(-1);
    if (delivered !== undefined) github.webhooks.replay(delivered);
    await github.webhooks.settled();
    expect(receiver.received.at(-1)?.text).toBe(delivered?.body);
    expect(received()).toBe(4);
  });

  it('are lost without a receiver', async () => {
    await using github = await GithubEmulator.start();
    const repository = github.createRepository('acme/shop');
    repository.addHook('http://127.0.0.1:1/nobody');
    await github.webhooks.settled();
    expect(github.webhooks.deliveries).toMatchObject([{ event: 'ping', outcome: 'unreachable' }]);
  });
});
