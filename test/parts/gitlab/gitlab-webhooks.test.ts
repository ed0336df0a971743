import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { LoopbackServer, type Received } from '../emulation/loopback-server.ts';
import { GitlabEmulator } from './gitlab-emulator.ts';

const project = 'acme/shop';
const received: Received[] = [];
let gitlab: GitlabEmulator;
let receiver: LoopbackServer;

beforeAll(async () => {
  gitlab = await GitlabEmulator.start();
  receiver = await LoopbackServer.start((request) => {
    received.push(request);
    return Promise.resolve({ answer: { status: 200, headers: {}, body: Buffer.alloc(0) }, fault: undefined });
  });
  await gitlab.person('alice').createProject(project, { files: { a: '1' } });
  gitlab.person('alice').addWebhook(project, `${receiver.url}/webhooks/gitlab`, 'hush');
});
afterAll(async () => {
  await gitlab[Symbol.asyncDispose]();
  await receiver[Symbol.asyncDispose]();
});
beforeEach(async () => {
  await gitlab.webhooksSettled();
  received.length = 0;
});

const events = async () => {
  await gitlab.webhooksSettled();
  return received.map(({ headers, body }) => ({ event: headers['x-gitlab-event'], payload: JSON.parse(body.toString()) }));
};

describe('webhooks', () => {
  it('have headers for the secret, the event and unique ids', async () => {
    await gitlab.person('alice').push(project, 'head', { a: '2' });
    await gitlab.webhooksSettled();
    const [push] = received;
    expect(push).toMatchObject({ method: 'POST', target: '/webhooks/gitlab' });
    expect(push?.headers).toMatchObject({
      'content-type': 'application/json',
      'x-gitlab-token': 'hush',
      'x-gitlab-event': 'Push Hook',
      'x-gitlab-instance': gitlab.url,
      'x-gitlab-webhook-uuid': expect.stringMatching(/^[0-9a-f-]{36}$/u),
      'x-gitlab-event-uuid': expect.stringMatching(/^[0-9a-f-]{36}$/u),
      'idempotency-key': expect.stringMatching(/^[0-9a-f-]{36}$/u),
    });
  });

  it('report pushes to branches and tags', async () => {
    const alice = gitlab.person('alice');
    const first = await alice.push(project, 'pushed', { b: '1' });
    const second = await alice.push(project, 'pushed', { b: '2', c: 'quite another text', a: null });
    await alice.tag(project, 'v1', 'pushed', 'First');
    await alice.deleteTag(project, 'v1');
    await alice.deleteBranch(project, 'pushed');
    const none = '0'.repeat(40);

    const seen = await events();
    expect(seen.map(({ event, payload }) => [event, payload.ref, payload.before, payload.after])).toEqual([
      ['Push Hook', 'refs/heads/pushed', none, first],
      ['Push Hook', 'refs/heads/pushed', first, second],
      ['Tag Push Hook', 'refs/tags/v1', none, expect.stringMatching(/^[0-9a-f]{40}$/u)],
      ['Tag Push Hook', 'refs/tags/v1', expect.stringMatching(/^[0-9a-f]{40}$/u), none],
      ['Push Hook', 'refs/heads/pushed', second, none],
    ]);
    expect(seen[1]?.payload.commits).toMatchObject([{ id: second, added: ['c'], modified: ['b'], removed: ['a'] }]);
    expect(seen[4]?.payload).toMatchObject({ checkout_sha: null, commits: [] });
  });

  it('report the lifecycle of a merge request, each with the state at that time', async () => {
    const alice = gitlab.person('alice');
    const sha = await alice.push(project, 'life', { d: '1' });
    const at = await alice.openMergeRequest(project, { source: 'life' });
    alice.label(at, 'preview');
    alice.unlabel(at, 'preview');
    alice.markDraft(at);
    alice.markReady(at);
    const next = await alice.push(project, 'life', { d: '2' });
    alice.close(at);
    alice.close(at);
    alice.reopen(at);
    const about = (await events()).filter(({ event }) => event === 'Merge Request Hook').map(({ payload }) => payload);

    expect(about.map(({ object_attributes: { action, last_commit } }) => [action, last_commit.id])).toEqual([
      ['open', sha],
      ['update', sha],
      ['update', sha],
      ['update', sha],
      ['update', sha],
      ['update', next],
      ['close', next],
      ['reopen', next],
    ]);
    const names = (labels: readonly { title: string }[]): readonly string[] => labels.map(({ title }) => title);
    expect(names(about[1].labels)).toEqual(['preview']);
    expect([names(about[2].changes.labels.previous), names(about[2].changes.labels.current)]).toEqual([['preview'], []]);
    expect(about[3]).toMatchObject({
      object_attributes: { draft: true },
      changes: { draft: { previous: false, current: true } },
    });
    expect(about[5].object_attributes.oldrev).toBe(sha);
    expect(about[6]).toMatchObject({
      object_attributes: { state: 'closed' },
      changes: { state_id: { previous: 1, current: 2 } },
    });
  });

  it('report comments and their edits, but no system notes', async () => {
    const alice = gitlab.person('alice');
    await alice.push(project, 'talk', { e: '1' });
    const at = await alice.openMergeRequest(project, { source: 'talk' });
    await alice.push(project, 'talk', { e: '2' });
    const note = alice.comment(at, '/deploy');
    alice.editComment(at, note, '/deploy --image=x');
    const about = (await events()).filter(({ event }) => event === 'Note Hook').map(({ payload }) => payload);
    expect(about.map(({ object_attributes: { action, note: text } }) => [action, text])).toEqual([
      ['create', '/deploy'],
      ['update', '/deploy --image=x'],
    ]);
    expect(about[0]).toMatchObject({
      user: { username: 'alice', email: '[REDACTED]' },
      merge_request: { iid: at.iid, source_branch: 'talk' },
    });
  });

  it('can be dropped or held back', async () => {
    const alice = gitlab.person('alice');
    gitlab.webhooks.mode = 'lost';
    await alice.push(project, 'unheard', { f: '1' });
    gitlab.webhooks.mode = 'held';
    await alice.push(project, 'late', { f: '1' });
    expect(await events()).toEqual([]);
    gitlab.webhooks.mode = 'deliver';
    expect((await events()).map(({ payload }) => payload.ref)).toEqual(['refs/heads/late']);
    expect(gitlab.webhooks.records.filter(({ outcome }) => outcome === 'lost')).toHaveLength(1);
  });
});
