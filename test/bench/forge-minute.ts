import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { shippedComments } from '@eph/adapters/forge-http/comments.fake';
import { projectId, silentLog } from '@eph/contract';
import { gitBranchGenerator } from '@eph/engine/desired/git-ref-triggers';
import { letTimePass } from '@eph/engine/loop/passing-time.fake';
import { ManualClock } from '@eph/engine/time/clock.fake';
import { github as githubType } from '../../apps/ephd/forge-types/github.ts';
import { GithubEmulator } from '../parts/github/github-emulator.ts';
import { createBenchEngine } from './engine-harness.ts';
import { atMost, type Figure, reported } from './figure.ts';

const repositories = 2_000;
const owner = 'acme';
/** What GitHub publishes for its REST API: 900 points a minute, and one point for a request that reads. */
const secondaryLimit = 900;
const minutes = 5;

/** Requests a minute of the real engine that watches many quiet repositories without webhooks, over GitHub's secondary limit. */
export const measureForgeMinute = async (): Promise<readonly Figure[]> => {
  const clock = new ManualClock();
  const now = (): number => clock.now();
  await using github = await GithubEmulator.start({ rateLimit: { core: 12_500 }, now });
  github.populate({ owner, repositories, pullRequestsEach: 0 });
  const folder = await mkdtemp(join(tmpdir(), 'eph-forge-minute-'));
  const token = { from: 'TOKEN' };
  const createServer = githubType.schema
    .parse({ type: 'github', url: github.url, token })
    .readCredentials(() => ({ value: github.createToken({ by: 'octocat' }), secret: true }));
  const server = createServer({ now, random: Math.random, log: silentLog });
  const forges = Array.from({ length: repositories }, (_, index) => {
    const name = `service-${String(index + 1).padStart(4, '0')}`;
    const project = projectId(name);
    return server.connect({ ...shippedComments, project, location: `${owner}/${name}`, folder: join(folder, name) }).forge;
  });
  const limit = { account: 'github', readingsPerMinute: githubType.readingsPerMinute };
  const engine = createBenchEngine(forges, [], [gitBranchGenerator], { clock, limit });
  try {
    engine.start();
    // Every repository has been read once by then.
    await letTimePass(engine, clock, (60 * 1.2 * repositories) / limit.readingsPerMinute);
    const unread = [...engine.projects().values()].filter(({ isRead }) => !isRead).length;
    if (unread > 0) throw new Error(`${unread} repositories were not read`);
    github.requests.clear();
    await letTimePass(engine, clock, 60 * minutes);
    const { requests } = github.requests.total;
    return [
      atMost('forge-minute', requests / minutes / secondaryLimit, 0.5),
      reported('forge-minute-requests', requests / minutes, 'requests a minute'),
    ];
  } finally {
    await engine.close();
    await Promise.all(forges.map((forge) => forge[Symbol.asyncDispose]()));
    await rm(folder, { recursive: true, force: true });
  }
};
