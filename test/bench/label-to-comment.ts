import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { request } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { reservePort } from '../e2e/reserved-ports.ts';
import { RunningEphd } from '../e2e/running-ephd.ts';
import { type GiteaOptions, gitea } from '../parts/gitea.ts';
import type { GiteaRepository } from '../parts/gitea-repository.ts';
import type { GiteaServer } from '../parts/gitea-server.ts';
import { getCommand } from '../parts/part.ts';
import { until } from './bench-ephd.ts';
import { atMost, type Figure, median, missing, reported } from './figure.ts';

const rounds = 7;
const restMs = 1_000;
const askServiceEveryMs = 5;
/** Polling more often would put load on Gitea that real clients do not. */
const askGiteaEveryMs = 25;

const spec = `version: "1.0"
name: shop
triggers: [{ type: pr_label, labels: [preview] }]
process:
  services:
    web: { command: [node, web.mjs], ready: { http: / } }
`;

const service = `import { createServer } from 'node:http';
createServer((_, response) => response.end('good')).listen(Number(process.env.PORT), '127.0.0.1');
`;

/**
 * On a real Gitea: the time from the label to the comment that says Ready, divided by the time to start the service by hand, check it
 * and comment. Gitea delivers webhooks immediately, as the guide recommends.
 */
export const measureLabelToComment = (): Promise<readonly Figure[]> =>
  measureOn('label-to-comment', { isUntuned: false }, (name, value) => atMost(name, value, 1.5));

/** The same with Gitea's default setting. */
export const measureLabelToCommentUntuned = (): Promise<readonly Figure[]> =>
  measureOn('label-to-comment-untuned', { isUntuned: true }, reported);

const measureOn = async (
  name: string,
  options: GiteaOptions,
  figure: (name: string, value: number) => Figure,
): Promise<readonly Figure[]> =>
  gitea.find().found ? [figure(name, await measureRatio(options))] : [missing(name, `Gitea is missing: ${getCommand('gitea')}`)];

const measureRatio = async (options: GiteaOptions): Promise<number> => {
  const server = await gitea.start(options);
  const folder = await mkdtemp(join(tmpdir(), 'eph-bench-'));
  try {
    const repository = await server.createRepository(server.admin.name, 'shop', { 'eph.yaml': spec, 'web.mjs': service });
    await repository.createLabel('preview');
    await writeFile(join(folder, 'web.mjs'), service);
    const ephd = await startHooked(server, repository, folder);
    try {
      return await compare(repository, folder);
    } finally {
      await ephd.stop();
    }
  } finally {
    await server.stop();
    await rm(folder, { recursive: true });
  }
};

const compare = async (repository: GiteaRepository, folder: string): Promise<number> => {
  const ours: number[] = [];
  const byHand: number[] = [];
  const manual = await open(repository, 'by-hand');
  for (let round = 0; round <= rounds; round += 1) {
    const startTook = await startByHand(folder);
    const commentTook = await timed(async () => void (await repository.addComment(manual, `Ready, round ${round}`)));
    const number = await open(repository, `work-${round}`);
    // Gitea sends webhooks for all of this, too; the label is added once they are handled.
    await setTimeout(restMs);
    await repository.addLabels(number, 'preview');
    const labelTook = await timed(() => untilReported(repository, number, /\bReady\b/));
    await closeUntilRemoved(repository, number);
    // The first round fills the caches of Git, Gitea and ephd.
    if (round === 0) continue;
    ours.push(labelTook);
    byHand.push(startTook + commentTook);
  }
  return median(ours) / median(byHand);
};

const open = async (repository: GiteaRepository, branch: string): Promise<number> => {
  await repository.pushFiles(branch, { 'version.txt': branch });
  return (await repository.openPullRequest(branch)).number;
};

const closeUntilRemoved = async (repository: GiteaRepository, number: number): Promise<void> => {
  await repository.closePullRequest(number);
  await untilReported(repository, number, /removed/i);
};

const untilReported = (repository: GiteaRepository, number: number, words: RegExp): Promise<void> => {
  const says = async (): Promise<boolean> => (await repository.readComments(number)).some(({ body }) => words.test(body));
  return until(`a comment that says ${words.source}`, says, askGiteaEveryMs);
};

const startHooked = async (server: GiteaServer, repository: GiteaRepository, folder: string): Promise<RunningEphd> => {
  const config = join(folder, 'ephd.yaml');
  const [hookPort, apiPort, gatewayPort] = [await reservePort(), await reservePort(), await reservePort()];
  const forge = { type: 'gitea', url: server.url, token: { from: 'GITEA_TOKEN' }, webhook_secret: { from: 'GITEA_HOOK' } };
  const location = `${repository.owner}/${repository.name}`;
  await writeFile(
    config,
    JSON.stringify({
      forges: { work: forge },
      webhooks: { port: hookPort },
      projects: [{ name: 'shop', trusted: true, forge: 'work', location }],
    }),
  );
  const env = { GITEA_TOKEN: server.admin.token, GITEA_HOOK: 'a secret of webhooks' };
  const dataFolder = join(folder, 'data');
  const addresses = { apiPort, gatewayPort, stateFolder: join(folder, 'state') };
  const ephd = new RunningEphd({ projects: [], dataFolder, ...addresses, args: ['--config', config], env });
  await ephd.up();
  const events = ['push', 'create', 'delete', 'pull_request', 'pull_request_label', 'pull_request_sync'];
  await repository.addWebhook(`http://127.0.0.1:${hookPort}/webhooks/work`, env.GITEA_HOOK, events);
  return ephd;
};

/** Starts the service in an existing folder and polls until it answers. */
const startByHand = async (folder: string): Promise<number> => {
  const port = await reservePort();
  const start = performance.now();
  const child = spawn(process.execPath, ['web.mjs'], {
    cwd: folder,
    env: { PATH: process.env['PATH'], PORT: String(port) },
    stdio: 'ignore',
  });
  await until('the service by hand', () => answersWell(port), askServiceEveryMs);
  const took = performance.now() - start;
  child.kill('SIGKILL');
  await once(child, 'exit');
  return took;
};

const answersWell = (port: number): Promise<boolean> =>
  new Promise((resolve) => {
    const asking = request({ host: '127.0.0.1', port }, (response) => {
      response.resume();
      resolve(response.statusCode === 200);
    });
    asking.on('error', () => resolve(false));
    asking.end();
  });

const timed = async (work: () => Promise<void>): Promise<number> => {
  const start = performance.now();
  await work();
  return performance.now() - start;
};
