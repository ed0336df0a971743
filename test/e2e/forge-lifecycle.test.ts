import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeAll, describe, it } from 'vitest';
import { describeWith } from '../parts/describe-with.ts';
import { gitea } from '../parts/gitea.ts';
import type { GiteaRepository } from '../parts/gitea-repository.ts';
import type { GiteaAccess } from '../parts/gitea-server.ts';
import { findSharedGitea, ownName } from '../parts/shared-gitea.ts';
import { EphdHarness } from './ephd-harness.ts';
import { expectFullLifecycle, type ForgeHarness, wakingAfterEachStep } from './forge-lifecycle.ts';
import { labelledApp, plainApp, textsOf } from './labelled-app.ts';
import { reservePort } from './reserved-ports.ts';

describe('the lifecycle of an environment on plain Git', () => {
  it('is triggered by a branch and reported in notes', async () => {
    await using harness = await EphdHarness.create();
    await harness.start();
    await expectFullLifecycle(harness, plainGit(harness), plainApp);
  });
});

/** Pushing a branch under `preview/` requests an environment; reports are Git notes. */
const plainGit = ({ repository }: EphdHarness): ForgeHarness => ({
  async open(files) {
    let commit = await repository.push('work', files);
    const request = async (): Promise<void> => {
      await repository.git(['update-ref', 'refs/heads/preview/work', commit]);
    };
    const withdraw = (): Promise<void> => repository.delete('preview/work');
    return {
      commit,
      change: {
        source: 'preview/work',
        request,
        withdraw,
        async push(changed) {
          commit = await repository.push('preview/work', changed);
          return commit;
        },
        // Git has no drafts.
        setDraft: () => Promise.resolve(),
        close: withdraw,
        reopen: request,
        async reports() {
          const note = await repository.git(['notes', '--ref=eph', 'show', commit]).catch(() => '');
          return note === '' ? [] : [note];
        },
      },
    };
  },
});

describeWith(gitea, 'the lifecycle of an environment on Gitea', () => {
  let server: GiteaAccess;

  beforeAll(async () => {
    server = await findSharedGitea();
  }, 120_000);

  it.each([
    ['with webhooks', true],
    ['without', false],
  ])('is triggered by a label and reported in one comment, %s', { timeout: 180_000 }, async (_, hooked) => {
    await using harness = await EphdHarness.create();
    const name = ownName('shop');
    const repository = await server.createRepository(server.admin.name, name, { 'README.md': 'a shop' });
    await repository.createLabel('preview');
    const config = join(harness.folder, 'ephd.yaml');
    const hookPort = await reservePort();
    await writeFile(
      config,
      JSON.stringify({
        forges: {
          work: { type: 'gitea', url: server.url, token: { from: 'GITEA_TOKEN' }, webhook_secret: { from: 'GITEA_HOOK' } },
        },
        ...(hooked ? { webhooks: { port: hookPort } } : {}),
        projects: [{ name: 'shop', trusted: true, forge: 'work', location: `${repository.owner}/${repository.name}` }],
      }),
    );
    const env = { GITEA_TOKEN: server.admin.token, GITEA_HOOK: 'a secret of webhooks' };
    await harness.start({ projects: [], args: ['--config', config], env });
    if (hooked)
      await repository.addWebhook(`http://127.0.0.1:${hookPort}/webhooks/work`, env.GITEA_HOOK, [
        'push',
        'create',
        'delete',
        'pull_request',
        'pull_request_label',
        'pull_request_sync',
      ]);
    const forge = onGitea(repository);
    await expectFullLifecycle(harness, hooked ? forge : wakingAfterEachStep(harness, forge), labelledApp);
  });
});

const onGitea = (repository: GiteaRepository): ForgeHarness => ({
  async open(files) {
    const commit = await repository.pushFiles('work', textsOf(files));
    const { number } = await repository.openPullRequest('work', 'Work');
    return {
      commit,
      change: {
        source: String(number),
        request: () => repository.addLabels(number, 'preview'),
        withdraw: () => repository.removeLabel(number, 'preview'),
        push: (changed) => repository.pushFiles('work', textsOf(changed)),
        async setDraft(draft) {
          await repository.editPullRequest(number, { title: draft ? 'WIP: Work' : 'Work' });
        },
        async close() {
          await repository.closePullRequest(number);
        },
        async reopen() {
          await repository.reopenPullRequest(number);
        },
        async reports() {
          const comments = await repository.readComments(number);
          return comments.map(({ body }) => body);
        },
      },
    };
  },
});
