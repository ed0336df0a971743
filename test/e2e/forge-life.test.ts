import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, it } from 'vitest';
import { describeWith } from '../parts/describe-with.ts';
import { gitea } from '../parts/gitea.ts';
import type { GiteaRepository } from '../parts/gitea-repository.ts';
import type { GiteaServer } from '../parts/gitea-server.ts';
import { expectWholeLife, type ForgeHarness, passingAfterEachStep } from './forge-life.ts';
import { labelledApp, plainApp, textsOf } from './labelled-app.ts';
import { findQuietPort } from './quiet-ports.ts';
import { Site } from './site.ts';

describe('the life of an environment on plain Git', () => {
  it('is wished for by a branch, and reported in notes', async () => {
    await using site = await Site.create();
    await site.start();
    await expectWholeLife(site, plainGit(site), plainApp);
  });
});

/** A branch is asked for by pushing it under `preview/`, and its reports are notes. */
const plainGit = ({ repository }: Site): ForgeHarness => ({
  async open(files) {
    let commit = await repository.push('work', files);
    const ask = async (): Promise<void> => {
      await repository.git(['update-ref', 'refs/heads/preview/work', commit]);
    };
    const takeBack = (): Promise<void> => repository.delete('preview/work');
    return {
      commit,
      change: {
        source: 'preview/work',
        ask,
        takeBack,
        async push(changed) {
          commit = await repository.push('preview/work', changed);
          return commit;
        },
        // Git has no drafts.
        setDraft: () => Promise.resolve(),
        close: takeBack,
        reopen: ask,
        async reports() {
          const note = await repository.git(['notes', '--ref=eph', 'show', commit]).catch(() => '');
          return note === '' ? [] : [note];
        },
      },
    };
  },
});

describeWith(gitea, 'the life of an environment on Gitea', () => {
  let server: GiteaServer;

  beforeAll(async () => {
    server = await gitea.start();
  }, 120_000);
  afterAll(() => server.stop());

  it.each([
    ['with webhooks', true],
    ['without', false],
  ])('is wished for by a label and reported in one comment, %s', { timeout: 180_000 }, async (_, hooked) => {
    await using site = await Site.create();
    const name = `shop-${hooked ? 'hooked' : 'polled'}`;
    const repository = await server.createRepository(server.admin.name, name, { 'README.md': 'a shop' });
    await repository.createLabel('preview');
    const config = join(site.folder, 'ephd.yaml');
    const hookPort = await findQuietPort();
    await writeFile(
      config,
      JSON.stringify({
        forges: {
          work: { type: 'gitea', url: server.url, token: { from: 'GITEA_TOKEN' }, webhook_secret: { from: 'GITEA_HOOK' } },
        },
        ...(hooked ? { webhooks: { port: hookPort } } : {}),
        projects: [{ name: 'shop', forge: 'work', location: `${repository.owner}/${repository.name}` }],
      }),
    );
    const env = { GITEA_TOKEN: server.admin.token, GITEA_HOOK: 'a secret of webhooks' };
    await site.start({ projects: [], args: ['--config', config], env });
    if (hooked)
      await repository.addWebhook(`http://127.0.0.1:${hookPort}/webhooks/gitea`, env.GITEA_HOOK, [
        'push',
        'create',
        'delete',
        'pull_request',
        'pull_request_label',
        'pull_request_sync',
      ]);
    const forge = onGitea(repository);
    await expectWholeLife(site, hooked ? forge : passingAfterEachStep(site, forge), labelledApp);
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
        ask: () => repository.addLabels(number, 'preview'),
        takeBack: () => repository.removeLabel(number, 'preview'),
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
