import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { eventListSchema } from '@eph/contract';
import { describe, expect, it } from 'vitest';
import { GitlabEmulator } from '../parts/gitlab/gitlab-emulator.ts';
import type { Person } from '../parts/gitlab/person.ts';
import { EphdHarness } from './ephd-harness.ts';
import { eventually } from './eventually.ts';
import { expectFullLifecycle, type ForgeHarness, wakingAfterEachStep } from './forge-lifecycle.ts';
import { labelledApp } from './labelled-app.ts';
import { reservePort } from './reserved-ports.ts';

const project = 'acme/team/shop';
const secret = 'a secret of webhooks';

describe('the lifecycle of an environment on GitLab', () => {
  const start = async (gitlab: GitlabEmulator, harness: EphdHarness, hooked: boolean) => {
    const alice = gitlab.person('alice');
    await alice.createProject(project, { files: { 'README.md': 'a shop' } });
    const config = join(harness.folder, 'ephd.yaml');
    const hookPort = await reservePort();
    await writeFile(
      config,
      JSON.stringify({
        forges: {
          work: { type: 'gitlab', url: gitlab.url, token: { from: 'GITLAB_TOKEN' }, webhook_secret: { from: 'GITLAB_HOOK' } },
        },
        ...(hooked ? { webhooks: { port: hookPort } } : {}),
        projects: [{ name: 'shop', trusted: true, forge: 'work', location: project }],
      }),
    );
    const env = { GITLAB_TOKEN: gitlab.projectToken(project, 'developer'), GITLAB_HOOK: secret };
    await harness.start({ projects: [], args: ['--config', config], env });
    if (hooked) alice.addWebhook(project, `http://127.0.0.1:${hookPort}/webhooks/work`, secret);
    const forge = onGitlab(gitlab, alice);
    return { alice, forge: hooked ? forge : wakingAfterEachStep(harness, forge) };
  };

  it.each([
    ['with webhooks', true],
    ['without', false],
  ])('is triggered by a label and reported in one note, %s', { timeout: 180_000 }, async (_, hooked) => {
    await using gitlab = await GitlabEmulator.start();
    await using harness = await EphdHarness.create();
    const { forge } = await start(gitlab, harness, hooked);
    await expectFullLifecycle(harness, forge, labelledApp);
    await eventually('GitLab shows the one environment', () => environmentStates(gitlab).join() === 'available');
  });

  it('ends with the stop button of GitLab, which makes Eph remove the label', { timeout: 180_000 }, async () => {
    await using gitlab = await GitlabEmulator.start();
    await using harness = await EphdHarness.create();
    const { alice, forge } = await start(gitlab, harness, false);
    const { change, commit } = await forge.open(labelledApp());
    await change.request();
    const { name } = await harness.untilReady(change.source, commit);
    await eventually('GitLab shows it', () => gitlab.read.deployments(project).length === 1);
    alice.pressStop(project, `review/${name}`);
    await harness.untilGone(change.source);
    expect(harness.services()).toEqual([]);
    await eventually('GitLab shows none', () => environmentStates(gitlab).length === 0);
    expect(gitlab.read.mergeRequest({ project, iid: Number(change.source) }).labels).toEqual([]);
    const { events } = await harness.read('/api/v1/audit?type=audit.changed', eventListSchema);
    expect(events).toMatchObject([{ details: { how: 'forge', outcome: 'done', name, source: `pull request ${change.source}` } }]);
  });
});

const environmentStates = ({ read }: GitlabEmulator): readonly string[] => read.environments(project).map(({ state }) => state);

const onGitlab = ({ read }: GitlabEmulator, person: Person): ForgeHarness => ({
  async open(files) {
    const commit = await person.push(project, 'work', files);
    const at = await person.openMergeRequest(project, { source: 'work' });
    return {
      commit,
      change: {
        source: String(at.iid),
        request: async () => person.label(at, 'preview'),
        withdraw: async () => person.unlabel(at, 'preview'),
        push: (changed) => person.push(project, 'work', changed),
        setDraft: async (draft) => person[draft ? 'markDraft' : 'markReady'](at),
        close: async () => person.close(at),
        reopen: async () => person.reopen(at),
        reports: async () => read.comments(at).map(({ body }) => body),
      },
    };
  },
});
