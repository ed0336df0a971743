import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createGiteaServer } from '@eph/adapters/forge-gitea/gitea-server';
import { projectId } from '@eph/contract';
import { gitea } from '../../../test/parts/gitea.ts';
import type { GiteaRepository } from '../../../test/parts/gitea-repository.ts';
import type { GiteaServer } from '../../../test/parts/gitea-server.ts';
import { type ConfiguredForge, plainProject } from '../config.ts';
import type { Ephd } from '../wiring.ts';
import { shopFiles, shopPage } from './sample-files.ts';
import { print, Steps, startDemoEphd, until, untilGone, untilReady, untilStopped } from './steps.ts';
import { visit } from './visitor.ts';

const label = 'preview';

/** The demo of the shop with a label, on a Gitea that it starts. */
export const demoOnGitea = async (once: boolean): Promise<void> => {
  const finding = gitea.find();
  if (!finding.found) throw new Error(`Gitea was not found (${finding.reason}); install it with: npm run parts -- --get gitea`);
  const folder = mkdtempSync(join(tmpdir(), 'eph-demo-'));
  print('Starting Gitea.');
  const server = await gitea.start();
  try {
    const { admin } = server;
    const repository = await server.createRepository(admin.name, 'shop', withLabels(shopFiles));
    await repository.createLabel(label);
    await using ephd = await start(server, repository, folder);
    await (once ? demoOnce(server, repository, ephd) : demoUntilStopped(server, repository, ephd));
  } finally {
    await server.stop();
    rmSync(folder, { recursive: true, force: true });
  }
};

const withLabels = (files: typeof shopFiles): typeof shopFiles => ({
  ...files,
  'eph.yaml':
    files['eph.yaml']?.replace(/- type: git_branch\n {4}patterns: .*/, `- type: pr_label\n    labels: [${label}]`) ?? '',
});

const start = async (server: GiteaServer, repository: GiteaRepository, folder: string): Promise<Ephd> => {
  const secret = randomBytes(16).toString('hex');
  const location = `${repository.owner}/${repository.name}`;
  const forge: ConfiguredForge = {
    name: 'gitea',
    type: 'gitea',
    url: server.url,
    createServer: (options) => createGiteaServer({ ...options, baseUrl: server.url, token: server.admin.token }),
    webhookSecret: { value: secret, secret: true },
  };
  const ephd = await startDemoEphd({
    dataFolder: join(folder, 'data'),
    webhooks: { host: '127.0.0.1', port: 0 },
    configuration: { repository: undefined, documents: [] },
    projects: [{ ...plainProject(projectId('shop'), location), forge }],
  });
  const events = ['push', 'pull_request', 'pull_request_label', 'pull_request_sync', 'issue_comment', 'pull_request_comment'];
  await repository.addWebhook(`http://127.0.0.1:${ephd.webhookPort}/webhooks/gitea`, secret, events);
  return ephd;
};

const untilRemoved = async (ephd: Ephd, repository: GiteaRepository, number: number): Promise<void> => {
  await untilGone(ephd);
  await untilCommented(repository, number, 'removed');
};

const untilCommented = (repository: GiteaRepository, number: number, word: string): Promise<string> =>
  until(`a comment that says ${word}`, async () => {
    const [comment, second] = await repository.readComments(number);
    if (second !== undefined) throw new Error('there is more than one comment');
    return comment?.body.toLowerCase().includes(word.toLowerCase()) === true ? comment.body : undefined;
  });

const openPullRequest = async (repository: GiteaRepository): Promise<{ readonly number: number; readonly commit: string }> => {
  const commit = await repository.pushFiles('plums', shopPage('Plums are here'));
  const { number } = await repository.openPullRequest('plums', 'Plums are here');
  return { number, commit };
};

const demoOnce = async (server: GiteaServer, repository: GiteaRepository, ephd: Ephd): Promise<void> => {
  const steps = new Steps();
  print(`A small shop was made at ${server.url}/${repository.owner}/${repository.name}, and ephd watches it.\n`);
  const { number, commit } = await openPullRequest(repository);
  await repository.addLabels(number, label);
  const environment = await steps.time(`pull request labelled ${label}, environment ready`, () => untilReady(ephd, commit));
  await steps.time('comment written', () => untilCommented(repository, number, 'ready'));
  const second = await repository.pushFiles('plums', shopPage('Plums are ripe'));
  await steps.time('new commit pushed, environment ready', () => untilReady(ephd, second));
  const page = await visit(ephd.gatewayPort, environment.name);
  if (!page.body.includes('Plums are ripe')) throw new Error('the page shows something else');
  await repository.removeLabel(number, label);
  await steps.time('label removed, everything gone', () => untilRemoved(ephd, repository, number));
  await repository.addLabels(number, label);
  await steps.time('label put back, environment ready', () => untilReady(ephd, second));
  await repository.closePullRequest(number);
  await steps.time('pull request closed, everything gone', () => untilRemoved(ephd, repository, number));
  steps.print();
};

const demoUntilStopped = async (server: GiteaServer, repository: GiteaRepository, ephd: Ephd): Promise<void> => {
  const stopped = untilStopped();
  const { number, commit } = await openPullRequest(repository);
  await repository.addLabels(number, label);
  const { url } = await untilReady(ephd, commit);
  print(`
Pull request:  ${server.url}/${repository.owner}/${repository.name}/pulls/${number}
Log in as:     ${server.admin.name}, password ${server.admin.password}
Environment:   ${url}

Remove the label ${label} to remove the environment; add it to get it back. Ctrl-C removes everything.
`);
  await stopped;
  print('\nRemoving everything.');
  await repository.closePullRequest(number);
  await untilRemoved(ephd, repository, number);
};
