import { afterAll, beforeAll, expect, it, vi } from 'vitest';
import { describeWith } from '../../../test/parts/describe-with.ts';
import { gitea } from '../../../test/parts/gitea.ts';
import type { GiteaRepository } from '../../../test/parts/gitea-repository.ts';
import type { GiteaAccess } from '../../../test/parts/gitea-server.ts';
import { findSharedGitea, ownName } from '../../../test/parts/shared-gitea.ts';
import { Receiver, shop } from './receiver.fake.ts';

vi.setConfig({ testTimeout: 120_000, hookTimeout: 120_000 });

const everything = [
  'push',
  'create',
  'delete',
  'pull_request',
  'pull_request_label',
  'pull_request_sync',
  'pull_request_comment',
  'pull_request_review_approved',
  'pull_request_review_rejected',
  'pull_request_review_comment',
  'issue_comment',
  'status',
];

describeWith(gitea, 'a real Gitea', () => {
  let server: GiteaAccess;
  let repository: GiteaRepository;
  let receiver: Receiver;

  beforeAll(async () => {
    server = await findSharedGitea();
    await server.createOrganisation('acme');
    repository = await server.createRepository('acme', 'shop');
    receiver = await new Receiver().start();
    await repository.addWebhook(`${receiver.url}/webhooks/gitea`, 'gitea secret', everything);
  });
  afterAll(async () => {
    await receiver?.[Symbol.asyncDispose]();
  });

  /** What the routes said of each event that woke somebody. */
  const wakingEvents = (): readonly unknown[] =>
    receiver.logged.flatMap(({ fields, message }) =>
      message === 'webhook woke projects' && 'event' in fields ? [fields.event] : [],
    );

  it('wakes the project whenever its environments may change, and is never refused', async () => {
    await repository.pushFiles('feature', { 'a.txt': 'a\n' });
    const { number } = await repository.openPullRequest('feature');
    await repository.createLabel('preview');
    await repository.addLabels(number, 'preview');
    const commit = await repository.pushFiles('feature', { 'a.txt': 'b\n' });
    await repository.setStatus(commit, 'success', 'build');
    await repository.addComment(number, '/preview');
    const reviewer = await server.createUser(ownName('rita'));
    await repository.addCollaborator(reviewer, 'write');
    await repository.as(reviewer).addReview(number, 'APPROVED', 'good');
    await repository.as(reviewer).addReview(number, 'REQUEST_CHANGES', 'not so good');
    await repository.removeLabel(number, 'preview');
    await repository.createTag('v1');
    await repository.closePullRequest(number);
    await repository.deleteBranch('feature');

    const expected = [
      'create',
      'delete',
      'issue_comment',
      'pull_request',
      'pull_request_approved',
      'pull_request_rejected',
      'push',
      'status',
    ];
    await expect.poll(() => new Set(wakingEvents()), { timeout: 60_000 }).toEqual(new Set(expected));
    // Opened, labelled, pushed to, unlabelled and closed.
    await expect.poll(() => wakingEvents().filter((event) => event === 'pull_request').length, { timeout: 60_000 }).toBe(5);
    expect(new Set(receiver.woken)).toEqual(new Set([shop]));
    expect(receiver.woken).toHaveLength(wakingEvents().length);
    expect(receiver.logged.map((one) => one.message)).not.toContain('webhooks were refused');
  });

  it('that does not know the secret is refused', async () => {
    const before = receiver.woken.length;
    const other = await server.createRepository('acme', 'other');
    await other.addWebhook(`${receiver.url}/webhooks/gitea`, 'guess', everything);
    await other.pushFiles('feature', { 'a.txt': 'a\n' });
    await expect.poll(() => receiver.logged.at(-1)?.message, { timeout: 60_000 }).toBe('webhooks were refused');
    expect(receiver.woken).toHaveLength(before);
  });
});
