import { fork } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type EnvironmentPage, environmentPageSchema, newTokenSchema } from '@eph/contract';
import autocannon, { type Request } from 'autocannon';
import { BenchFolder, type RunningEphd, startEphd, until } from './bench-ephd.ts';
import { atLeast, type Figure, median } from './figure.ts';

const projectCount = 100;
export const perProject = 100;
const pageSize = 100;
const rounds = 5;
const secondsPerRound = 3;
/** ephd limits the requests of each token. */
const tokenCount = 100;

/** Nothing of it ever runs, so that ten thousand fit on one machine. */
const spec = `version: "1.0"
name: shop
provider: elsewhere
process:
  services:
    web: { command: [run, web], entry: true }
    api: { command: [run, api] }
`;

const issuer = 'https://id.example.com';

/** Writes repositories with a hundred branches each, and the configuration of an ephd that has an environment for each branch. */
export const writeProjects = (site: BenchFolder, projectCount: number, rules: readonly object[]): void => {
  const copy = join(site.folder, 'copy');
  mkdirSync(copy);
  site.git(copy, ['init', '--quiet', '--initial-branch=main']);
  writeFileSync(join(copy, 'eph.yaml'), spec);
  site.git(copy, ['add', '--all']);
  site.git(copy, ['commit', '--quiet', '--message', 'shop']);
  const commit = site.git(copy, ['rev-parse', 'HEAD']);
  const refs = Array.from({ length: perProject }, (_, index) => `create refs/heads/preview/${index} ${commit}\n`).join('');
  site.git(copy, ['update-ref', '--stdin'], refs);
  const names = Array.from({ length: projectCount }, (_, index) => `shop-${index}`);
  for (const name of names) site.git(site.folder, ['clone', '--quiet', '--bare', copy, `${name}.git`]);
  const config = {
    data: 'data',
    api: { port: 0 },
    gateway: { port: 20_000 + (process.pid % 10_000) },
    projects: names.map((name) => ({ name, location: `${name}.git` })),
    access: { rules },
  };
  writeFileSync(site.config, JSON.stringify(config));
};

const createTokens = (ephd: RunningEphd, subject: string): Promise<readonly string[]> =>
  Promise.all(
    Array.from({ length: tokenCount }, async () => {
      const body = JSON.stringify({ person: `${issuer}#${subject}`, scope: 'read', for: '1h' });
      const headers = { ...ephd.headers, 'content-type': 'application/json' };
      const reply = await fetch(`${ephd.apiUrl}/api/v1/tokens`, { method: 'POST', headers, body });
      return newTokenSchema.parse(await reply.json()).token;
    }),
  );

interface Pages {
  readonly paths: readonly string[];
  readonly pages: readonly EnvironmentPage[];
}

const readPages = async (ephd: RunningEphd, token: string): Promise<Pages> => {
  const [paths, pages]: [string[], EnvironmentPage[]] = [[], []];
  for (let after: string | null | undefined; after !== null; ) {
    const path = `/api/v1/environments?limit=${pageSize}${after === undefined ? '' : `&after=${after}`}`;
    const reply = await fetch(`${ephd.apiUrl}${path}`, { headers: { authorization: `Bearer ${token}` } });
    const page = environmentPageSchema.parse(await reply.json());
    paths.push(path);
    pages.push(page);
    after = page.next;
  }
  return { paths, pages };
};

const requestsPerSecond = async (url: string, requests: Request[]): Promise<number> => {
  const result = await autocannon({ url, connections: 8, duration: secondsPerRound, requests });
  if (result.non2xx > 0 || result.errors > 0) throw new Error(`${url}: ${result.non2xx} bad answers, ${result.errors} errors`);
  return result.requests.average;
};

const startBare = async (file: string): Promise<{ readonly url: string; stop(): void }> => {
  const child = fork(new URL('bare-list.program.ts', import.meta.url), [file], { stdio: ['ignore', 'ignore', 'inherit', 'ipc'] });
  const [port] = (await once(child, 'message')) as [number];
  return { url: `http://127.0.0.1:${port}`, stop: () => child.kill('SIGKILL') };
};

/** Pages per second, over a bare handler that serialises the same objects on each request. They take turns. */
const comparePages = async (ephd: RunningEphd, site: BenchFolder, subject: string, count: number): Promise<number> => {
  const tokens = await createTokens(ephd, subject);
  const { paths, pages } = await readPages(ephd, tokens[0] ?? '');
  const found = pages.flatMap(({ environments }) => environments).length;
  if (found !== count) throw new Error(`${found} environments were listed, not ${count}`);
  const file = join(site.folder, `${subject}.json`);
  writeFileSync(file, JSON.stringify(pages));
  const bare = await startBare(file);
  // Every token asks for every page in turn.
  const own = Array.from({ length: Math.max(tokens.length, paths.length) }, (_, index) => ({
    path: paths[index % paths.length] ?? '',
    headers: { authorization: `Bearer ${tokens[index % tokens.length]}` },
  }));
  const others = paths.map((_, index) => ({ path: `/${index}` }));
  const speeds = { own: [] as number[], bare: [] as number[] };
  for (let round = 0; round < rounds; round += 1) {
    speeds.own.push(await requestsPerSecond(ephd.apiUrl, own));
    speeds.bare.push(await requestsPerSecond(bare.url, others));
  }
  bare.stop();
  return median(speeds.own) / median(speeds.bare);
};

export const measureApiList = async (): Promise<readonly Figure[]> => {
  using site = new BenchFolder();
  writeProjects(site, projectCount, [
    { who: { person: `${issuer}#all` }, role: 'viewer', projects: ['shop-*'] },
    { who: { person: `${issuer}#one` }, role: 'developer', projects: ['shop-7'] },
    { who: { person: `${issuer}#nobody` }, deny: true },
  ]);
  const ephd = await startEphd(site, ['--config', site.config]);
  try {
    const total = projectCount * perProject;
    await untilListed(ephd, total);
    return [
      atLeast('api-list', await comparePages(ephd, site, 'all', total), 0.6),
      atLeast('api-list-narrow', await comparePages(ephd, site, 'one', perProject), 0.5),
    ];
  } finally {
    await ephd.stop();
  }
};

/** Waits for the reports as well: writing those of so many at once is work of its own. */
export const untilListed = (ephd: RunningEphd, count: number): Promise<void> =>
  until(
    `${count} environments and their reports`,
    async () => {
      const metrics = await ephd.metrics();
      return metrics.includes(`\neph_environments{phase="Failed"} ${count}\n`) && metrics.includes('\neph_reports_waiting 0\n');
    },
    200,
  );
