import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { EphdClient } from '../e2e/ephd-client.ts';
import { reservePort } from '../e2e/reserved-ports.ts';
import { RunningEphd } from '../e2e/running-ephd.ts';
import { FaultProxy } from '../forge-chaos/fault-proxy.ts';
import { gitea } from '../parts/gitea.ts';
import type { GiteaServer } from '../parts/gitea-server.ts';
import { getCommand } from '../parts/part.ts';
import { until } from './bench-ephd.ts';
import { atMost, type Figure, missing, reported } from './figure.ts';

const pullRequests = 50;
const measuredMs = 5 * 60_000;

const spec = `version: "1.0"
name: shop
triggers: [{ type: pr_label, labels: [preview] }]
process:
  services:
    web: { command: [sleep, "900"], ready: { none: true } }
`;

/**
 * On a real Gitea with labelled pull requests: the requests of five minutes in which every list arrives empty, divided by those of
 * another ephd that gets honest answers in the same five minutes.
 */
export const measureForgeDoubt = async (): Promise<readonly Figure[]> => {
  const finding = gitea.find();
  if (!finding.found) return [missing('forge-doubt', `Gitea is missing: ${getCommand('gitea')}`)];
  const server = await gitea.start({ isUntuned: false });
  const folder = await mkdtemp(join(tmpdir(), 'eph-bench-'));
  try {
    await using doubtful = await startWatched(server, join(folder, 'doubtful'), 'doubtful');
    await using honest = await startWatched(server, join(folder, 'honest'), 'honest');
    const before = [doubtful.proxy.requests, honest.proxy.requests] as const;
    doubtful.proxy.failures.add({ failure: { kind: 'empty-page' } });
    await setTimeout(measuredMs);
    const [asked, honestly] = [doubtful.proxy.requests - before[0], honest.proxy.requests - before[1]];
    if ((await doubtful.client.environments()).length !== pullRequests) throw new Error('empty lists removed environments');
    return [
      atMost('forge-doubt', asked / honestly, 3),
      reported('forge-doubt-requests', asked, 'requests'),
      reported('forge-honest-requests', honestly, 'requests'),
    ];
  } finally {
    await server.stop();
    await rm(folder, { recursive: true, force: true });
  }
};

interface Watched extends AsyncDisposable {
  readonly client: EphdClient;
  readonly proxy: FaultProxy;
}

/** An ephd that watches a repository of its own, all of whose pull requests have environments and comments. */
const startWatched = async (server: GiteaServer, folder: string, name: string): Promise<Watched> => {
  await using stack = new AsyncDisposableStack();
  const repository = await server.createRepository(server.admin.name, name, { 'eph.yaml': spec });
  await repository.createLabel('preview');
  for (let index = 0; index < pullRequests; index += 1) {
    await repository.pushFiles(`work-${index}`, { 'version.txt': String(index) });
    const { number } = await repository.openPullRequest(`work-${index}`);
    await repository.addLabels(number, 'preview');
  }
  const proxy = stack.use(await FaultProxy.start(server.port, 7));
  const [apiPort, gatewayPort] = [await reservePort(), await reservePort()];
  const config = `${folder}.yaml`;
  const forges = { work: { type: 'gitea', url: proxy.url, token: { from: 'GITEA_TOKEN' } } };
  const projects = [{ name, trusted: true, forge: 'work', location: `${repository.owner}/${repository.name}` }];
  await writeFile(config, JSON.stringify({ forges, projects }));
  const env = { GITEA_TOKEN: server.admin.token };
  const addresses = { apiPort, gatewayPort, stateFolder: `${folder}-state` };
  const ephd = new RunningEphd({ projects: [], dataFolder: folder, ...addresses, args: ['--config', config], env });
  stack.defer(async () => void (await ephd.stop()));
  await ephd.up();
  const client = new EphdClient(addresses);
  await until(
    'every pull request is reported',
    async () => {
      const environments = await client.environments();
      return environments.filter(({ phase }) => phase === 'Ready').length === pullRequests;
    },
    500,
  );
  // What follows an outcome, such as comments, ends with the first passes.
  await setTimeout(30_000);
  const all = stack.move();
  return { client, proxy, [Symbol.asyncDispose]: () => all.disposeAsync() };
};
